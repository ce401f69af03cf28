//! Upper and lower case in collation C: only the letters of ASCII have one.

/// The first letter of each word in upper case and the others in lower case; words are letters and digits of ASCII.
pub(super) fn capitalized(text: &str) -> String {
    let mut is_within_word = false;
    let letter = |c: char| {
        let cased = if is_within_word { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() };
        is_within_word = c.is_ascii_alphanumeric();
        cased
    };
    text.chars().map(letter).collect()
}
