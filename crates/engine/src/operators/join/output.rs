//! From pairs of row numbers to a join's output.

use std::ops::Range;

use crate::operators::filter::{any_predicate, qualify};
use crate::operators::kernel::{NO_ROW, take_or_null};
use crate::operators::{Batch, Faults, Users};
use crate::plan::JoinKind;
use crate::query_set::{QuerySets, SetId, Tuples};
use crate::types::Predicate;

/// Candidate pairs: equal keys, nothing else checked. Left rows ascend.
#[derive(Debug, Default)]
pub struct Pairs {
    pub left: Vec<u32>,
    pub right: Vec<u32>,
}

/// Whether so many left rows with so many pairs each are one piece of at most `most` pairs.
pub fn fit_one_piece(rows: usize, pairs: usize, most: usize) -> bool {
    rows.saturating_mul(pairs) <= most
}

/// Runs of left rows of at most `most` pairs, or of one row; `None` where one run is enough. `pairs` by row.
pub fn pieces(pairs: impl Iterator<Item = usize>, most: usize) -> Option<Vec<Range<u32>>> {
    let (mut pieces, mut start, mut sum, mut rows) = (Vec::new(), 0u32, 0, 0u32);
    for own in pairs {
        if sum + own > most && rows > start {
            pieces.push(start..rows);
            (start, sum) = (rows, 0);
        }
        sum += own;
        rows += 1;
    }
    pieces.push(start..rows);
    (pieces.len() > 1).then_some(pieces)
}

/// What a join does with its pairs.
#[derive(Clone, Copy)]
pub struct Join<'a> {
    pub kind: JoinKind,
    /// Conditions over the right columns alone, by variant.
    pub right_only: &'a [Vec<Predicate>],
    /// Conditions over left ++ right columns, by variant.
    pub residuals: &'a [Vec<Predicate>],
    pub users: &'a [Users],
}

/// Pairs that somebody wants, with their sets.
pub struct Matches {
    pub pairs: Pairs,
    pub sets: QuerySets,
}

impl Join<'_> {
    /// The output of a chunk of the left input: pairs, and what the kind keeps of rows without one.
    pub fn output(
        &self,
        batch: &Batch<'_>,
        left: Tuples,
        right: &Tuples,
        matches: Matches,
    ) -> Tuples {
        match self.kind {
            JoinKind::Inner | JoinKind::Right => inner(batch, left, right, matches),
            JoinKind::Left | JoinKind::Full => {
                let unmatched = unmatched(batch, &left, &matches);
                outer(batch, left, right, matches, unmatched)
            }
            JoinKind::Semi => {
                let found = matches.sets.union_by(&matches.pairs.left, left.rows, batch.sets);
                left.with_sets(found, batch.sets)
            }
            JoinKind::Anti => {
                let unmatched = unmatched(batch, &left, &matches);
                left.with_sets(unmatched, batch.sets)
            }
        }
    }

    /// The pairs that somebody wants: the intersection of the rows' sets, less what residuals refuse.
    pub fn matches(
        &self,
        batch: &Batch<'_>,
        left: &Tuples,
        right: &Tuples,
        pairs: Pairs,
        faults: &mut Faults,
    ) -> Matches {
        let rows = pairs.left.len();
        let left_sets = aligned(&left.sets, &pairs.left, left.rows);
        let right_sets = right.sets.take(&pairs.right);
        let sets = left_sets.intersect(&right_sets, rows, batch.sets);
        let mut matches = Matches { pairs, sets }.wanted();
        if !self.right_only.is_empty() && any_predicate(self.right_only, self.users) {
            let sets = matches.sets.clone();
            let tuples = take_or_null(right, &matches.pairs.right, sets);
            let sets = qualify(self.right_only, batch, self.users, &tuples, faults);
            matches = Matches { sets, ..matches }.wanted();
        }
        if matches.pairs.left.is_empty() || !any_predicate(self.residuals, self.users) {
            return matches;
        }
        let tuples = zip(left, right, &matches);
        let sets = qualify(self.residuals, batch, self.users, &tuples, faults);
        Matches { sets, ..matches }.wanted()
    }
}

impl Matches {
    /// Drops pairs that nobody wants.
    fn wanted(self) -> Matches {
        let Some(rows) = self.sets.wanted_rows(self.pairs.left.len()) else { return self };
        let take = |side: &[u32]| rows.iter().map(|&row| side[row as usize]).collect();
        let pairs = Pairs { left: take(&self.pairs.left), right: take(&self.pairs.right) };
        Matches { pairs, sets: self.sets.take(&rows) }
    }
}

/// The sets of `rows`; no copy where those are all rows.
fn aligned(sets: &QuerySets, rows: &[u32], total: usize) -> QuerySets {
    if is_identity(rows, total) { sets.clone() } else { sets.take(rows) }
}

fn is_identity(rows: &[u32], total: usize) -> bool {
    rows.len() == total && rows.iter().zip(0..).all(|(&row, position)| row == position)
}

fn zip(left: &Tuples, right: &Tuples, matches: &Matches) -> Tuples {
    let right = without_sets(right, &matches.pairs.right);
    without_sets(left, &matches.pairs.left).zip(right, matches.sets.clone())
}

/// The rows named, wanted by nobody; [`NO_ROW`] gives NULLs.
fn without_sets(tuples: &Tuples, rows: &[u32]) -> Tuples {
    take_or_null(tuples, rows, QuerySets::Uniform(SetId::EMPTY))
}

fn inner(batch: &Batch<'_>, left: Tuples, right: &Tuples, matches: Matches) -> Tuples {
    let right = without_sets(right, &matches.pairs.right);
    let rows = matches.pairs.left.len();
    let sets = matches.sets.compact(rows, batch.sets);
    match is_identity(&matches.pairs.left, left.rows) {
        true => left.zip(right, sets),
        false => without_sets(&left, &matches.pairs.left).zip(right, sets),
    }
}

/// Of each left row, the slots that found no partner.
fn unmatched(batch: &Batch<'_>, left: &Tuples, matches: &Matches) -> QuerySets {
    if let (QuerySets::Uniform(own), QuerySets::Uniform(found)) = (&left.sets, &matches.sets) {
        let rest = batch.sets.difference(*own, *found);
        let mut sets = vec![*own; left.rows];
        matches.pairs.left.iter().for_each(|&row| sets[row as usize] = rest);
        return QuerySets::Interned(sets);
    }
    let found = matches.sets.union_by(&matches.pairs.left, left.rows, batch.sets);
    left.sets.difference(&found, left.rows, batch.sets)
}

fn outer(
    batch: &Batch<'_>,
    left: Tuples,
    right: &Tuples,
    matches: Matches,
    unmatched: QuerySets,
) -> Tuples {
    let lonely = unmatched.wanted_rows(left.rows);
    let lonely = lonely.unwrap_or_else(|| (0..left.rows as u32).collect());
    if lonely.is_empty() {
        return inner(batch, left, right, matches);
    }
    let Matches { mut pairs, sets } = matches;
    let found = pairs.left.len();
    let of_lonely = unmatched.take(&lonely).compact(lonely.len(), batch.sets);
    let parts = [(&sets, found), (&of_lonely, lonely.len())];
    let sets = QuerySets::concat(&parts, batch.sets).compact(found + lonely.len(), batch.sets);
    pairs.right.resize(found + lonely.len(), NO_ROW);
    pairs.left.extend(lonely);
    zip(&left, right, &Matches { pairs, sets })
}
