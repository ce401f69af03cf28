//! Matches cut into their parts: each takes what it prefers of what the parts before it have left.

use super::MOST_DEPTH;
use super::fault::too_large;
use super::find::Match;
use super::run::Run;
use super::tree::{Kind, Part, PartId};
use crate::error::Result;

/// A search with what its groups match.
pub(super) struct Dissection<'r> {
    run: Run<'r>,
    /// What the groups match, by number.
    groups: Match,
    depth: usize,
}

/// The repetitions of a part within a match of all of them.
struct Repetitions {
    child: PartId,
    least: usize,
    most: usize,
    /// Where each ends; the first is where all begin.
    ends: Vec<usize>,
    end: usize,
    /// How many are known to be cut as they should.
    verified: usize,
}

impl<'r> Dissection<'r> {
    pub(super) fn new(run: Run<'r>, groups: usize) -> Self {
        Self { run, groups: vec![None; groups + 1], depth: 0 }
    }

    fn part(&self, id: PartId) -> &'r Part {
        &self.run.program.parts[id as usize]
    }

    /// The first match that begins at a place or behind it.
    pub(super) fn find(&mut self, from: usize) -> Result<Option<Match>> {
        if from > self.run.text.letters.len() {
            return Ok(None);
        }
        self.run.begin();
        self.groups.fill(None);
        let found = self.first(from)?;
        Ok(found.map(|whole| {
            self.groups[0] = Some(whole);
            self.groups.clone()
        }))
    }

    /// Its place; its groups are in `groups`.
    fn first(&mut self, from: usize) -> Result<Option<(usize, usize)>> {
        let root = self.run.program.root;
        let expression = self.part(root).expression;
        let mut from = from;
        while let Some((cold, close)) = self.run.earliest(expression, from)? {
            for begin in cold..=close {
                if let Some(end) = self.at(root, begin)? {
                    return Ok(Some((begin, end)));
                }
            }
            // Only back references make a match fail that an automaton takes for one. Then PostgreSQL does not look at the text's end.
            from = close + 1;
            if from >= self.run.text.letters.len() {
                break;
            }
        }
        Ok(None)
    }

    /// Where a match that begins at a place ends.
    fn at(&mut self, root: PartId, begin: usize) -> Result<Option<usize>> {
        let part = self.part(root);
        let (mut least, mut stop) = (begin, self.run.text.letters.len());
        loop {
            let end = if part.traits.is_short {
                self.run.shortest(part.expression, begin, least, stop)?
            } else {
                self.run.longest(part.expression, begin, stop)?
            };
            let Some(end) = end else { return Ok(None) };
            self.groups.fill(None);
            if self.cut(root, begin, end)? {
                return Ok(Some(end));
            }
            if part.traits.is_short {
                least = end + 1;
            } else if end == begin {
                return Ok(None);
            } else {
                stop = end - 1;
            }
            if least > stop {
                return Ok(None);
            }
        }
    }

    /// Cuts a match of a part, which its automaton takes for one; false where it is none.
    fn cut(&mut self, id: PartId, begin: usize, end: usize) -> Result<bool> {
        self.depth += 1;
        if self.depth > 8 * MOST_DEPTH {
            return Err(too_large());
        }
        self.run.spend(1)?;
        let part = self.part(id);
        let is_cut = match &part.kind {
            Kind::Plain => true,
            Kind::Reference { group, least, most } => {
                self.is_repeated(*group, (*least, *most), begin, end)?
            }
            Kind::Sequence(..) => self.cut_sequence(part, begin, end)?,
            Kind::Either(list) => self.cut_either(list, begin, end)?,
            Kind::Repeat(child, least, most) => {
                let most = most.map_or(usize::MAX, |most| most as usize);
                self.cut_repeat(*child, *least as usize, most, begin, end)?
            }
            Kind::Group(child) => self.cut(*child, begin, end)?,
        };
        self.depth -= 1;
        if is_cut && part.group != 0 {
            self.groups[part.group as usize] = Some((begin, end));
        }
        Ok(is_cut)
    }

    fn forget(&mut self, id: PartId) {
        let (first, end) = self.part(id).groups;
        self.groups[first as usize..end as usize].fill(None);
    }

    fn is_repeated(
        &mut self,
        group: u32,
        (least, most): (u32, Option<u32>),
        begin: usize,
        end: usize,
    ) -> Result<bool> {
        let Some((from, to)) = self.groups[group as usize] else {
            return Ok(false);
        };
        self.run.spend(end - begin)?;
        let (length, whole) = (to - from, end - begin);
        if length == 0 {
            return Ok(whole == 0);
        }
        if whole == 0 {
            return Ok(least == 0);
        }
        let count = whole / length;
        let is_allowed = whole.is_multiple_of(length)
            && count >= least as usize
            && most.is_none_or(|most| count <= most as usize);
        let is_any_case = self.run.program.is_any_case;
        let letters = self.run.text.letters;
        let is_same = |(a, b): (&char, &char)| a == b || (is_any_case && a.eq_ignore_ascii_case(b));
        let parts = &mut letters[begin..end].chunks(length);
        Ok(is_allowed && parts.all(|part| part.iter().zip(&letters[from..to]).all(is_same)))
    }

    /// Cuts a sequence, and those that its last parts are. Without back references the first cut that the automata take is one.
    fn cut_sequence(&mut self, part: &'r Part, begin: usize, end: usize) -> Result<bool> {
        let (mut part, mut begin) = (part, begin);
        while let Kind::Sequence(left, right) = part.kind {
            if part.traits.refers {
                return self.cut_at_some_place(left, right, begin, end);
            }
            let Some(middle) = self.middle(left, right, begin, end, None)? else {
                return Ok(false);
            };
            if !self.cut(left, begin, middle)? {
                return Ok(false);
            }
            let behind = self.part(right);
            if behind.group != 0 || !matches!(behind.kind, Kind::Sequence(..)) {
                return self.cut(right, middle, end);
            }
            (part, begin) = (behind, middle);
        }
        unreachable!("a sequence ends with another part")
    }

    fn cut_at_some_place(
        &mut self,
        left: PartId,
        right: PartId,
        begin: usize,
        end: usize,
    ) -> Result<bool> {
        let mut before = None;
        while let Some(middle) = self.middle(left, right, begin, end, before)? {
            if self.cut(left, begin, middle)? {
                if self.cut(right, middle, end)? {
                    return Ok(true);
                }
                self.forget(left);
            }
            before = Some(middle);
        }
        Ok(false)
    }

    /// The place between two parts that the first prefers, behind one that was tried before.
    fn middle(
        &mut self,
        left: PartId,
        right: PartId,
        begin: usize,
        end: usize,
        before: Option<usize>,
    ) -> Result<Option<usize>> {
        let (left, right) = (self.part(left), self.part(right));
        let mut before = before;
        loop {
            let middle = match (left.traits.is_short, before) {
                (true, Some(before)) if before == end => None,
                (true, before) => {
                    let least = before.map_or(begin, |before| before + 1);
                    self.run.shortest(left.expression, begin, least, end)?
                }
                (false, Some(before)) if before == begin => None,
                (false, before) => {
                    let stop = before.map_or(end, |before| before - 1);
                    self.run.longest(left.expression, begin, stop)?
                }
            };
            let Some(middle) = middle else {
                return Ok(None);
            };
            if self.run.longest(right.expression, middle, end)? == Some(end) {
                return Ok(Some(middle));
            }
            before = Some(middle);
        }
    }

    fn cut_either(&mut self, list: &'r [PartId], begin: usize, end: usize) -> Result<bool> {
        for branch in list {
            let expression = self.part(*branch).expression;
            if self.run.longest(expression, begin, end)? == Some(end)
                && self.cut(*branch, begin, end)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn cut_repeat(
        &mut self,
        child: PartId,
        least: usize,
        most: usize,
        begin: usize,
        end: usize,
    ) -> Result<bool> {
        let may_be_none = least == 0 && begin == end;
        let is_short = self.part(child).traits.is_short;
        if may_be_none && is_short {
            return Ok(true);
        }
        let least = least.max(1);
        let most = (end - begin).min(most).max(least);
        let mut repetitions =
            Repetitions { child, least, most, ends: vec![begin], end, verified: 0 };
        let is_cut = if is_short {
            self.shortest_first(&mut repetitions)?
        } else {
            self.longest_first(&mut repetitions)?
        };
        if !is_cut {
            self.forget(child);
        }
        Ok(is_cut || may_be_none)
    }

    /// Whether all repetitions are cut as they should; else how many are worth keeping.
    fn verify(&mut self, repetitions: &mut Repetitions) -> Result<Option<usize>> {
        let count = repetitions.ends.len() - 1;
        for i in repetitions.verified + 1..=count {
            self.forget(repetitions.child);
            let (begin, end) = (repetitions.ends[i - 1], repetitions.ends[i]);
            if !self.cut(repetitions.child, begin, end)? {
                return Ok(Some(i));
            }
            repetitions.verified = i;
        }
        Ok(None)
    }

    fn longest_first(&mut self, all: &mut Repetitions) -> Result<bool> {
        let expression = self.part(all.child).expression;
        let mut limit = all.end;
        loop {
            let begin = all.ends[all.ends.len() - 1];
            let mut kept = all.ends.len();
            match self.run.longest(expression, begin, limit)? {
                None => kept -= 1,
                Some(end) => {
                    all.ends.push(end);
                    all.verified = all.verified.min(kept - 1);
                    if end != all.end {
                        let is_empty =
                            end == begin && (kept >= all.least || all.least - kept < all.end - end);
                        if kept >= all.most {
                            kept -= 1;
                        } else if !is_empty {
                            limit = all.end;
                            continue;
                        }
                    } else if kept >= all.least {
                        match self.verify(all)? {
                            None => return Ok(true),
                            Some(failed) => kept = failed,
                        }
                    }
                }
            }
            match all.shorten(kept) {
                Some(next) => limit = next,
                None => return Ok(false),
            }
        }
    }

    fn shortest_first(&mut self, all: &mut Repetitions) -> Result<bool> {
        let expression = self.part(all.child).expression;
        let mut limit = all.ends[0];
        loop {
            let begin = all.ends[all.ends.len() - 1];
            let mut kept = all.ends.len();
            if limit == begin
                && limit != all.end
                && (kept >= all.least || all.least - kept < all.end - limit)
            {
                limit += 1;
            }
            if kept >= all.most {
                limit = all.end;
            }
            match self.run.shortest(expression, begin, limit, all.end)? {
                None => kept -= 1,
                Some(end) => {
                    all.ends.push(end);
                    all.verified = all.verified.min(kept - 1);
                    if end != all.end {
                        if kept < all.most {
                            limit = end;
                            continue;
                        }
                        kept -= 1;
                    } else if kept >= all.least {
                        match self.verify(all)? {
                            None => return Ok(true),
                            Some(failed) => kept = failed,
                        }
                    }
                }
            }
            match all.lengthen(kept) {
                Some(next) => limit = next,
                None => return Ok(false),
            }
        }
    }
}

impl Repetitions {
    /// Drops the last of the first `kept` repetitions that can be shorter, and those behind; gives where it may end at most.
    fn shorten(&mut self, kept: usize) -> Option<usize> {
        let mut kept = kept;
        while kept > 0 {
            let before = self.ends[kept - 1];
            if self.ends[kept] > before {
                let limit = self.ends[kept] - 1;
                let is_needed = kept < self.least && self.least - kept >= self.end - before;
                if limit > before || is_needed {
                    self.ends.truncate(kept);
                    return Some(limit);
                }
            }
            kept -= 1;
        }
        None
    }

    /// Drops the last of the first `kept` repetitions that can be longer, and those behind; gives where it must end at least.
    fn lengthen(&mut self, kept: usize) -> Option<usize> {
        let mut kept = kept;
        while kept > 0 {
            if self.ends[kept] < self.end {
                let limit = self.ends[kept] + 1;
                self.ends.truncate(kept);
                return Some(limit);
            }
            kept -= 1;
        }
        None
    }
}
