//! The choice among candidates of the same name, by PostgreSQL's rules (chapters 10.2 and 10.3).

use crate::analyzer::Analyzer;
use crate::facts::{CastContext, Oid, oid};

/// Something that is called with arguments of types.
pub(super) trait Candidate {
    fn types(&self) -> &[Oid];
}

/// The types of arguments, and what the rules ask of them.
struct Arguments<'a> {
    given: &'a [Oid],
    /// With domains as their bases.
    bases: Vec<Oid>,
    unknown: usize,
}

/// What candidates want in the place of an unknown argument.
#[derive(Clone, Copy)]
struct Slot {
    category: char,
    has_preferred: bool,
}

impl Analyzer<'_, '_> {
    /// The candidates to whose types the arguments can be cast by themselves.
    pub(super) fn reachable<C: Candidate>(&self, given: &[Oid], candidates: Vec<C>) -> Vec<C> {
        let mut candidates = candidates;
        candidates.retain(|candidate| {
            self.can_coerce_all(given, candidate.types(), CastContext::Implicit)
        });
        candidates
    }

    /// The best of several reachable candidates; `None` where none is.
    pub(super) fn best<C: Candidate>(&self, given: &[Oid], candidates: Vec<C>) -> Option<C> {
        let bases: Vec<Oid> = given.iter().map(|oid| self.base_type(*oid)).collect();
        let unknown = bases.iter().filter(|oid| **oid == oid::UNKNOWN).count();
        let arguments = Arguments { given, bases, unknown };
        let is_known = |oid: Oid| oid != oid::UNKNOWN;
        let exact = |base: Oid, wanted: Oid| is_known(base) && wanted == base;
        let mut left = most(candidates, |candidate| arguments.count(candidate.types(), exact));
        if left.len() > 1 {
            let near = |base: Oid, wanted: Oid| {
                is_known(base) && (wanted == base || self.is_preferred(self.category(base), wanted))
            };
            left = most(left, |candidate| arguments.count(candidate.types(), near));
        }
        if left.len() > 1 && arguments.unknown > 0 {
            left = self.by_category(&arguments, left);
        }
        if left.len() > 1 && arguments.unknown > 0 {
            return self.by_known_type(&arguments, left);
        }
        if left.len() == 1 { left.pop() } else { None }
    }

    /// Those that take the category which the unknown arguments are assumed to have.
    fn by_category<C: Candidate>(&self, arguments: &Arguments<'_>, candidates: Vec<C>) -> Vec<C> {
        let unknown = (0..arguments.given.len()).filter(|at| arguments.bases[*at] == oid::UNKNOWN);
        let slots: Option<Vec<(usize, Slot)>> =
            unknown.map(|at| Some((at, self.slot(at, &candidates)?))).collect();
        let Some(slots) = slots else { return candidates };
        let fits = |candidate: &C| {
            slots.iter().all(|(at, slot)| {
                let row = self.type_of(candidate.types()[*at]);
                row.category == slot.category && (row.is_preferred || !slot.has_preferred)
            })
        };
        if !candidates.iter().any(fits) {
            return candidates;
        }
        candidates.into_iter().filter(fits).collect()
    }

    /// The category of an unknown argument: text where a candidate takes one, else what all agree on.
    fn slot<C: Candidate>(&self, at: usize, candidates: &[C]) -> Option<Slot> {
        let mut slot: Option<Slot> = None;
        let mut is_clear = true;
        for candidate in candidates {
            let row = self.type_of(candidate.types()[at]);
            let new = Slot { category: row.category, has_preferred: row.is_preferred };
            match &mut slot {
                None => slot = Some(new),
                Some(slot) if slot.category == row.category => {
                    slot.has_preferred |= row.is_preferred;
                }
                Some(slot) if row.category == 'S' => *slot = new,
                Some(_) => is_clear = false,
            }
        }
        slot.filter(|slot| is_clear || slot.category == 'S')
    }

    /// The one candidate that the arguments reach if the unknown ones have the type that all known ones have.
    fn by_known_type<C: Candidate>(
        &self,
        arguments: &Arguments<'_>,
        candidates: Vec<C>,
    ) -> Option<C> {
        let mut known = arguments.bases.iter().filter(|oid| **oid != oid::UNKNOWN);
        let first = *known.next()?;
        if !known.all(|other| *other == first) {
            return None;
        }
        let assumed = vec![first; arguments.given.len()];
        let mut left = self.reachable(&assumed, candidates);
        if left.len() == 1 { left.pop() } else { None }
    }
}

impl Arguments<'_> {
    fn count(&self, wanted: &[Oid], fits: impl Fn(Oid, Oid) -> bool) -> usize {
        self.bases.iter().zip(wanted).filter(|(base, wanted)| fits(**base, **wanted)).count()
    }
}

/// Those of which the measure is greatest.
fn most<C>(candidates: Vec<C>, measure: impl Fn(&C) -> usize) -> Vec<C> {
    let greatest = candidates.iter().map(&measure).max();
    candidates.into_iter().filter(|candidate| Some(measure(candidate)) == greatest).collect()
}
