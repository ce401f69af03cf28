//! Choices within queries, writes and expressions.

use super::table::choices;

choices! {
    /// A set operation, or none.
    SetOperation {
        None = SETOP_NONE, 0;
        Union = SETOP_UNION, 1;
        Intersect = SETOP_INTERSECT, 2;
        Except = SETOP_EXCEPT, 3;
    }

    /// LIMIT, or FETCH .. WITH TIES.
    LimitOption {
        Default = LIMIT_OPTION_DEFAULT, 0;
        Count = LIMIT_OPTION_COUNT, 1;
        WithTies = LIMIT_OPTION_WITH_TIES, 2;
    }

    /// A kind of join.
    JoinType {
        Inner = JOIN_INNER, 0;
        Left = JOIN_LEFT, 1;
        Full = JOIN_FULL, 2;
        Right = JOIN_RIGHT, 3;
        Semi = JOIN_SEMI, 4;
        Anti = JOIN_ANTI, 5;
        RightSemi = JOIN_RIGHT_SEMI, 6;
        RightAnti = JOIN_RIGHT_ANTI, 7;
        UniqueOuter = JOIN_UNIQUE_OUTER, 8;
        UniqueInner = JOIN_UNIQUE_INNER, 9;
    }

    /// The direction of ORDER BY.
    SortByDir {
        Default = SORTBY_DEFAULT, 0;
        Asc = SORTBY_ASC, 1;
        Desc = SORTBY_DESC, 2;
        Using = SORTBY_USING, 3;
    }

    /// Where NULLs go.
    SortByNulls {
        Default = SORTBY_NULLS_DEFAULT, 0;
        First = SORTBY_NULLS_FIRST, 1;
        Last = SORTBY_NULLS_LAST, 2;
    }

    /// FOR UPDATE and the like.
    LockClauseStrength {
        None = LCS_NONE, 0;
        Forkeyshare = LCS_FORKEYSHARE, 1;
        Forshare = LCS_FORSHARE, 2;
        Fornokeyupdate = LCS_FORNOKEYUPDATE, 3;
        Forupdate = LCS_FORUPDATE, 4;
    }

    /// NOWAIT, SKIP LOCKED.
    LockWaitPolicy {
        Block = LockWaitBlock, 0;
        Skip = LockWaitSkip, 1;
        Error = LockWaitError, 2;
    }

    /// MATERIALIZED of WITH.
    CteMaterialize {
        Default = CTEMaterializeDefault, 0;
        Always = CTEMaterializeAlways, 1;
        Never = CTEMaterializeNever, 2;
    }

    /// A kind of grouping set.
    GroupingSetKind {
        Empty = GROUPING_SET_EMPTY, 0;
        Simple = GROUPING_SET_SIMPLE, 1;
        Rollup = GROUPING_SET_ROLLUP, 2;
        Cube = GROUPING_SET_CUBE, 3;
        Sets = GROUPING_SET_SETS, 4;
    }

    /// ON COMMIT of a temporary table.
    OnCommitAction {
        Noop = ONCOMMIT_NOOP, 0;
        PreserveRows = ONCOMMIT_PRESERVE_ROWS, 1;
        DeleteRows = ONCOMMIT_DELETE_ROWS, 2;
        Drop = ONCOMMIT_DROP, 3;
    }

    /// DO NOTHING, DO UPDATE.
    OnConflictAction {
        None = ONCONFLICT_NONE, 0;
        Nothing = ONCONFLICT_NOTHING, 1;
        Update = ONCONFLICT_UPDATE, 2;
    }

    /// OVERRIDING of an INSERT.
    OverridingKind {
        NotSet = OVERRIDING_NOT_SET, 0;
        UserValue = OVERRIDING_USER_VALUE, 1;
        SystemValue = OVERRIDING_SYSTEM_VALUE, 2;
    }

    /// What a WHEN of MERGE does.
    CmdType {
        Unknown = CMD_UNKNOWN, 0;
        Select = CMD_SELECT, 1;
        Update = CMD_UPDATE, 2;
        Insert = CMD_INSERT, 3;
        Delete = CMD_DELETE, 4;
        Merge = CMD_MERGE, 5;
        Utility = CMD_UTILITY, 6;
        Nothing = CMD_NOTHING, 7;
    }

    /// Which rows a WHEN of MERGE means.
    MergeMatchKind {
        Matched = MERGE_WHEN_MATCHED, 0;
        NotMatchedBySource = MERGE_WHEN_NOT_MATCHED_BY_SOURCE, 1;
        NotMatchedByTarget = MERGE_WHEN_NOT_MATCHED_BY_TARGET, 2;
    }

    /// OLD or NEW.
    ReturningOptionKind {
        Old = RETURNING_OPTION_OLD, 0;
        New = RETURNING_OPTION_NEW, 1;
    }

    /// What an operator expression was written as.
    AExprKind {
        Op = AEXPR_OP, 0;
        OpAny = AEXPR_OP_ANY, 1;
        OpAll = AEXPR_OP_ALL, 2;
        Distinct = AEXPR_DISTINCT, 3;
        NotDistinct = AEXPR_NOT_DISTINCT, 4;
        Nullif = AEXPR_NULLIF, 5;
        In = AEXPR_IN, 6;
        Like = AEXPR_LIKE, 7;
        Ilike = AEXPR_ILIKE, 8;
        Similar = AEXPR_SIMILAR, 9;
        Between = AEXPR_BETWEEN, 10;
        NotBetween = AEXPR_NOT_BETWEEN, 11;
        BetweenSym = AEXPR_BETWEEN_SYM, 12;
        NotBetweenSym = AEXPR_NOT_BETWEEN_SYM, 13;
    }

    /// AND, OR, NOT.
    BoolExprType {
        And = AND_EXPR, 0;
        Or = OR_EXPR, 1;
        Not = NOT_EXPR, 2;
    }

    /// How a subquery is used.
    SubLinkType {
        Exists = EXISTS_SUBLINK, 0;
        All = ALL_SUBLINK, 1;
        Any = ANY_SUBLINK, 2;
        RowCompare = ROWCOMPARE_SUBLINK, 3;
        Expr = EXPR_SUBLINK, 4;
        MultiExpr = MULTIEXPR_SUBLINK, 5;
        Array = ARRAY_SUBLINK, 6;
        Cte = CTE_SUBLINK, 7;
    }

    /// IS NULL, IS NOT NULL.
    NullTestType {
        IsNull = IS_NULL, 0;
        IsNotNull = IS_NOT_NULL, 1;
    }

    /// IS TRUE and the like.
    BoolTestType {
        IsTrue = IS_TRUE, 0;
        IsNotTrue = IS_NOT_TRUE, 1;
        IsFalse = IS_FALSE, 2;
        IsNotFalse = IS_NOT_FALSE, 3;
        IsUnknown = IS_UNKNOWN, 4;
        IsNotUnknown = IS_NOT_UNKNOWN, 5;
    }

    /// How a call was written.
    CoercionForm {
        ExplicitCall = COERCE_EXPLICIT_CALL, 0;
        ExplicitCast = COERCE_EXPLICIT_CAST, 1;
        ImplicitCast = COERCE_IMPLICIT_CAST, 2;
        SqlSyntax = COERCE_SQL_SYNTAX, 3;
    }

    /// GREATEST, LEAST.
    MinMaxOp {
        Greatest = IS_GREATEST, 0;
        Least = IS_LEAST, 1;
    }

    /// Which value function.
    SqlValueFunctionOp {
        CurrentDate = SVFOP_CURRENT_DATE, 0;
        CurrentTime = SVFOP_CURRENT_TIME, 1;
        CurrentTimeN = SVFOP_CURRENT_TIME_N, 2;
        CurrentTimestamp = SVFOP_CURRENT_TIMESTAMP, 3;
        CurrentTimestampN = SVFOP_CURRENT_TIMESTAMP_N, 4;
        Localtime = SVFOP_LOCALTIME, 5;
        LocaltimeN = SVFOP_LOCALTIME_N, 6;
        Localtimestamp = SVFOP_LOCALTIMESTAMP, 7;
        LocaltimestampN = SVFOP_LOCALTIMESTAMP_N, 8;
        CurrentRole = SVFOP_CURRENT_ROLE, 9;
        CurrentUser = SVFOP_CURRENT_USER, 10;
        User = SVFOP_USER, 11;
        SessionUser = SVFOP_SESSION_USER, 12;
        CurrentCatalog = SVFOP_CURRENT_CATALOG, 13;
        CurrentSchema = SVFOP_CURRENT_SCHEMA, 14;
    }

    /// Which function of XML.
    XmlExprOp {
        Xmlconcat = IS_XMLCONCAT, 0;
        Xmlelement = IS_XMLELEMENT, 1;
        Xmlforest = IS_XMLFOREST, 2;
        Xmlparse = IS_XMLPARSE, 3;
        Xmlpi = IS_XMLPI, 4;
        Xmlroot = IS_XMLROOT, 5;
        Xmlserialize = IS_XMLSERIALIZE, 6;
        Document = IS_DOCUMENT, 7;
    }

    /// DOCUMENT, CONTENT.
    XmlOptionType {
        Document = XMLOPTION_DOCUMENT, 0;
        Content = XMLOPTION_CONTENT, 1;
    }
}
