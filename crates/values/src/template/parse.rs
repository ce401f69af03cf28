//! Templates cut into patterns, separators and text.

use super::pattern::{KEYS, Key};

/// A part of a template.
#[derive(Debug)]
pub(super) enum Node {
    Pattern(Field),
    /// Punctuation.
    Separator(char),
    Space(char),
    Text(char),
}

/// A pattern with its modifiers.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) key: &'static Key,
    /// `FM`: without padding.
    pub(super) is_filled: bool,
    /// `TM`: in the session's language.
    pub(super) is_translated: bool,
    pub(super) ordinal: Option<Ordinal>,
}

/// How the ending of an ordinal number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ordinal {
    Upper,
    Lower,
}

/// Whether a character separates fields.
pub(super) fn is_separator(c: char) -> bool {
    c.is_ascii_graphic() && !c.is_ascii_alphanumeric()
}

/// Whether a character is a space to C.
pub(super) fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// The parts of a template.
pub(super) fn parse(template: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let is_filled = take(&mut rest, &["FM", "fm"]);
        let is_translated = !is_filled && take(&mut rest, &["TM", "tm"]);
        if let Some(key) = KEYS.iter().find(|key| rest.starts_with(key.name)) {
            rest = &rest[key.name.len()..];
            let ordinal = ordinal(&mut rest);
            nodes.push(Node::Pattern(Field { key, is_filled, is_translated, ordinal }));
        } else {
            literal(&mut rest, &mut nodes);
        }
    }
    nodes
}

/// Takes one of some words, if one is next.
fn take(rest: &mut &str, words: &[&str]) -> bool {
    let found = words.iter().find_map(|word| rest.strip_prefix(word));
    if let Some(after) = found {
        *rest = after;
    }
    found.is_some()
}

/// Takes what may follow a pattern: an ordinal's ending, or `SP`, which means nothing.
fn ordinal(rest: &mut &str) -> Option<Ordinal> {
    if take(rest, &["TH"]) {
        return Some(Ordinal::Upper);
    }
    if take(rest, &["th"]) {
        return Some(Ordinal::Lower);
    }
    take(rest, &["SP"]);
    None
}

/// Takes a text in double quotes, or one character. A backslash quotes a double quote, and within those any character.
pub(super) fn literal(rest: &mut &str, nodes: &mut Vec<Node>) {
    if let Some(quoted) = rest.strip_prefix('"') {
        *rest = quoted;
        while let Some(next) = next(rest) {
            match next {
                '"' => return,
                '\\' => nodes.push(Node::Text(self::next(rest).unwrap_or('\\'))),
                _ => nodes.push(Node::Text(next)),
            }
        }
        return;
    }
    if rest.starts_with("\\\"") {
        next(rest);
    }
    let Some(character) = next(rest) else { return };
    nodes.push(if is_separator(character) {
        Node::Separator(character)
    } else if is_space(character) {
        Node::Space(character)
    } else {
        Node::Text(character)
    });
}

fn next(rest: &mut &str) -> Option<char> {
    let first = rest.chars().next()?;
    *rest = &rest[first.len_utf8()..];
    Some(first)
}
