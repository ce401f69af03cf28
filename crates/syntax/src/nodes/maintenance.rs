//! COPY, EXPLAIN, VACUUM and the like.

use super::table::nodes;
use super::{DefElem, FuncCall, RangeVar, ReindexObjectType, StringValue, VariableSetStmt};

nodes! {
    /// COPY.
    CopyStmt: CopyStmt = 157, 64 {
        relation: (RangeVar) = relation @ 8;
        query: node = query @ 16;
        attlist: [StringValue] = attlist @ 24;
        is_from: flag = is_from @ 32;
        is_program: flag = is_program @ 33;
        filename: text = filename @ 40;
        options: [DefElem] = options @ 48;
        where_clause: node = whereClause @ 56;
    }

    /// EXPLAIN.
    ExplainStmt: ExplainStmt = 241, 24 {
        query: node = query @ 8;
        options: [DefElem] = options @ 16;
    }

    /// VACUUM and ANALYZE.
    VacuumStmt: VacuumStmt = 239, 32 {
        options: [DefElem] = options @ 8;
        rels: [VacuumRelation] = rels @ 16;
        is_vacuumcmd: flag = is_vacuumcmd @ 24;
    }

    /// A table of a VACUUM.
    VacuumRelation: VacuumRelation = 240, 32 {
        relation: (RangeVar) = relation @ 8;
        va_cols: [StringValue] = va_cols @ 24;
    }

    /// REINDEX.
    ReindexStmt: ReindexStmt = 248, 32 {
        kind: {ReindexObjectType} = kind @ 4;
        relation: (RangeVar) = relation @ 8;
        name: text = name @ 16;
        params: [DefElem] = params @ 24;
    }

    /// CLUSTER.
    ClusterStmt: ClusterStmt = 238, 32 {
        relation: (RangeVar) = relation @ 8;
        indexname: text = indexname @ 16;
        params: [DefElem] = params @ 24;
    }

    /// CHECKPOINT.
    CheckPointStmt: CheckPointStmt = 244, 4 {
    }

    /// CALL.
    CallStmt: CallStmt = 213, 32 {
        funccall: (FuncCall) = funccall @ 8;
        outargs: nodes = outargs @ 24;
    }

    /// DO.
    DoStmt: DoStmt = 211, 16 {
        args: [DefElem] = args @ 8;
    }

    /// ALTER SYSTEM.
    AlterSystemStmt: AlterSystemStmt = 237, 16 {
        setstmt: (VariableSetStmt) = setstmt @ 8;
    }
}
