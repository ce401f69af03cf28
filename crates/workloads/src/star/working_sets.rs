//! Queries whose aggregation tables are small or large: "Cache-aware batch sharing", section 6.2.
//!
//! Twelve sums over nearly all fact rows, grouped into some 450 groups (about 50 KB of sums and keys) or some
//! 16,800 (about 1.6 MB); or, of 8 to 30 % of the fact rows joined with all dimensions, into 250 groups or 6,250. Only
//! the largest groups are answered, so that the wire is no part of the picture.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::client::Parameter;
use crate::query::{Query, QueryMix, Statement};

const SMALL: usize = 0;
const LARGE: usize = 1;

/// A prices' threshold in cents that 98 to 100 % of the fact rows reach: each query has its own.
const THRESHOLDS: std::ops::Range<i64> = 90_000..180_000;

/// Of parts; a query with joins asks for those of two.
const MANUFACTURERS: usize = 5;

/// The two statements.
pub struct WorkingSets {
    statements: [Statement; 2],
    joined: bool,
}

impl WorkingSets {
    /// Small and large, of the fact table alone.
    pub fn new() -> WorkingSets {
        let statement =
            |size, keys| statement(size, keys, "lineorder WHERE lo_extendedprice >= $1");
        let (small, large) = ("lo_quantity, lo_tax", "lo_orderdate, lo_shipmode");
        let statements = [statement("50 KB", small), statement("1.6 MB", large)];
        WorkingSets { statements, joined: false }
    }

    /// Small and large, of the fact table joined with all dimensions; each query asks for other rows of these.
    pub fn joined() -> WorkingSets {
        let rows = "lineorder, customer, supplier, part, date WHERE lo_custkey = c_custkey AND \
             lo_suppkey = s_suppkey AND lo_partkey = p_partkey AND lo_orderdate = d_datekey AND \
             lo_quantity >= $1 AND d_yearmonthnum BETWEEN $2 AND $3 AND p_mfgr IN ($4, $5)";
        let statement = |size, keys| statement(size, keys, rows);
        let statements = [statement("50 KB", "c_city"), statement("1.6 MB", "c_city, s_nation")];
        WorkingSets { statements, joined: true }
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

fn statement(size: &str, keys: &str, rows: &str) -> Statement {
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
        "SELECT {keys}, {} FROM {rows} GROUP BY {keys} ORDER BY s0 DESC, {keys} LIMIT 10",
        sums.join(", "),
    );
    Statement { name: format!("aggregation table of {size}"), text }
}

impl QueryMix for WorkingSets {
    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn parameters(&self, _statement: usize, rng: &mut SmallRng) -> Vec<Parameter> {
        if !self.joined {
            return vec![rng.random_range(THRESHOLDS).into()];
        }
        let mut month =
            |years: std::ops::Range<i64>| rng.random_range(years) * 100 + rng.random_range(1..=12);
        let (first, last) = (month(1992..1995), month(1996..1999));
        let maker = rng.random_range(0..MANUFACTURERS);
        let other = (maker + rng.random_range(1..MANUFACTURERS)) % MANUFACTURERS;
        let made = |number: usize| format!("MFGR#{}", number + 1).into();
        vec![rng.random_range(1..20).into(), first.into(), last.into(), made(maker), made(other)]
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

    #[test]
    fn queries_with_joins_differ() {
        let queries = WorkingSets::joined().queries(100, 1, 1);
        let parameters = |n: usize| format!("{:?}", queries[n].parameters);
        let equal = (1..100).filter(|&n| (0..n).any(|other| parameters(n) == parameters(other)));
        assert_eq!(equal.count(), 0);
    }
}
