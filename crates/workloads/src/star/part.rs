//! The part dimension: manufacturers, categories and brands are levels of one hierarchy.

use rand::RngExt;
use rand::rngs::SmallRng;

use crate::client::CopyLine;

/// Manufacturers, and categories of each.
pub const MANUFACTURERS: u32 = 5;

/// Brands of each category.
pub const BRANDS: u32 = 40;

pub(crate) const COLOURS: [&str; 92] = [
    "almond",
    "antique",
    "aquamarine",
    "azure",
    "beige",
    "bisque",
    "black",
    "blanched",
    "blue",
    "blush",
    "brown",
    "burlywood",
    "burnished",
    "chartreuse",
    "chiffon",
    "chocolate",
    "coral",
    "cornflower",
    "cornsilk",
    "cream",
    "cyan",
    "dark",
    "deep",
    "dim",
    "dodger",
    "drab",
    "firebrick",
    "floral",
    "forest",
    "frosted",
    "gainsboro",
    "ghost",
    "goldenrod",
    "green",
    "grey",
    "honeydew",
    "hot",
    "indian",
    "ivory",
    "khaki",
    "lace",
    "lavender",
    "lawn",
    "lemon",
    "light",
    "lime",
    "linen",
    "magenta",
    "maroon",
    "medium",
    "metallic",
    "midnight",
    "mint",
    "misty",
    "moccasin",
    "navajo",
    "navy",
    "olive",
    "orange",
    "orchid",
    "pale",
    "papaya",
    "peach",
    "peru",
    "pink",
    "plum",
    "powder",
    "puff",
    "purple",
    "red",
    "rose",
    "rosy",
    "royal",
    "saddle",
    "salmon",
    "sandy",
    "seashell",
    "sienna",
    "sky",
    "slate",
    "smoke",
    "snow",
    "spring",
    "steel",
    "tan",
    "thistle",
    "tomato",
    "turquoise",
    "violet",
    "wheat",
    "white",
    "yellow",
];

pub(crate) const TYPES: [&[&str]; 3] = [
    &["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
    &["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"],
    &["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"],
];

pub(crate) const CONTAINERS: [&[&str]; 2] = [
    &["SM", "LG", "MED", "JUMBO", "WRAP"],
    &["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"],
];

/// `MFGR#1`
pub fn manufacturer_name(manufacturer: u32) -> String {
    format!("MFGR#{manufacturer}")
}

/// `MFGR#12`
pub fn category_name(manufacturer: u32, category: u32) -> String {
    format!("MFGR#{manufacturer}{category}")
}

/// `MFGR#1221`; brands below ten have one digit.
pub fn brand_name(manufacturer: u32, category: u32, brand: u32) -> String {
    format!("MFGR#{manufacturer}{category}{brand}")
}

/// Appends one part.
pub(super) fn append(key: u64, rng: &mut SmallRng, out: &mut Vec<u8>) {
    let manufacturer = rng.random_range(1..=MANUFACTURERS);
    let category = rng.random_range(1..=MANUFACTURERS);
    let brand = rng.random_range(1..=BRANDS);
    let colour = one_of(&COLOURS, rng);
    CopyLine::new(out)
        .integer(key as i64)
        .text(&format!("{} {}", one_of(&COLOURS, rng), colour))
        .text(&manufacturer_name(manufacturer))
        .text(&category_name(manufacturer, category))
        .text(&brand_name(manufacturer, category, brand))
        .text(colour)
        .text(&TYPES.map(|words| one_of(words, rng)).join(" "))
        .integer(rng.random_range(1..=50))
        .text(&CONTAINERS.map(|words| one_of(words, rng)).join(" "))
        .end();
}

/// The price of one piece in cents, a function of the key as in TPC-H: lines need no look-up.
pub(super) fn price_cents(key: u64) -> i64 {
    let key = key as i64;
    90_000 + key / 10 % 20_001 + 100 * (key % 1_000)
}

fn one_of<'a>(words: &[&'a str], rng: &mut SmallRng) -> &'a str {
    words[rng.random_range(0..words.len())]
}
