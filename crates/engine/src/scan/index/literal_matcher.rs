//! Which of a batch's literals a text contains: one pass for all of them.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::memmem;

use super::gram_table::GramTable;

/// Up to so many literals one vectorised search each is fastest, run over all texts of a chunk at once.
const FEW: usize = 8;
const LONG: usize = 8;
const MEDIUM: usize = 4;

/// Distinct literals, none of them empty.
#[derive(Debug)]
pub struct LiteralMatcher {
    literals: Vec<Box<[u8]>>,
    search: Search,
}

#[derive(Debug)]
enum Search {
    /// Each on its own.
    Few(Vec<memmem::Finder<'static>>),
    /// By length: two gram tables, and an automaton for what is too short for them.
    Many {
        long: GramTable<LONG>,
        medium: GramTable<MEDIUM>,
        short: Option<(AhoCorasick, Vec<u32>)>,
    },
}

impl LiteralMatcher {
    /// A matcher for these literals.
    pub fn new(literals: Vec<Box<[u8]>>) -> LiteralMatcher {
        debug_assert!(literals.iter().all(|literal| !literal.is_empty()));
        let search = match literals.len() {
            0..=FEW => {
                Search::Few(literals.iter().map(|l| memmem::Finder::new(l).into_owned()).collect())
            }
            _ => many(&literals),
        };
        LiteralMatcher { literals, search }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.literals.len()
    }

    /// A search per literal, where that is the fastest way through many texts in one run.
    pub fn few(&self) -> Option<&[memmem::Finder<'static>]> {
        match &self.search {
            Search::Few(finders) => Some(finders),
            Search::Many { .. } => None,
        }
    }

    /// Calls `visit` with the number of every literal that `text` contains; it may come several times.
    #[inline]
    pub fn for_each(&self, text: &[u8], mut visit: impl FnMut(u32)) {
        match &self.search {
            Search::Few(finders) => {
                for (number, finder) in finders.iter().enumerate() {
                    if finder.find(text).is_some() {
                        visit(number as u32);
                    }
                }
            }
            Search::Many { long, medium, short } => {
                long.for_each(&self.literals, text, &mut visit);
                medium.for_each(&self.literals, text, &mut visit);
                if let Some((automaton, numbers)) = short {
                    let found = automaton.find_overlapping_iter(text);
                    found.for_each(|found| visit(numbers[found.pattern().as_usize()]));
                }
            }
        }
    }
}

fn many(literals: &[Box<[u8]>]) -> Search {
    let of_length = |lengths: std::ops::Range<usize>| -> Vec<u32> {
        let numbers = 0..literals.len() as u32;
        numbers.filter(|&number| lengths.contains(&literals[number as usize].len())).collect()
    };
    let short = of_length(0..MEDIUM);
    let automaton = (!short.is_empty()).then(|| {
        let patterns = short.iter().map(|&number| &literals[number as usize]);
        // Literals of up to three bytes make so few states that the fastest form stays small.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(patterns)
            .expect("short literals make a small automaton");
        (automaton, short.clone())
    });
    Search::Many {
        long: GramTable::new(literals, &of_length(LONG..usize::MAX)),
        medium: GramTable::new(literals, &of_length(MEDIUM..LONG)),
        short: automaton,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn finds_exactly_the_literals_contained(
            literals in prop::collection::btree_set("[ab]{1,3}|[abc]{4,7}|[ab]{8,12}", 0..60),
            text in "[abc]{0,40}",
        ) {
            let literals: Vec<String> = literals.into_iter().collect();
            let boxed = literals.iter().map(|text| text.as_bytes().into()).collect();
            let matcher = LiteralMatcher::new(boxed);
            let mut found = BTreeSet::new();
            matcher.for_each(text.as_bytes(), |number| {
                found.insert(number as usize);
            });
            let contained = |&number: &usize| text.contains(&literals[number]);
            let expected: BTreeSet<usize> = (0..literals.len()).filter(contained).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
