//! Queries whose aggregation tables are small or large: "Cache-aware batch sharing", section 6.2.
//!
//! Twelve sums over nearly all fact rows, grouped into some 450 groups (about 50 KB of sums and keys) or some
//! 16,800 (about 1.6 MB). Only the largest groups are answered, so that the wire is no part of the picture.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::client::Parameter;
use crate::query::{Query, QueryMix, Statement};

const SMALL: usize = 0;
const LARGE: usize = 1;

/// A prices' threshold in cents that 98 to 100 % of the fact rows reach: each query has its own.
const THRESHOLDS: std::ops::Range<i64> = 90_000..180_000;

/// The two statements.
pub struct WorkingSets([Statement; 2]);

impl WorkingSets {
    /// Small and large.
    pub fn new() -> WorkingSets {
        WorkingSets([
            statement("50 KB", "lo_quantity, lo_tax"),
            statement("1.6 MB", "lo_orderdate, lo_shipmode"),
        ])
    }

    /// `count` different queries: for each large one, `small` small ones.
    pub fn queries(&self, count: usize, small: usize, seed: u64) -> Vec<Query> {
        let mut rng = SmallRng::seed_from_u64(seed);
        let kind = |number: usize| if number.is_multiple_of(small + 1) { LARGE } else { SMALL };
        (0..count).map(|number| self.draw_from(kind(number), &mut rng)).collect()
    }
}

impl Default for WorkingSets {
    fn default() -> WorkingSets {
        WorkingSets::new()
    }
}

fn statement(size: &str, keys: &str) -> Statement {
    let sums = [
        "lo_revenue",
        "lo_extendedprice",
        "lo_supplycost",
        "lo_quantity",
        "lo_discount",
        "lo_tax",
        "lo_ordtotalprice",
        "lo_custkey",
        "lo_partkey",
        "lo_suppkey",
        "lo_linenumber",
        "lo_orderkey",
    ];
    let sums: Vec<String> =
        sums.iter().enumerate().map(|(i, c)| format!("SUM({c}) AS s{i}")).collect();
    let text = format!(
        "SELECT {keys}, {} FROM lineorder WHERE lo_extendedprice >= $1 GROUP BY {keys} \
         ORDER BY s0 DESC, {keys} LIMIT 10",
        sums.join(", "),
    );
    Statement { name: format!("aggregation table of {size}"), text }
}

impl QueryMix for WorkingSets {
    fn statements(&self) -> &[Statement] {
        &self.0
    }

    fn parameters(&self, _statement: usize, rng: &mut SmallRng) -> Vec<Parameter> {
        vec![rng.random_range(THRESHOLDS).into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_kept() {
        let mix = WorkingSets::new();
        let large = |small: usize| {
            let queries = mix.queries(100, small, 1);
            queries.iter().filter(|query| query.statement == LARGE).count()
        };
        assert_eq!([1, 3, 4].map(large), [50, 25, 20]);
    }
}
