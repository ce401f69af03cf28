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
