//! Looks ahead and behind, each asked once for a place.

use std::collections::HashMap;

use super::expression::Id;
use super::run::Run;
use crate::error::Result;

/// What an answer costs in steps, so that their memory is bounded.
const KEPT: usize = 16;

/// What a search has looked at.
#[derive(Debug, Default)]
pub(super) struct Looks {
    ahead: HashMap<(Id, usize), bool>,
    /// Where matches end.
    behind: HashMap<Id, Vec<bool>>,
}

impl Looks {
    /// Another match is looked for in the same text. Where matches end is known by its length in bytes, so that is kept.
    pub(super) fn begin(&mut self) {
        self.ahead.clear();
    }
}

impl Run<'_> {
    /// Whether a match begins at a place.
    pub(super) fn is_ahead(&mut self, body: Id, at: usize) -> Result<bool> {
        if let Some(answer) = self.looks.ahead.get(&(body, at)) {
            return Ok(*answer);
        }
        self.spend(KEPT)?;
        let end = self.shortest(body, at, at, self.text.letters.len())?;
        self.looks.ahead.insert((body, at), end.is_some());
        Ok(end.is_some())
    }

    /// Whether a match ends at a place.
    pub(super) fn is_behind(&mut self, body: Id, at: usize) -> Result<bool> {
        if !self.looks.behind.contains_key(&body) {
            self.spend(self.text.letters.len() * KEPT)?;
            let mut ends = vec![false; self.text.letters.len() + 1];
            self.ends(body, |at| ends[at] = true)?;
            self.looks.behind.insert(body, ends);
        }
        Ok(self.looks.behind[&body][at])
    }
}
