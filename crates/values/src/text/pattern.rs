//! Patterns of LIKE that are used again and again.

use super::like;
use crate::error::Result;

/// A pattern, looked at once: many are but a text with `%` at its ends.
#[derive(Clone, Debug)]
pub struct Pattern {
    kind: Kind,
    /// The text between, or the whole pattern.
    text: Box<str>,
    finder: memchr::memmem::Finder<'static>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Equals,
    Starts,
    Ends,
    Contains,
    Other,
}

impl Pattern {
    /// Looks at a pattern.
    pub fn new(pattern: &str) -> Self {
        let start = pattern.strip_prefix('%');
        let (inner, end) = match start.unwrap_or(pattern).strip_suffix('%') {
            Some(inner) => (inner, true),
            None => (start.unwrap_or(pattern), false),
        };
        let kind = match (start.is_some(), end) {
            _ if inner.contains(['%', '_', '\\']) => Kind::Other,
            (false, false) => Kind::Equals,
            (false, true) => Kind::Starts,
            (true, false) => Kind::Ends,
            (true, true) => Kind::Contains,
        };
        let text = if kind == Kind::Other { pattern } else { inner };
        let finder = memchr::memmem::Finder::new(text.as_bytes()).into_owned();
        Self { kind, text: text.into(), finder }
    }

    /// Whether a text matches, as `is_like` says.
    ///
    /// # Errors
    /// 22025 when matching reaches a `\` that ends the pattern.
    #[inline]
    pub fn matches(&self, text: &str) -> Result<bool> {
        let (text, own) = (text.as_bytes(), self.text.as_bytes());
        Ok(match self.kind {
            Kind::Equals => text == own,
            Kind::Starts => text.starts_with(own),
            Kind::Ends => text.ends_with(own),
            Kind::Contains => self.finder.find(text).is_some(),
            Kind::Other => return like::is_like_text(text, own),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_say_what_like_says() {
        let texts = ["", "a", "ab", "abc", "%", "bab", "a%", "äb", "\\"];
        let patterns =
            ["", "%", "%%", "a%", "%b", "%a%", "a", "a_", "_%", "a%c", "\\%", "%\\%", "a\\", "ä%"];
        for text in texts {
            for pattern in patterns {
                let said = Pattern::new(pattern).matches(text);
                assert_eq!(said, like::is_like(text, pattern), "{text} like {pattern}");
            }
        }
    }
}
