//! What stands in FROM.

use super::table::nodes;
use super::{Alias, ColumnDef, JoinType, StringValue, TypeName};

nodes! {
    /// A relation's name.
    RangeVar: RangeVar = 3, 56 {
        catalogname: text = catalogname @ 8;
        schemaname: text = schemaname @ 16;
        relname: text = relname @ 24;
        inh: flag = inh @ 32;
        relpersistence: byte = relpersistence @ 33;
        alias: (Alias) = alias @ 40;
        location: location = location @ 48;
    }

    /// A query in FROM.
    RangeSubselect: RangeSubselect = 85, 24 {
        lateral: flag = lateral @ 4;
        subquery: node = subquery @ 8;
        alias: (Alias) = alias @ 16;
    }

    /// Functions in FROM.
    RangeFunction: RangeFunction = 86, 32 {
        lateral: flag = lateral @ 4;
        ordinality: flag = ordinality @ 5;
        is_rowsfrom: flag = is_rowsfrom @ 6;
        functions: nodes = functions @ 8;
        alias: (Alias) = alias @ 16;
        coldeflist: [ColumnDef] = coldeflist @ 24;
    }

    /// TABLESAMPLE.
    RangeTableSample: RangeTableSample = 89, 48 {
        relation: node = relation @ 8;
        method: [StringValue] = method @ 16;
        args: nodes = args @ 24;
        repeatable: node = repeatable @ 32;
        location: location = location @ 40;
    }

    /// XMLTABLE.
    RangeTableFunc: RangeTableFunc = 87, 56 {
        lateral: flag = lateral @ 4;
        docexpr: node = docexpr @ 8;
        rowexpr: node = rowexpr @ 16;
        namespaces: nodes = namespaces @ 24;
        columns: [RangeTableFuncCol] = columns @ 32;
        alias: (Alias) = alias @ 40;
        location: location = location @ 48;
    }

    /// A column of XMLTABLE.
    RangeTableFuncCol: RangeTableFuncCol = 88, 56 {
        colname: text = colname @ 8;
        type_name: (TypeName) = typeName @ 16;
        for_ordinality: flag = for_ordinality @ 24;
        is_not_null: flag = is_not_null @ 25;
        colexpr: node = colexpr @ 32;
        coldefexpr: node = coldefexpr @ 40;
        location: location = location @ 48;
    }

    /// A join.
    JoinExpr: JoinExpr = 64, 72 {
        jointype: {JoinType} = jointype @ 4;
        is_natural: flag = isNatural @ 8;
        larg: node = larg @ 16;
        rarg: node = rarg @ 24;
        using_clause: [StringValue] = usingClause @ 32;
        join_using_alias: (Alias) = join_using_alias @ 40;
        quals: node = quals @ 48;
        alias: (Alias) = alias @ 56;
    }
}
