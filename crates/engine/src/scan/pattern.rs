//! LIKE patterns, taken apart once per batch.

use memchr::memmem;

use crate::transaction::like;

/// A LIKE pattern whose escapes are in order.
#[derive(Clone, Debug)]
pub struct Pattern {
    shape: PatternShape,
    /// Of a general shape, where `%` is its only wildcard.
    sequence: Option<Sequence>,
    text: Box<str>,
    negated: bool,
    folded: bool,
}

/// What a pattern asks. Literals have their escapes resolved, and are in lower case for ILIKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternShape {
    /// `%`
    Anything,
    /// no wildcard
    Exact(Box<[u8]>),
    /// `x%`
    Prefix(Box<[u8]>),
    /// `%x`
    Suffix(Box<[u8]>),
    /// `%x%`
    Contains(Box<[u8]>),
    /// Anything else; the longest literal in it, which may be empty.
    General(Box<[u8]>),
}

/// A pattern of literals with `%` between them: each is looked for behind the one before it, leftmost first. A later
/// place of an earlier literal never helps.
#[derive(Clone, Debug)]
struct Sequence {
    /// What the text begins with.
    start: Box<[u8]>,
    /// In between.
    inner: Vec<memmem::Finder<'static>>,
    /// What the text ends with.
    end: Box<[u8]>,
}

impl Sequence {
    /// `None` for patterns with `_`, and for those without `%`.
    fn new(elements: &[Element]) -> Option<Sequence> {
        if elements.contains(&Element::AnyCharacter) || !elements.contains(&Element::AnyRun) {
            return None;
        }
        // Literals and `%` take turns, so every literal but the first and the last element has a `%` on both sides.
        let literal = |element: Option<&Element>| -> Box<[u8]> {
            match element {
                Some(Element::Literal(text)) => text.as_slice().into(),
                _ => Box::default(),
            }
        };
        let inner = elements[1..elements.len() - 1].iter().filter_map(|element| match element {
            Element::Literal(text) => Some(memmem::Finder::new(text).into_owned()),
            _ => None,
        });
        Some(Sequence {
            start: literal(elements.first()),
            inner: inner.collect(),
            end: literal(elements.last()),
        })
    }

    fn matches(&self, text: &[u8]) -> bool {
        // No comparison with nothing: some libraries' `memcmp` takes long over an empty slice's address.
        let start_fits = self.start.is_empty() || text.starts_with(&self.start);
        if !start_fits || text.len() < self.start.len() + self.end.len() {
            return false;
        }
        if !self.end.is_empty() && !text.ends_with(&self.end) {
            return false;
        }
        let mut rest = &text[self.start.len()..text.len() - self.end.len()];
        for finder in &self.inner {
            let Some(at) = finder.find(rest) else { return false };
            rest = &rest[at + finder.needle().len()..];
        }
        true
    }
}

impl Pattern {
    /// `None` if the pattern ends inside an escape: whether that is an error depends on the rows it meets.
    pub fn new(pattern: &str, negated: bool, case_insensitive: bool) -> Option<Pattern> {
        let text: Box<str> = match case_insensitive {
            true => pattern.to_lowercase().into(),
            false => pattern.into(),
        };
        let elements = elements(text.as_bytes())?;
        let shape = shape(&elements);
        let general = matches!(shape, PatternShape::General(_));
        let sequence = general.then(|| Sequence::new(&elements)).flatten();
        Some(Pattern { shape, sequence, text, negated, folded: case_insensitive })
    }

    /// What it asks.
    pub fn shape(&self) -> &PatternShape {
        &self.shape
    }

    /// NOT LIKE
    pub fn negated(&self) -> bool {
        self.negated
    }

    /// ILIKE: the text to match must be in lower case.
    pub fn folded(&self) -> bool {
        self.folded
    }

    /// A literal that every matching text contains; empty if there is none.
    pub fn literal(&self) -> &[u8] {
        match &self.shape {
            PatternShape::Anything => &[],
            PatternShape::Exact(literal)
            | PatternShape::Prefix(literal)
            | PatternShape::Suffix(literal)
            | PatternShape::Contains(literal)
            | PatternShape::General(literal) => literal,
        }
    }

    /// Whether containing the literal is all that is asked.
    pub fn is_contains(&self) -> bool {
        matches!(self.shape, PatternShape::Contains(_))
    }

    /// Whether `text`, in lower case for ILIKE, matches; NOT is not applied.
    pub fn matches(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        match &self.shape {
            PatternShape::Anything => true,
            PatternShape::Exact(literal) => bytes == &**literal,
            PatternShape::Prefix(literal) => bytes.starts_with(literal),
            PatternShape::Suffix(literal) => bytes.ends_with(literal),
            PatternShape::Contains(literal) => memmem::find(bytes, literal).is_some(),
            PatternShape::General(_) => match &self.sequence {
                Some(sequence) => sequence.matches(bytes),
                None => {
                    like(text, &self.text, false).expect("escapes were checked when it was made")
                }
            },
        }
    }

    /// Whether a text of the column qualifies: folds it for ILIKE and applies NOT.
    pub fn accepts(&self, text: &str) -> bool {
        let matches = match self.folded {
            true => self.matches(&text.to_lowercase()),
            false => self.matches(text),
        };
        matches != self.negated
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Element {
    Literal(Vec<u8>),
    AnyCharacter,
    AnyRun,
}

fn elements(pattern: &[u8]) -> Option<Vec<Element>> {
    let mut elements = Vec::new();
    let mut bytes = pattern.iter();
    while let Some(&byte) = bytes.next() {
        let literal = match byte {
            b'%' => {
                if elements.last() != Some(&Element::AnyRun) {
                    elements.push(Element::AnyRun);
                }
                continue;
            }
            b'_' => {
                elements.push(Element::AnyCharacter);
                continue;
            }
            b'\\' => *bytes.next()?,
            literal => literal,
        };
        match elements.last_mut() {
            Some(Element::Literal(run)) => run.push(literal),
            _ => elements.push(Element::Literal(vec![literal])),
        }
    }
    Some(elements)
}

fn shape(elements: &[Element]) -> PatternShape {
    use Element::{AnyRun, Literal};
    match elements {
        [] => PatternShape::Exact(Box::default()),
        [AnyRun] => PatternShape::Anything,
        [Literal(text)] => PatternShape::Exact(text.as_slice().into()),
        [Literal(text), AnyRun] => PatternShape::Prefix(text.as_slice().into()),
        [AnyRun, Literal(text)] => PatternShape::Suffix(text.as_slice().into()),
        [AnyRun, Literal(text), AnyRun] => PatternShape::Contains(text.as_slice().into()),
        _ => {
            let literals = elements.iter().filter_map(|element| match element {
                Literal(text) => Some(text.as_slice()),
                _ => None,
            });
            PatternShape::General(literals.max_by_key(|text| text.len()).unwrap_or_default().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shapes_are_recognised() {
        let shape = |text: &str| Pattern::new(text, false, false).map(|p| p.shape().clone());
        assert_eq!(shape("%ab%"), Some(PatternShape::Contains((*b"ab").into())));
        assert_eq!(shape("a\\%b%"), Some(PatternShape::Prefix((*b"a%b").into())));
        assert_eq!(shape("%%"), Some(PatternShape::Anything));
        assert_eq!(shape("a%bcd_"), Some(PatternShape::General((*b"bcd").into())));
        assert_eq!(shape("ab\\"), None);
    }

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn patterns_match_as_like_does(
            pattern in "[ab%_\\\\é]{0,8}", text in "[abé%A]{0,6}", fold in any::<bool>(), not in any::<bool>()
        ) {
            if let Some(compiled) = Pattern::new(&pattern, not, fold) {
                prop_assert_eq!(Ok(compiled.accepts(&text) != not), like(&text, &pattern, fold));
                let folded = if fold { text.to_lowercase() } else { text };
                let found = memmem::find(folded.as_bytes(), compiled.literal()).is_some();
                prop_assert!(found || !compiled.matches(&folded));
            }
        }
    }
}
