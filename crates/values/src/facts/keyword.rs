//! Words of the grammar.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::row::read;

/// Whether a word is no name in some place, and is quoted where it is one.
pub(crate) fn is_reserved_in_some_place(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let rows = read(include_str!("keywords.tsv"), |row| (row.text(), row.text()));
        rows.into_iter().filter(|(_, category)| *category != "U").map(|(word, _)| word).collect()
    });
    WORDS.contains(word)
}
