//! INSERT, UPDATE, DELETE and MERGE.

use super::table::nodes;
use super::{
    CmdType, IndexElem, MergeMatchKind, OnConflictAction, OverridingKind, RangeVar, ResTarget,
    ReturningOptionKind, WithClause,
};

nodes! {
    /// INSERT.
    InsertStmt: InsertStmt = 137, 64 {
        relation: (RangeVar) = relation @ 8;
        cols: [ResTarget] = cols @ 16;
        select_stmt: node = selectStmt @ 24;
        on_conflict_clause: (OnConflictClause) = onConflictClause @ 32;
        returning_clause: (ReturningClause) = returningClause @ 40;
        with_clause: (WithClause) = withClause @ 48;
        overriding: {OverridingKind} = override @ 56;
    }

    /// ON CONFLICT of an INSERT.
    OnConflictClause: OnConflictClause = 112, 40 {
        action: {OnConflictAction} = action @ 4;
        infer: (InferClause) = infer @ 8;
        target_list: [ResTarget] = targetList @ 16;
        where_clause: node = whereClause @ 24;
        location: location = location @ 32;
    }

    /// Which conflict ON CONFLICT means.
    InferClause: InferClause = 111, 40 {
        index_elems: [IndexElem] = indexElems @ 8;
        where_clause: node = whereClause @ 16;
        conname: text = conname @ 24;
        location: location = location @ 32;
    }

    /// UPDATE.
    UpdateStmt: UpdateStmt = 139, 56 {
        relation: (RangeVar) = relation @ 8;
        target_list: [ResTarget] = targetList @ 16;
        where_clause: node = whereClause @ 24;
        from_clause: nodes = fromClause @ 32;
        returning_clause: (ReturningClause) = returningClause @ 40;
        with_clause: (WithClause) = withClause @ 48;
    }

    /// DELETE.
    DeleteStmt: DeleteStmt = 138, 48 {
        relation: (RangeVar) = relation @ 8;
        using_clause: nodes = usingClause @ 16;
        where_clause: node = whereClause @ 24;
        returning_clause: (ReturningClause) = returningClause @ 32;
        with_clause: (WithClause) = withClause @ 40;
    }

    /// MERGE.
    MergeStmt: MergeStmt = 140, 56 {
        relation: (RangeVar) = relation @ 8;
        source_relation: node = sourceRelation @ 16;
        join_condition: node = joinCondition @ 24;
        merge_when_clauses: [MergeWhenClause] = mergeWhenClauses @ 32;
        returning_clause: (ReturningClause) = returningClause @ 40;
        with_clause: (WithClause) = withClause @ 48;
    }

    /// A WHEN of MERGE.
    MergeWhenClause: MergeWhenClause = 116, 40 {
        match_kind: {MergeMatchKind} = matchKind @ 4;
        command_type: {CmdType} = commandType @ 8;
        overriding: {OverridingKind} = override @ 12;
        condition: node = condition @ 16;
        target_list: nodes = targetList @ 24;
        values: nodes = values @ 32;
    }

    /// RETURNING.
    ReturningClause: ReturningClause = 118, 24 {
        options: [ReturningOption] = options @ 8;
        exprs: [ResTarget] = exprs @ 16;
    }

    /// An alias for old or new rows in RETURNING, which PostgreSQL 15 does not have.
    ReturningOption: ReturningOption = 117, 24 {
        option: {ReturningOptionKind} = option @ 4;
        value: text = value @ 8;
        location: location = location @ 16;
    }

    /// A column of `(a, b) = row` in SET.
    MultiAssignRef: MultiAssignRef = 82, 24 {
        source: node = source @ 8;
        colno: int = colno @ 16;
        ncolumns: int = ncolumns @ 20;
    }

    /// DEFAULT in the place of a value.
    SetToDefault: SetToDefault = 57, 20 {
        location: location = location @ 16;
    }

    /// CURRENT OF a cursor.
    CurrentOfExpr: CurrentOfExpr = 58, 24 {
        cursor_name: text = cursor_name @ 8;
    }
}
