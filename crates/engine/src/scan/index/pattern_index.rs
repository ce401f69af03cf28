//! The index over LIKE patterns: one pass over a text finds all patterns of the batch that match it.

use std::cell::RefCell;
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use memchr::memmem;

use super::super::column_kernel::for_each_containing;
use super::super::pattern::Pattern;
use super::super::rows::Rows;
use super::literal_matcher::LiteralMatcher;
use crate::query_set::{SetId, SetTable, words};
use crate::storage::{ColumnSlice, Dictionary, Strings, each_width};
use crate::types::Slot;

/// LIKE patterns of many slots on one column, at most one per slot.
#[derive(Debug)]
pub struct PatternIndex {
    patterns: Vec<(Slot, Pattern)>,
    exact: Literals,
    folded: Literals,
    /// Patterns without any literal, asked of every text.
    unfiled: Vec<u32>,
    /// Where no pattern matches: slots without a pattern, and those with NOT LIKE.
    base: SetId,
    base_words: Box<[u64]>,
    nulls: SetId,
    codes: OnceLock<Vec<SetId>>,
}

/// Distinct literals, and the patterns that have each as their longest.
#[derive(Debug)]
struct Literals {
    matcher: LiteralMatcher,
    patterns: Vec<Vec<u32>>,
}

/// What a probe writes into; kept between texts.
#[derive(Debug, Default)]
struct Scratch {
    /// The matching set under construction.
    set: Vec<u64>,
    /// Literals seen in the current text.
    seen: Vec<u32>,
}

impl PatternIndex {
    /// `others` are the slots without a pattern on the column.
    pub fn new(patterns: Vec<(Slot, Pattern)>, others: &[u64], table: &SetTable) -> PatternIndex {
        let mut base: Box<[u64]> = others.into();
        for (slot, pattern) in &patterns {
            if pattern.negated() {
                words::insert(&mut base, *slot);
            }
        }
        let numbers = 0..patterns.len() as u32;
        let unfiled = |number: &u32| patterns[*number as usize].1.literal().is_empty();
        PatternIndex {
            exact: Literals::new(&patterns, false),
            folded: Literals::new(&patterns, true),
            unfiled: numbers.filter(unfiled).collect(),
            base: table.intern(&base),
            base_words: base,
            nulls: table.intern(others),
            codes: OnceLock::new(),
            patterns,
        }
    }

    /// The set for NULL.
    pub fn nulls(&self) -> SetId {
        self.nulls
    }

    /// The set for a text.
    pub fn find(&self, text: &str, table: &SetTable) -> SetId {
        thread_local! {
            static SCRATCH: RefCell<Scratch> = RefCell::default();
        }
        SCRATCH.with_borrow_mut(|scratch| self.find_with(text, table, scratch))
    }

    /// Appends the set of each row, taking NULL for any text.
    pub fn probe(
        &self,
        column: &ColumnSlice<'_>,
        rows: Rows<'_>,
        table: &SetTable,
        out: &mut Vec<SetId>,
    ) {
        out.reserve(rows.len());
        match column {
            ColumnSlice::Codes(codes, dictionary, _) => {
                let sets = self.codes.get_or_init(|| self.evaluate(dictionary, table));
                each_width!(*codes, codes => {
                    rows.for_each(|row| out.push(sets[codes[row] as usize]));
                });
            }
            ColumnSlice::Strings(strings, _) => {
                if let Some(finders) = self.few().filter(|_| rows.is_dense()) {
                    return self.probe_in_one_run(strings, rows, finders, table, out);
                }
                let mut scratch = Scratch::default();
                rows.for_each(|row| {
                    out.push(self.find_with(strings.text(row), table, &mut scratch));
                });
            }
            other => unreachable!("{other:?} holds no text"),
        }
    }

    /// The searches of few literals, where nothing else is asked.
    fn few(&self) -> Option<&[memmem::Finder<'static>]> {
        let nothing_else = self.unfiled.is_empty() && self.folded.matcher.len() == 0;
        if nothing_else { self.exact.matcher.few() } else { None }
    }

    /// Searches the texts of a chunk literal by literal.
    fn probe_in_one_run(
        &self,
        strings: &Strings<'_>,
        rows: Rows<'_>,
        finders: &[memmem::Finder<'static>],
        table: &SetTable,
        out: &mut Vec<SetId>,
    ) {
        let mut found: Vec<(u32, u32)> = Vec::new();
        for (literal, finder) in finders.iter().enumerate() {
            for_each_containing(strings, finder, rows, |at| {
                found.push((at as u32, literal as u32))
            });
        }
        let start = out.len();
        out.resize(start + rows.len(), self.base);
        let text = |at: usize| strings.text(rows.offset(at));
        self.put_matches(found, text, table, &mut out[start..]);
    }

    /// Turns pairs of a text's position and a literal that it contains into sets.
    fn put_matches<'t>(
        &self,
        mut found: Vec<(u32, u32)>,
        text: impl Fn(usize) -> &'t str,
        table: &SetTable,
        out: &mut [SetId],
    ) {
        found.sort_unstable();
        let mut scratch = Scratch::default();
        for hits in found.chunk_by(|a, b| a.0 == b.0) {
            let at = hits[0].0 as usize;
            let mut changed = false;
            for (_, literal) in hits {
                self.match_literal(*literal, &self.exact, text(at), &mut scratch, &mut changed);
            }
            if changed {
                out[at] = table.intern(&scratch.set);
            }
        }
    }

    fn evaluate(&self, dictionary: &Dictionary, table: &SetTable) -> Vec<SetId> {
        if let Some(finders) = self.few() {
            return self.evaluate_in_one_run(dictionary, finders, table);
        }
        let mut scratch = Scratch::default();
        let codes = 0..dictionary.len() as u32;
        codes.map(|code| self.find_with(dictionary.get(code), table, &mut scratch)).collect()
    }

    fn evaluate_in_one_run(
        &self,
        dictionary: &Dictionary,
        finders: &[memmem::Finder<'static>],
        table: &SetTable,
    ) -> Vec<SetId> {
        let (mut found, codes) = (Vec::new(), dictionary.len());
        for (literal, finder) in finders.iter().enumerate() {
            let search = |text: &[u8]| finder.find(text);
            dictionary.for_each_containing(codes, finder.needle().len(), search, |code| {
                found.push((code, literal as u32));
            });
        }
        let mut sets = vec![self.base; codes];
        self.put_matches(found, |code| dictionary.get(code as u32), table, &mut sets);
        sets
    }

    fn find_with(&self, text: &str, table: &SetTable, scratch: &mut Scratch) -> SetId {
        let mut changed = false;
        self.find_among(&self.exact, text, scratch, &mut changed);
        if self.folded.matcher.len() > 0 {
            self.find_among(&self.folded, &text.to_lowercase(), scratch, &mut changed);
        }
        for &number in &self.unfiled {
            let (_, pattern) = &self.patterns[number as usize];
            if pattern.accepts(text) != pattern.negated() {
                self.set_matched(number, scratch, &mut changed);
            }
        }
        if changed { table.intern(&scratch.set) } else { self.base }
    }

    #[inline]
    fn find_among(
        &self,
        literals: &Literals,
        text: &str,
        scratch: &mut Scratch,
        changed: &mut bool,
    ) {
        scratch.seen.clear();
        literals.matcher.for_each(text.as_bytes(), |literal| {
            if scratch.seen.contains(&literal) {
                return;
            }
            scratch.seen.push(literal);
            self.match_literal(literal, literals, text, scratch, changed);
        });
    }

    /// A text contains a literal: asks the patterns that are filed under it.
    fn match_literal(
        &self,
        literal: u32,
        literals: &Literals,
        text: &str,
        scratch: &mut Scratch,
        changed: &mut bool,
    ) {
        for &number in &literals.patterns[literal as usize] {
            let (_, pattern) = &self.patterns[number as usize];
            if pattern.is_contains() || pattern.matches(text) {
                self.set_matched(number, scratch, changed);
            }
        }
    }

    fn set_matched(&self, number: u32, scratch: &mut Scratch, changed: &mut bool) {
        if !*changed {
            scratch.set.clear();
            scratch.set.extend_from_slice(&self.base_words);
            *changed = true;
        }
        let (slot, pattern) = &self.patterns[number as usize];
        match pattern.negated() {
            true => words::remove(&mut scratch.set, *slot),
            false => words::insert(&mut scratch.set, *slot),
        }
    }
}

impl Literals {
    fn new(patterns: &[(Slot, Pattern)], folded: bool) -> Literals {
        let mut numbers: HashMap<&[u8], usize, FixedState> = HashMap::default();
        let (mut literals, mut users) = (Vec::<Box<[u8]>>::new(), Vec::<Vec<u32>>::new());
        for (number, (_, pattern)) in patterns.iter().enumerate() {
            if pattern.folded() != folded || pattern.literal().is_empty() {
                continue;
            }
            let literal = *numbers.entry(pattern.literal()).or_insert_with(|| {
                literals.push(pattern.literal().into());
                users.push(Vec::new());
                literals.len() - 1
            });
            users[literal].push(number as u32);
        }
        Literals { matcher: LiteralMatcher::new(literals), patterns: users }
    }
}
