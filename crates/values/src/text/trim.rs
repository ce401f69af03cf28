//! Cutting characters off the ends.

/// Without the characters of `set` at the start.
pub(super) fn start<'a>(text: &'a str, set: &str) -> &'a str {
    text.trim_start_matches(|c| set.contains(c))
}

/// Without the characters of `set` at the end.
pub(super) fn end<'a>(text: &'a str, set: &str) -> &'a str {
    text.trim_end_matches(|c| set.contains(c))
}

/// Without the characters of `set` at both ends.
pub(super) fn both<'a>(text: &'a str, set: &str) -> &'a str {
    end(start(text, set), set)
}
