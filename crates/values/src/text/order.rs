//! Order of texts in collation C, which is that of their bytes.

use std::cmp::Ordering;

/// Order by bytes.
pub fn compare(a: &str, b: &str) -> Ordering {
    a.cmp(b)
}

/// A `character(n)` without its padding: what is compared, hashed and cast to text.
pub fn unpadded(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// The order as `memcmp` of the C library gives it: the difference of the first bytes that differ.
pub(crate) fn difference(a: &[u8], b: &[u8]) -> i32 {
    let pairs = a.iter().zip(b);
    let difference =
        pairs.map(|(a, b)| i32::from(*a) - i32::from(*b)).find(|difference| *difference != 0);
    difference.unwrap_or_else(|| a.len().cmp(&b.len()) as i32)
}
