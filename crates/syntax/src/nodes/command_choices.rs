//! Choices within commands.

use super::table::choices;

choices! {
    /// Which statement of transaction control.
    TransactionStmtKind {
        Begin = TRANS_STMT_BEGIN, 0;
        Start = TRANS_STMT_START, 1;
        Commit = TRANS_STMT_COMMIT, 2;
        Rollback = TRANS_STMT_ROLLBACK, 3;
        Savepoint = TRANS_STMT_SAVEPOINT, 4;
        Release = TRANS_STMT_RELEASE, 5;
        RollbackTo = TRANS_STMT_ROLLBACK_TO, 6;
        Prepare = TRANS_STMT_PREPARE, 7;
        CommitPrepared = TRANS_STMT_COMMIT_PREPARED, 8;
        RollbackPrepared = TRANS_STMT_ROLLBACK_PREPARED, 9;
    }

    /// SET, RESET and their forms.
    VariableSetKind {
        SetValue = VAR_SET_VALUE, 0;
        SetDefault = VAR_SET_DEFAULT, 1;
        SetCurrent = VAR_SET_CURRENT, 2;
        SetMulti = VAR_SET_MULTI, 3;
        Reset = VAR_RESET, 4;
        ResetAll = VAR_RESET_ALL, 5;
    }

    /// Where a FETCH goes.
    FetchDirection {
        Forward = FETCH_FORWARD, 0;
        Backward = FETCH_BACKWARD, 1;
        Absolute = FETCH_ABSOLUTE, 2;
        Relative = FETCH_RELATIVE, 3;
    }

    /// What DISCARD drops.
    DiscardMode {
        All = DISCARD_ALL, 0;
        Plans = DISCARD_PLANS, 1;
        Sequences = DISCARD_SEQUENCES, 2;
        Temp = DISCARD_TEMP, 3;
    }

    /// SET, ADD, DROP of an option.
    DefElemAction {
        Unspec = DEFELEM_UNSPEC, 0;
        Set = DEFELEM_SET, 1;
        Add = DEFELEM_ADD, 2;
        Drop = DEFELEM_DROP, 3;
    }

    /// Whether a GRANT names objects.
    GrantTargetType {
        Object = ACL_TARGET_OBJECT, 0;
        AllInSchema = ACL_TARGET_ALL_IN_SCHEMA, 1;
        Defaults = ACL_TARGET_DEFAULTS, 2;
    }

    /// A name, or CURRENT_USER and the like.
    RoleSpecType {
        Cstring = ROLESPEC_CSTRING, 0;
        CurrentRole = ROLESPEC_CURRENT_ROLE, 1;
        CurrentUser = ROLESPEC_CURRENT_USER, 2;
        SessionUser = ROLESPEC_SESSION_USER, 3;
        Public = ROLESPEC_PUBLIC, 4;
    }

    /// ROLE, USER, GROUP.
    RoleStmtType {
        Role = ROLESTMT_ROLE, 0;
        User = ROLESTMT_USER, 1;
        Group = ROLESTMT_GROUP, 2;
    }

    /// IN, OUT, INOUT, VARIADIC.
    FunctionParameterMode {
        In = FUNC_PARAM_IN, 105;
        Out = FUNC_PARAM_OUT, 111;
        Inout = FUNC_PARAM_INOUT, 98;
        Variadic = FUNC_PARAM_VARIADIC, 118;
        Table = FUNC_PARAM_TABLE, 116;
        Default = FUNC_PARAM_DEFAULT, 100;
    }

    /// RESTRICT, CASCADE.
    DropBehavior {
        Restrict = DROP_RESTRICT, 0;
        Cascade = DROP_CASCADE, 1;
    }

    /// WITH CHECK OPTION.
    ViewCheckOption {
        None = NO_CHECK_OPTION, 0;
        Local = LOCAL_CHECK_OPTION, 1;
        Cascaded = CASCADED_CHECK_OPTION, 2;
    }

    /// A kind of constraint.
    ConstrType {
        Null = CONSTR_NULL, 0;
        Notnull = CONSTR_NOTNULL, 1;
        Default = CONSTR_DEFAULT, 2;
        Identity = CONSTR_IDENTITY, 3;
        Generated = CONSTR_GENERATED, 4;
        Check = CONSTR_CHECK, 5;
        Primary = CONSTR_PRIMARY, 6;
        Unique = CONSTR_UNIQUE, 7;
        Exclusion = CONSTR_EXCLUSION, 8;
        Foreign = CONSTR_FOREIGN, 9;
        AttrDeferrable = CONSTR_ATTR_DEFERRABLE, 10;
        AttrNotDeferrable = CONSTR_ATTR_NOT_DEFERRABLE, 11;
        AttrDeferred = CONSTR_ATTR_DEFERRED, 12;
        AttrImmediate = CONSTR_ATTR_IMMEDIATE, 13;
        AttrEnforced = CONSTR_ATTR_ENFORCED, 14;
        AttrNotEnforced = CONSTR_ATTR_NOT_ENFORCED, 15;
    }

    /// LIST, RANGE, HASH.
    PartitionStrategy {
        List = PARTITION_STRATEGY_LIST, 108;
        Range = PARTITION_STRATEGY_RANGE, 114;
        Hash = PARTITION_STRATEGY_HASH, 104;
    }

    /// What REINDEX is for.
    ReindexObjectType {
        Index = REINDEX_OBJECT_INDEX, 0;
        Table = REINDEX_OBJECT_TABLE, 1;
        Schema = REINDEX_OBJECT_SCHEMA, 2;
        System = REINDEX_OBJECT_SYSTEM, 3;
        Database = REINDEX_OBJECT_DATABASE, 4;
    }
}
