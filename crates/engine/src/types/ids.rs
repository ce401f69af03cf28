//! Ids are types, so that a column number cannot be added to a row number.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The id as an array index.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A table, for its whole life; never reused after DROP.
    TableId(u32)
);
id!(
    /// A column's position in its table, counted from 0; stays put when other columns are dropped.
    ColumnId(u32)
);
id!(
    /// An index, for its whole life; never reused after DROP.
    IndexId(u32)
);
id!(
    /// A sequence, for its whole life.
    SequenceId(u32)
);
id!(
    /// A horizontal partition of a table: the chunks that one worker core scans.
    SegmentId(u16)
);
id!(
    /// A chunk's position in its table; never reused, so an old location can never name a new row.
    ChunkId(u32)
);
id!(
    /// A logical row: stays the same through all its versions.
    RowId(u64)
);
id!(
    /// A point in the order of commits. A row version is visible to snapshots in `[begin, end)`.
    Version(u64)
);
id!(
    /// A transaction block in progress.
    TransactionId(u64)
);
id!(
    /// Who asks for writes, one at a time: a client's session.
    SessionId(u32)
);
id!(
    /// A statement with its literals lifted to parameters.
    TemplateId(u32)
);
id!(
    /// One activation's dense place in its batch: `0..n`.
    Slot(u32)
);
id!(
    /// A group of templates with their own heartbeat.
    LaneId(u16)
);
id!(
    /// A shared operator of the global plan.
    NodeId(u32)
);

impl Version {
    /// The end of a row version that nobody has replaced or deleted.
    pub const INFINITY: Version = Version(u64::MAX);

    /// The version that follows.
    pub fn next(self) -> Version {
        Version(self.0 + 1)
    }
}

/// Where one row version lies: a chunk and the offset inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The chunk.
    pub chunk: ChunkId,
    /// Rows before this one in the chunk.
    pub offset: u32,
}

impl Location {
    /// No row: the missing side of an outer join. Every column reads as NULL there.
    pub const NONE: Location = Location { chunk: ChunkId(u32::MAX), offset: u32::MAX };

    /// Whether this names no row.
    #[inline]
    pub fn is_none(self) -> bool {
        self.chunk.0 == u32::MAX
    }
}
