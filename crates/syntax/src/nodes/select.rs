//! SELECT, VALUES, set operations and their clauses.

use super::table::nodes;
use super::{
    CteMaterialize, DefElem, GroupingSetKind, LimitOption, LockClauseStrength, LockWaitPolicy,
    OnCommitAction, RangeVar, SetOperation, SortByDir, SortByNulls, StringValue,
};

nodes! {
    /// A statement and its place in the text.
    RawStmt: RawStmt = 136, 24 {
        stmt: node = stmt @ 8;
        stmt_location: location = stmt_location @ 16;
        stmt_len: location = stmt_len @ 20;
    }

    /// SELECT or VALUES, or a set operation of two of them.
    SelectStmt: SelectStmt = 141, 160 {
        distinct_clause: nodes = distinctClause @ 8;
        into_clause: (IntoClause) = intoClause @ 16;
        target_list: [ResTarget] = targetList @ 24;
        from_clause: nodes = fromClause @ 32;
        where_clause: node = whereClause @ 40;
        group_clause: nodes = groupClause @ 48;
        group_distinct: flag = groupDistinct @ 56;
        having_clause: node = havingClause @ 64;
        window_clause: [WindowDef] = windowClause @ 72;
        values_lists: nodes = valuesLists @ 80;
        sort_clause: [SortBy] = sortClause @ 88;
        limit_offset: node = limitOffset @ 96;
        limit_count: node = limitCount @ 104;
        limit_option: {LimitOption} = limitOption @ 112;
        locking_clause: [LockingClause] = lockingClause @ 120;
        with_clause: (WithClause) = withClause @ 128;
        op: {SetOperation} = op @ 136;
        all: flag = all @ 140;
        larg: (SelectStmt) = larg @ 144;
        rarg: (SelectStmt) = rarg @ 152;
    }

    /// An expression of a select list, or a column that is set.
    ResTarget: ResTarget = 81, 40 {
        name: text = name @ 8;
        indirection: nodes = indirection @ 16;
        val: node = val @ 24;
        location: location = location @ 32;
    }

    /// An expression of ORDER BY.
    SortBy: SortBy = 83, 40 {
        node: node = node @ 8;
        sortby_dir: {SortByDir} = sortby_dir @ 16;
        sortby_nulls: {SortByNulls} = sortby_nulls @ 20;
        use_op: [StringValue] = useOp @ 24;
        location: location = location @ 32;
    }

    /// A window: of WINDOW, or behind OVER.
    WindowDef: WindowDef = 84, 72 {
        name: text = name @ 8;
        refname: text = refname @ 16;
        partition_clause: nodes = partitionClause @ 24;
        order_clause: [SortBy] = orderClause @ 32;
        frame_options: int = frameOptions @ 40;
        start_offset: node = startOffset @ 48;
        end_offset: node = endOffset @ 56;
        location: location = location @ 64;
    }

    /// FOR UPDATE and the like.
    LockingClause: LockingClause = 94, 24 {
        locked_rels: [RangeVar] = lockedRels @ 8;
        strength: {LockClauseStrength} = strength @ 16;
        wait_policy: {LockWaitPolicy} = waitPolicy @ 20;
    }

    /// WITH.
    WithClause: WithClause = 110, 24 {
        ctes: [CommonTableExpr] = ctes @ 8;
        recursive: flag = recursive @ 16;
        location: location = location @ 20;
    }

    /// A query of WITH.
    CommonTableExpr: CommonTableExpr = 115, 104 {
        ctename: text = ctename @ 8;
        aliascolnames: [StringValue] = aliascolnames @ 16;
        ctematerialized: {CteMaterialize} = ctematerialized @ 24;
        ctequery: node = ctequery @ 32;
        search_clause: (CTESearchClause) = search_clause @ 40;
        cycle_clause: (CTECycleClause) = cycle_clause @ 48;
        location: location = location @ 56;
    }

    /// SEARCH of a recursive query.
    CTESearchClause: CTESearchClause = 113, 40 {
        search_col_list: [StringValue] = search_col_list @ 8;
        search_breadth_first: flag = search_breadth_first @ 16;
        search_seq_column: text = search_seq_column @ 24;
        location: location = location @ 32;
    }

    /// CYCLE of a recursive query.
    CTECycleClause: CTECycleClause = 114, 72 {
        cycle_col_list: [StringValue] = cycle_col_list @ 8;
        cycle_mark_column: text = cycle_mark_column @ 16;
        cycle_mark_value: node = cycle_mark_value @ 24;
        cycle_mark_default: node = cycle_mark_default @ 32;
        cycle_path_column: text = cycle_path_column @ 40;
        location: location = location @ 48;
    }

    /// A grouping set of GROUP BY.
    GroupingSet: GroupingSet = 107, 24 {
        kind: {GroupingSetKind} = kind @ 4;
        content: nodes = content @ 8;
        location: location = location @ 16;
    }

    /// The table that INTO or CREATE TABLE AS makes.
    IntoClause: IntoClause = 5, 72 {
        rel: (RangeVar) = rel @ 8;
        col_names: [StringValue] = colNames @ 16;
        access_method: text = accessMethod @ 24;
        options: [DefElem] = options @ 32;
        on_commit: {OnCommitAction} = onCommit @ 40;
        table_space_name: text = tableSpaceName @ 48;
        skip_data: flag = skipData @ 64;
    }
}
