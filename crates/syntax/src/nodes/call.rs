//! Function calls and what is written like one.

use super::table::nodes;
use super::{
    CoercionForm, MinMaxOp, SqlValueFunctionOp, StringValue, TypeName, WindowDef, XmlExprOp,
    XmlOptionType,
};

nodes! {
    /// A call of a function or an aggregate.
    FuncCall: FuncCall = 76, 64 {
        funcname: [StringValue] = funcname @ 8;
        args: nodes = args @ 16;
        agg_order: nodes = agg_order @ 24;
        agg_filter: node = agg_filter @ 32;
        over: (WindowDef) = over @ 40;
        agg_within_group: flag = agg_within_group @ 48;
        agg_star: flag = agg_star @ 49;
        agg_distinct: flag = agg_distinct @ 50;
        func_variadic: flag = func_variadic @ 51;
        funcformat: {CoercionForm} = funcformat @ 52;
        location: location = location @ 56;
    }

    /// An argument with its name.
    NamedArgExpr: NamedArgExpr = 16, 32 {
        arg: node = arg @ 8;
        name: text = name @ 16;
        location: location = location @ 28;
    }

    /// COALESCE.
    CoalesceExpr: CoalesceExpr = 38, 32 {
        args: nodes = args @ 16;
        location: location = location @ 24;
    }

    /// GREATEST, LEAST.
    MinMaxExpr: MinMaxExpr = 39, 40 {
        op: {MinMaxOp} = op @ 16;
        args: nodes = args @ 24;
        location: location = location @ 32;
    }

    /// CURRENT_DATE and the like.
    SqlValueFunction: SQLValueFunction = 40, 20 {
        op: {SqlValueFunctionOp} = op @ 4;
        typmod: int = typmod @ 12;
        location: location = location @ 16;
    }

    /// GROUPING(..).
    GroupingFunc: GroupingFunc = 10, 40 {
        args: nodes = args @ 8;
        location: location = location @ 36;
    }

    /// A function of XML with a syntax of its own.
    XmlExpr: XmlExpr = 41, 64 {
        op: {XmlExprOp} = op @ 4;
        name: text = name @ 8;
        named_args: nodes = named_args @ 16;
        args: nodes = args @ 32;
        xmloption: {XmlOptionType} = xmloption @ 40;
        indent: flag = indent @ 44;
        location: location = location @ 56;
    }

    /// XMLSERIALIZE.
    XmlSerialize: XmlSerialize = 95, 32 {
        xmloption: {XmlOptionType} = xmloption @ 4;
        expr: node = expr @ 8;
        type_name: (TypeName) = typeName @ 16;
        indent: flag = indent @ 24;
        location: location = location @ 28;
    }
}
