//! Columns of texts.

use super::Bits;
use crate::error::Result;
use crate::text::Pattern;

/// A column of texts, one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    text: &'a str,
    /// Where each begins, and behind the last its end.
    starts: &'a [i32],
}

impl<'a> Texts<'a> {
    /// # Panics
    /// When there is no start at all.
    pub fn new(text: &'a str, starts: &'a [i32]) -> Self {
        assert!(!starts.is_empty(), "the end of the last text is said");
        Self { text, starts }
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The text of a row.
    pub fn get(&self, row: usize) -> &'a str {
        &self.text[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

/// Whether each text matches a pattern of LIKE, which is looked at once; of those that are not NULL, where `valid` says which.
///
/// # Errors
/// 22025 when matching reaches a `\` that ends the pattern.
pub fn is_like(texts: Texts<'_>, valid: Option<&Bits>, pattern: &str) -> Result<Bits> {
    let pattern = Pattern::new(pattern);
    let failure = std::cell::Cell::new(None);
    let bits = Bits::of(texts.rows(), |row| {
        if valid.is_some_and(|valid| !valid.get(row)) {
            return false;
        }
        pattern.matches(texts.get(row)).unwrap_or_else(|error| {
            failure.set(Some(error));
            false
        })
    });
    failure.take().map_or(Ok(bits), Err)
}
