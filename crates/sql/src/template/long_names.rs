//! Names of more bytes than PostgreSQL keeps of one: cut where a text becomes [`plain`](super::plain), so that nobody behind
//! it ever sees a longer one. PostgreSQL's parser tells of it ([`notices`](super::notices)).

use super::pieces::{Kind, Piece};

/// Bytes of a name that are kept.
pub const NAME_LIMIT: usize = 63;

/// The beginning of a name that is kept: whole characters of so many bytes at most.
pub fn cut(name: &str, limit: usize) -> &str {
    &name[..name.floor_char_boundary(limit)]
}

/// A name as it is written after it was cut; `None` for what is no name, and for one that is short enough.
pub fn shortened(text: &str, piece: Piece) -> Option<String> {
    let name = long_name(text, piece)?;
    let kept = cut(&name, NAME_LIMIT);
    Some(if piece.kind == Kind::Name { quoted(kept) } else { kept.to_owned() })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn long_name(text: &str, piece: Piece) -> Option<String> {
    let written = piece.of(text);
    if written.len() <= NAME_LIMIT || !piece.closed {
        return None;
    }
    let name = match piece.kind {
        Kind::Word => written.to_ascii_lowercase(),
        Kind::Name => written[1..written.len() - 1].replace("\"\"", "\""),
        _ => return None,
    };
    (name.len() > NAME_LIMIT).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::plain;

    #[test]
    fn names_are_cut_at_a_characters_end() {
        assert_eq!(cut("abc", 2), "ab");
        assert_eq!(cut("äöü", 3), "ä");
        assert_eq!(cut("abc", 9), "abc");
    }

    #[test]
    fn long_names_of_a_text_are_cut() {
        let (word, quoted) = ("Ab".repeat(40), format!("{}\"\"y", "x".repeat(62)));
        let text = format!("SELECT {word} AS \"{quoted}\", '{word}'");
        let kept = format!("SELECT {}", cut(&word.to_lowercase(), 63));
        let plain = plain(&text).expect("it is plain");
        assert!(plain.starts_with(&kept), "{plain}");
        assert!(plain.contains(&format!("\"{}\"\"\"", "x".repeat(62))), "{plain}");
        assert!(plain.contains(&format!("'{word}'")), "{plain}");
        assert_eq!(plain.chars().count(), text.chars().count());
    }
}
