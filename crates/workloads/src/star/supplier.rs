//! The supplier dimension.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::customer::{address, telephone};
use super::geography::{CITIES_PER_NATION, NATION_COUNT, Nation};
use crate::client::CopyLine;

/// Appends one supplier.
pub(super) fn append(key: u64, rng: &mut SmallRng, out: &mut Vec<u8>) {
    let nation = Nation::new(rng.random_range(0..NATION_COUNT));
    CopyLine::new(out)
        .integer(key as i64)
        .text(&format!("Supplier#{key:09}"))
        .text(&address(rng))
        .text(&nation.city(rng.random_range(0..CITIES_PER_NATION)))
        .text(nation.name())
        .text(nation.region())
        .text(&telephone(nation, rng))
        .end();
}
