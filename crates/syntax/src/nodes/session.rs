//! Transactions, settings, prepared statements, cursors, notifications and locks.

use super::table::nodes;
use super::{
    DefElem, DiscardMode, FetchDirection, RangeVar, TransactionStmtKind, TypeName, VariableSetKind,
};

nodes! {
    /// BEGIN, COMMIT, SAVEPOINT and the like.
    TransactionStmt: TransactionStmt = 225, 40 {
        kind: {TransactionStmtKind} = kind @ 4;
        options: [DefElem] = options @ 8;
        savepoint_name: text = savepoint_name @ 16;
        gid: text = gid @ 24;
        chain: flag = chain @ 32;
        location: location = location @ 36;
    }

    /// SET and RESET.
    VariableSetStmt: VariableSetStmt = 158, 32 {
        kind: {VariableSetKind} = kind @ 4;
        name: text = name @ 8;
        args: nodes = args @ 16;
        jumble_args: flag = jumble_args @ 24;
        is_local: flag = is_local @ 25;
        location: location = location @ 28;
    }

    /// SHOW.
    VariableShowStmt: VariableShowStmt = 159, 16 {
        name: text = name @ 8;
    }

    /// PREPARE.
    PrepareStmt: PrepareStmt = 252, 32 {
        name: text = name @ 8;
        argtypes: [TypeName] = argtypes @ 16;
        query: node = query @ 24;
    }

    /// EXECUTE.
    ExecuteStmt: ExecuteStmt = 253, 24 {
        name: text = name @ 8;
        params: nodes = params @ 16;
    }

    /// DEALLOCATE.
    DeallocateStmt: DeallocateStmt = 254, 24 {
        name: text = name @ 8;
        isall: flag = isall @ 16;
        location: location = location @ 20;
    }

    /// DECLARE.
    DeclareCursorStmt: DeclareCursorStmt = 201, 32 {
        portalname: text = portalname @ 8;
        options: int = options @ 16;
        query: node = query @ 24;
    }

    /// FETCH and MOVE.
    FetchStmt: FetchStmt = 203, 32 {
        direction: {FetchDirection} = direction @ 4;
        how_many: long = howMany @ 8;
        portalname: text = portalname @ 16;
        ismove: flag = ismove @ 24;
    }

    /// CLOSE.
    ClosePortalStmt: ClosePortalStmt = 202, 16 {
        portalname: text = portalname @ 8;
    }

    /// LISTEN.
    ListenStmt: ListenStmt = 223, 16 {
        conditionname: text = conditionname @ 8;
    }

    /// NOTIFY.
    NotifyStmt: NotifyStmt = 222, 32 {
        conditionname: text = conditionname @ 8;
        payload: text = payload @ 16;
        payload_location: location = payload_location @ 24;
    }

    /// UNLISTEN.
    UnlistenStmt: UnlistenStmt = 224, 16 {
        conditionname: text = conditionname @ 8;
    }

    /// LOCK TABLE.
    LockStmt: LockStmt = 246, 24 {
        relations: [RangeVar] = relations @ 8;
        mode: int = mode @ 16;
        nowait: flag = nowait @ 20;
    }

    /// DISCARD.
    DiscardStmt: DiscardStmt = 245, 8 {
        target: {DiscardMode} = target @ 4;
    }

    /// SET CONSTRAINTS.
    ConstraintsSetStmt: ConstraintsSetStmt = 247, 24 {
        constraints: [RangeVar] = constraints @ 8;
        deferred: flag = deferred @ 16;
    }
}
