//! How strongly something is locked.

/// PostgreSQL's modes of row locks, from the weakest to the strongest: each excludes all that the one before excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// FOR KEY SHARE: the row stays, with its keys. What a foreign key takes on the row that it refers to.
    KeyShare,
    /// FOR SHARE: the row stays as it is.
    Share,
    /// FOR NO KEY UPDATE: what an UPDATE takes that leaves unique keys alone.
    NoKeyUpdate,
    /// FOR UPDATE: what a DELETE takes, or an UPDATE of a unique key.
    Update,
}

impl LockMode {
    /// Whether two transactions cannot have both.
    pub fn conflicts(self, other: LockMode) -> bool {
        use LockMode::{KeyShare, NoKeyUpdate, Share, Update};
        match self {
            KeyShare => other == Update,
            Share => matches!(other, NoKeyUpdate | Update),
            NoKeyUpdate => other != KeyShare,
            Update => true,
        }
    }
}
