//! How strongly a table is locked.

/// PostgreSQL's modes of table locks, from the weakest to the strongest. Not each excludes all that the one before excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableMode {
    /// What a query takes.
    AccessShare,
    /// What a query takes that locks rows, and a change on the tables that its table refers to or is referred to by.
    RowShare,
    /// What a change of rows takes.
    RowExclusive,
    /// What a concurrent CREATE INDEX takes.
    ShareUpdateExclusive,
    /// What CREATE INDEX takes: rows stay as they are.
    Share,
    /// Rows stay as they are, for the holder to change.
    ShareRowExclusive,
    /// Rows are only read meanwhile.
    Exclusive,
    /// Nobody else uses the table.
    AccessExclusive,
}

impl TableMode {
    /// All modes, from the weakest on.
    pub const ALL: [TableMode; 8] = [
        TableMode::AccessShare,
        TableMode::RowShare,
        TableMode::RowExclusive,
        TableMode::ShareUpdateExclusive,
        TableMode::Share,
        TableMode::ShareRowExclusive,
        TableMode::Exclusive,
        TableMode::AccessExclusive,
    ];

    /// Whether two transactions cannot have both.
    pub fn conflicts(self, other: TableMode) -> bool {
        use TableMode::{
            AccessExclusive, AccessShare, Exclusive, RowExclusive, RowShare, Share,
            ShareRowExclusive, ShareUpdateExclusive,
        };
        match self {
            AccessShare => other == AccessExclusive,
            RowShare => other >= Exclusive,
            RowExclusive => other >= Share,
            ShareUpdateExclusive => other >= ShareUpdateExclusive,
            Share => !matches!(other, AccessShare | RowShare | Share),
            ShareRowExclusive => other >= RowExclusive,
            Exclusive => other >= RowShare,
            AccessExclusive => true,
        }
    }

    /// Whether it excludes what statements take that read or change rows.
    pub fn is_strong(self) -> bool {
        self >= TableMode::Share
    }

    /// PostgreSQL's name for it in `pg_locks`.
    pub fn name(self) -> &'static str {
        match self {
            TableMode::AccessShare => "AccessShareLock",
            TableMode::RowShare => "RowShareLock",
            TableMode::RowExclusive => "RowExclusiveLock",
            TableMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            TableMode::Share => "ShareLock",
            TableMode::ShareRowExclusive => "ShareRowExclusiveLock",
            TableMode::Exclusive => "ExclusiveLock",
            TableMode::AccessExclusive => "AccessExclusiveLock",
        }
    }
}
