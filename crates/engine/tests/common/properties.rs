//! How property tests run: with the seed of the crate's `tests/seeds.txt`. What a property found is kept beside, below
//! `proptest-regressions`, and runs first.

use proptest::test_runner::{Config, RngSeed};

use super::seeds::seeds;

/// As many cases as proptest usually runs, or `PROPTEST_CASES`.
pub fn usual() -> Config {
    let seed = seeds("properties").next().expect("there is one at least");
    Config { rng_seed: RngSeed::Fixed(seed), ..Config::default() }
}

/// So many cases.
pub fn cases(cases: u32) -> Config {
    Config { cases, ..usual() }
}
