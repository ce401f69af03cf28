//! What running an automaton has found out, kept for the next time: which states follow which.

use std::collections::HashMap;

/// The most entries of a table of followers; beyond it, the table begins anew.
const MOST_ENTRIES: usize = 1 << 18;
/// Beyond so many classes of characters, nothing is kept.
const MOST_CLASSES: usize = 512;

/// What stood before a place, as far as conditions on places tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// The text's end.
    Edge,
    Newline,
    Word,
    Other,
}

/// Places of an automaton that a text has led to, and what stood before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stand {
    /// In order.
    pub(super) places: Box<[u32]>,
    pub(super) before: Side,
}

/// What follows a stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Whether a match ends before the character.
    pub(super) accepts: bool,
    /// Behind the character.
    pub(super) next: u32,
}

const UNKNOWN: u32 = u32::MAX;

/// Stands by number, and what follows each.
#[derive(Debug, Default)]
pub(super) struct Memory {
    stands: Vec<Stand>,
    numbers: HashMap<Stand, u32>,
    /// By stand and class of the character, with a last one for the end: the next stand times two, plus one where a match ends before it.
    steps: Vec<u32>,
    width: usize,
    /// Entries of the table, and places of the stands.
    size: usize,
    /// How often everything was forgotten.
    pub(super) forgotten: u32,
}

impl Memory {
    /// For so many classes of characters.
    pub(super) fn new(classes: usize) -> Self {
        Self { width: if classes > MOST_CLASSES { 0 } else { classes + 1 }, ..Self::default() }
    }

    pub(super) fn stand(&self, number: u32) -> &Stand {
        &self.stands[number as usize]
    }

    /// A stand's number. Where there are too many, all are forgotten: numbers given before mean nothing any more.
    pub(super) fn number(&mut self, stand: Stand) -> u32 {
        if let Some(number) = self.numbers.get(&stand) {
            return *number;
        }
        if self.size > MOST_ENTRIES {
            self.stands.clear();
            self.numbers.clear();
            self.steps.clear();
            self.size = 0;
            self.forgotten += 1;
        }
        self.size += self.width + stand.places.len();
        let number = self.stands.len() as u32;
        self.stands.push(stand.clone());
        self.numbers.insert(stand, number);
        self.steps.resize(self.steps.len() + self.width, UNKNOWN);
        number
    }

    /// What follows a stand with a class of characters, if it is known.
    pub(super) fn step(&self, stand: u32, class: u32) -> Option<Step> {
        let entry = *self.steps.get(stand as usize * self.width + class as usize)?;
        (self.width > 0 && entry != UNKNOWN)
            .then_some(Step { accepts: entry & 1 == 1, next: entry >> 1 })
    }

    pub(super) fn keep(&mut self, stand: u32, class: u32, step: Step) {
        if self.width > 0 {
            let entry = &mut self.steps[stand as usize * self.width + class as usize];
            *entry = step.next * 2 + u32::from(step.accepts);
        }
    }
}
