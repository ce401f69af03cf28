//! The customer dimension.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::geography::{CITIES_PER_NATION, NATION_COUNT, Nation};
use crate::client::CopyLine;

pub(crate) const SEGMENTS: [&str; 5] =
    ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"];

/// Appends one customer.
pub(super) fn append(key: u64, rng: &mut SmallRng, out: &mut Vec<u8>) {
    let nation = Nation::new(rng.random_range(0..NATION_COUNT));
    CopyLine::new(out)
        .integer(key as i64)
        .text(&format!("Customer#{key:09}"))
        .text(&address(rng))
        .text(&nation.city(rng.random_range(0..CITIES_PER_NATION)))
        .text(nation.name())
        .text(nation.region())
        .text(&telephone(nation, rng))
        .text(SEGMENTS[rng.random_range(0..SEGMENTS.len())])
        .end();
}

/// 10 to 25 random characters.
pub(super) fn address(rng: &mut SmallRng) -> String {
    const CHARACTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ, ";
    let length = rng.random_range(10..=25);
    let mut text: String = (0..length)
        .map(|_| char::from(CHARACTERS[rng.random_range(0..CHARACTERS.len())]))
        .collect();
    // Blanks at the end are not kept by every system.
    text.truncate(text.trim_end().len());
    text
}

/// Country code and ten digits.
pub(super) fn telephone(nation: Nation, rng: &mut SmallRng) -> String {
    let code = nation.telephone_code();
    let mut group = |digits: std::ops::Range<u32>| rng.random_range(digits);
    let (area, exchange) = (group(100..1000), group(100..1000));
    format!("{code}-{area}-{exchange}-{}", group(1000..10_000))
}
