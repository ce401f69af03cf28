//! How many grouping sets a query may have: each costs as much as a GROUP BY, and CUBE of n columns has 2^n.

use datafusion::sql::sqlparser::ast::Expr;
use engine::types::{Result, SqlState};

use super::Analysis;

/// PostgreSQL's limits.
const LARGEST_CUBE: usize = 12;
const MOST_SETS: usize = 4_096;

impl Analysis<'_> {
    /// 54011 and 54001 for more than PostgreSQL takes.
    pub(super) fn grouping_sets(&self, keys: &[Expr]) -> Result<()> {
        let mut sets = 1usize;
        for key in keys {
            if matches!(key, Expr::Cube(columns) if columns.len() > LARGEST_CUBE) {
                let message = format!("CUBE is limited to {LARGEST_CUBE} elements");
                let at = self.words.start_of(key);
                return Err(self.words.fault(SqlState::TooManyColumns, message, at));
            }
            sets = sets.saturating_mul(sets_of(key));
        }
        if sets > MOST_SETS {
            let message = format!("too many grouping sets present (maximum {MOST_SETS})");
            let at = keys.first().and_then(|key| self.words.start_of(key));
            return Err(self.words.fault(SqlState::StatementTooComplex, message, at));
        }
        Ok(())
    }
}

fn sets_of(key: &Expr) -> usize {
    match key {
        Expr::Cube(columns) => 1 << columns.len(),
        Expr::Rollup(columns) => columns.len() + 1,
        Expr::GroupingSets(sets) => sets.len(),
        _ => 1,
    }
}
