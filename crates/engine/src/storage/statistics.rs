//! What the planner needs to know about a table, kept up by writes and sealing.

use crate::types::Value;

/// Estimates; cheap to read at any time.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// Rows alive in the newest version.
    pub rows: u64,
    /// By [`crate::types::ColumnId`].
    pub columns: Vec<ColumnStatistics>,
}

/// Estimates about one column.
#[derive(Clone, Debug, Default)]
pub struct ColumnStatistics {
    /// Distinct values (probabilistic counting).
    pub distinct: f64,
    /// Share of NULLs, 0 to 1.
    pub null_share: f64,
    /// Smallest value seen.
    pub min: Option<Value>,
    /// Largest value seen.
    pub max: Option<Value>,
    /// Mean bytes of a value.
    pub width: f64,
}
