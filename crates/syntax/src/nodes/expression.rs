//! Operators, casts, subqueries and conditions.

use super::table::nodes;
use super::{
    AExprKind, BoolExprType, BoolTestType, NullTestType, StringValue, SubLinkType, TypeName,
};

nodes! {
    /// A column, whose name may be qualified or `*`.
    ColumnRef: ColumnRef = 69, 24 {
        fields: nodes = fields @ 8;
        location: location = location @ 16;
    }

    /// A parameter, `$1`.
    ParamRef: ParamRef = 70, 12 {
        number: int = number @ 4;
        location: location = location @ 8;
    }

    /// An operator and its operands, or what is written with one.
    AExpr: A_Expr = 71, 48 {
        kind: {AExprKind} = kind @ 4;
        name: [StringValue] = name @ 8;
        lexpr: node = lexpr @ 16;
        rexpr: node = rexpr @ 24;
        location: location = location @ 40;
    }

    /// AND, OR, NOT; AND and OR have two operands or more.
    BoolExpr: BoolExpr = 21, 24 {
        boolop: {BoolExprType} = boolop @ 4;
        args: nodes = args @ 8;
        location: location = location @ 16;
    }

    /// A cast.
    TypeCast: TypeCast = 73, 32 {
        arg: node = arg @ 8;
        type_name: (TypeName) = typeName @ 16;
        location: location = location @ 24;
    }

    /// COLLATE.
    CollateClause: CollateClause = 74, 32 {
        arg: node = arg @ 8;
        collname: [StringValue] = collname @ 16;
        location: location = location @ 24;
    }

    /// A subquery in an expression.
    SubLink: SubLink = 22, 48 {
        sub_link_type: {SubLinkType} = subLinkType @ 4;
        testexpr: node = testexpr @ 16;
        oper_name: [StringValue] = operName @ 24;
        subselect: node = subselect @ 32;
        location: location = location @ 40;
    }

    /// IS NULL, IS NOT NULL.
    NullTest: NullTest = 52, 32 {
        arg: node = arg @ 8;
        nulltesttype: {NullTestType} = nulltesttype @ 16;
        location: location = location @ 24;
    }

    /// IS TRUE and the like.
    BooleanTest: BooleanTest = 53, 24 {
        arg: node = arg @ 8;
        booltesttype: {BoolTestType} = booltesttype @ 16;
        location: location = location @ 20;
    }

    /// CASE.
    CaseExpr: CaseExpr = 32, 48 {
        arg: node = arg @ 16;
        args: [CaseWhen] = args @ 24;
        defresult: node = defresult @ 32;
        location: location = location @ 40;
    }

    /// A WHEN of CASE.
    CaseWhen: CaseWhen = 33, 32 {
        expr: node = expr @ 8;
        result: node = result @ 16;
        location: location = location @ 24;
    }

    /// A subscript or a slice.
    AIndices: A_Indices = 78, 24 {
        is_slice: flag = is_slice @ 4;
        lidx: node = lidx @ 8;
        uidx: node = uidx @ 16;
    }

    /// Fields and subscripts of an expression.
    AIndirection: A_Indirection = 79, 24 {
        arg: node = arg @ 8;
        indirection: nodes = indirection @ 16;
    }

    /// ARRAY[..].
    AArrayExpr: A_ArrayExpr = 80, 32 {
        elements: nodes = elements @ 8;
        list_start: location = list_start @ 16;
        list_end: location = list_end @ 20;
        location: location = location @ 24;
    }

    /// ROW(..).
    RowExpr: RowExpr = 36, 40 {
        args: nodes = args @ 8;
        location: location = location @ 32;
    }
}
