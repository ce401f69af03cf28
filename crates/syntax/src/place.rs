//! Places in a text: characters and bytes, and the few tokens that a tree does not place.

/// The position of a byte in characters from 1, as PostgreSQL counts.
pub fn character(text: &str, byte: usize) -> usize {
    text[..byte].chars().count() + 1
}

/// The byte where a character stands, counted from 1; the end of the text for what is behind it.
pub fn byte(text: &str, character: usize) -> usize {
    text.char_indices().nth(character - 1).map_or(text.len(), |(at, _)| at)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

/// What may begin an identifier.
fn begins_word(byte: u8) -> bool {
    is_word(byte) && !byte.is_ascii_digit() && byte != b'$'
}

/// The word that stands at a place, or the one character.
pub fn token(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let word = rest.bytes().take_while(|byte| is_word(*byte)).count();
    let one = rest.chars().next().map_or(0, char::len_utf8);
    &rest[..word.max(one)]
}

/// Where a word in any case stands, at a place or behind it.
pub fn word(text: &str, word: &str, from: usize) -> Option<usize> {
    words(text, word).find(|at| *at >= from)
}

/// Where a word in any case stands last before a place.
pub fn word_before(text: &str, word: &str, end: usize) -> Option<usize> {
    words(text, word).take_while(|at| *at < end).last()
}

fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    let is_there = move |at: &usize| {
        let end = at + word.len();
        bytes.get(*at..end).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
            && !at.checked_sub(1).is_some_and(|before| is_word(bytes[before]))
            && !bytes.get(end).is_some_and(|behind| is_word(*behind))
    };
    (0..bytes.len()).filter(is_there)
}

/// The parenthesis that opens a query: the last one before a place within the query that a query's first word follows, or the outermost
/// of several.
pub fn query_in_parentheses(text: &str, within: usize) -> Option<usize> {
    let opens = |at: usize| {
        let word = token(text, at + 1 + (text[at + 1..].len() - text[at + 1..].trim_start().len()));
        ["SELECT", "VALUES", "WITH", "TABLE"].iter().any(|first| word.eq_ignore_ascii_case(first))
    };
    let parentheses = text[..within].rmatch_indices('(').map(|(at, _)| at);
    let mut at = parentheses.into_iter().find(|at| opens(*at))?;
    while let Some(outer) = text[..at].trim_end().strip_suffix('(') {
        at = outer.len();
    }
    Some(at)
}

/// A number with the word behind it, which PostgreSQL 15 calls trailing junk; none where the number ends well.
pub fn number_with_junk(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if end == 0 && digits(bytes.len().min(1)) == 0 {
        // A constant that the grammar made of words.
        return None;
    }
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = bytes.get(end + 1 + sign).map_or(0, |_| digits(end + 1 + sign));
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    with_word(text, end)
}

/// `$1` and the word behind it without a space, if there is one.
pub fn parameter_with_junk(text: &str) -> Option<&str> {
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    with_word(text, 1 + digits)
}

fn with_word(text: &str, end: usize) -> Option<&str> {
    let follows = text.as_bytes().get(end).is_some_and(|byte| begins_word(*byte));
    follows.then(|| &text[..end + token(text, end).len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_from_one() {
        assert_eq!((character("éa", 0), character("éa", 2), character("éa", 3)), (1, 2, 3));
        assert_eq!((byte("éa", 1), byte("éa", 2), byte("éa", 3), byte("éa", 9)), (0, 2, 3, 3));
    }

    #[test]
    fn junk_stands_behind_numbers() {
        for (text, junk) in [
            ("0x1F + 1", Some("0x1F")),
            ("1_000", Some("1_000")),
            ("1.5_0", Some("1.5_0")),
            ("1e5é", Some("1e5é")),
            (".5x", Some(".5x")),
            ("1e", Some("1e")),
            ("1e+", Some("1e")),
            ("1..2", None),
            ("1e5", None),
            ("15", None),
            ("15$", None),
            ("read only", None),
            ("", None),
        ] {
            assert_eq!(number_with_junk(text), junk, "{text}");
        }
        assert_eq!(parameter_with_junk("$12ab "), Some("$12ab"));
        assert_eq!(parameter_with_junk("$12 ab"), None);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(word("xa A ab", "a", 0), Some(3));
        assert_eq!(word_before("a b a b", "A", 4), Some(0));
        assert_eq!((token("ab c", 0), token("(c", 0), token("é)", 0)), ("ab", "(", "é"));
    }
}
