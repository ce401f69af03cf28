//! How large a text and its tree may be.

/// Bounds of one parse. The defaults are above what PostgreSQL 15 takes by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of the text; more is 54000 before anything is parsed. PostgreSQL's own bound is a message of 1 GB.
    pub bytes: usize,
    /// Of the tree while it is built; more is 54000. It takes 14 to 64 times the text.
    pub arena_bytes: usize,
    /// Nodes and lists of the tree; more is 54001.
    pub nodes: usize,
    /// Nodes and lists within each other, not counting the steps down the left side of chains; more is 54001. What is within it can
    /// be walked by recursion on a stack of 8 MiB.
    pub depth: usize,
}

impl Limits {
    /// PostgreSQL fits its recursion into 2 MB of stack: about 1,100 scalar subqueries within each other, or 5,000 NOTs.
    pub const DEFAULT: Limits =
        Limits { bytes: (1 << 30) - 1, arena_bytes: 1 << 30, nodes: 20_000_000, depth: 10_000 };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}
