//! Which function a call means.

use super::candidate::Candidate;
use crate::analyzer::Analyzer;
use crate::facts::{CastContext, FunctionRow, Oid, functions_named, oid};
use crate::tree::CastVia;

/// A function that a call could mean.
#[derive(Clone, Debug)]
pub(super) struct FunctionCandidate {
    pub row: &'static FunctionRow,
    /// Types of all its arguments, those left out among them, in the order of the call where arguments have names.
    pub types: Vec<Oid>,
    /// How many arguments of the call become the variadic array; 0 where none does.
    pub variadic: usize,
    /// Arguments that are left out.
    pub defaults: usize,
    /// Where arguments have names: for each argument in the order of the call, then of those left out, its place in the function.
    pub places: Option<Vec<usize>>,
    /// Whether another candidate takes the same types, and neither is better.
    is_ambiguous: bool,
}

impl Candidate for FunctionCandidate {
    fn types(&self) -> &[Oid] {
        &self.types
    }
}

/// What a call means.
pub(super) enum Meaning {
    /// A cast to a type.
    Cast(Oid),
    /// A function.
    Function(FunctionCandidate),
    /// Several.
    Ambiguous,
    /// Nothing.
    Unknown,
}

/// A call as far as the choice of the function goes.
pub(super) struct Wanted<'a> {
    pub names: &'a [&'a str],
    pub types: &'a [Oid],
    /// Names of the last arguments.
    pub argument_names: &'a [&'a str],
    pub expands_variadic: bool,
    pub is_cast_possible: bool,
}

impl Analyzer<'_, '_> {
    /// What a call means.
    pub(super) fn meaning(&self, wanted: &Wanted<'_>) -> Meaning {
        let candidates = self.function_candidates(wanted);
        let count = wanted.types.len();
        let exact = candidates.iter().find(|candidate| candidate.types[..count] == *wanted.types);
        let best = match exact {
            Some(exact) => Some(exact.clone()),
            None => {
                if wanted.is_cast_possible
                    && let [source] = wanted.types
                    && let Some(target) = self.function_name_as_type(wanted.names)
                    && self.is_cast_by_name(*source, target)
                {
                    return Meaning::Cast(target);
                }
                let mut reachable = self.reachable(wanted.types, candidates);
                match reachable.len() {
                    0 => return Meaning::Unknown,
                    1 => reachable.pop(),
                    _ => self.best(wanted.types, reachable),
                }
            }
        };
        match best {
            Some(best) if !best.is_ambiguous => Meaning::Function(best),
            _ => Meaning::Ambiguous,
        }
    }

    fn is_cast_by_name(&self, source: Oid, target: Oid) -> bool {
        if source == oid::UNKNOWN {
            return true;
        }
        match self.pathway(source, target, CastContext::Explicit) {
            Some(CastVia::Relabel) => true,
            Some(CastVia::Text) => {
                let is_row = source == oid::RECORD || self.is_composite(source);
                !(is_row && self.category(target) == 'S')
            }
            _ => false,
        }
    }

    /// All functions of the name that take as many arguments.
    fn function_candidates(&self, wanted: &Wanted<'_>) -> Vec<FunctionCandidate> {
        let (schema, name) = match wanted.names {
            [name] => (None, *name),
            [schema, name] | [_, schema, name] => (Some(*schema), *name),
            _ => return Vec::new(),
        };
        let mut found: Vec<FunctionCandidate> = Vec::new();
        if matches!(schema, None | Some("pg_catalog")) {
            for row in functions_named(name) {
                self.add_candidate(row, wanted, &mut found);
            }
        }
        for row in self.catalog.functions_named(schema, name) {
            self.add_candidate(row, wanted, &mut found);
        }
        found
    }

    fn add_candidate(
        &self,
        row: &'static FunctionRow,
        wanted: &Wanted<'_>,
        found: &mut Vec<FunctionCandidate>,
    ) {
        let Some(new) = candidate(row, wanted) else { return };
        let count = wanted.types.len();
        let is_special = |other: &FunctionCandidate| other.variadic > 0 || other.defaults > 0;
        let is_alike =
            |other: &FunctionCandidate| other.types.get(..count) == new.types.get(..count);
        if let Some(old) = found.iter_mut().find(|other| is_alike(other)) {
            if !is_special(&new) && !is_special(old) {
                return;
            }
            // Without a variadic array is better than with one; a longer fixed part is better than a shorter.
            let rank = |other: &FunctionCandidate| (other.variadic, other.defaults > 0);
            match rank(&new).cmp(&rank(old)) {
                std::cmp::Ordering::Less => *old = new,
                std::cmp::Ordering::Equal => old.is_ambiguous = true,
                std::cmp::Ordering::Greater => {}
            }
            return;
        }
        found.push(new);
    }
}

fn candidate(row: &'static FunctionRow, wanted: &Wanted<'_>) -> Option<FunctionCandidate> {
    let (count, takes) = (wanted.types.len(), row.arguments.len());
    let plain = |types: Vec<Oid>, variadic, defaults, places| {
        Some(FunctionCandidate { row, types, variadic, defaults, places, is_ambiguous: false })
    };
    if !wanted.argument_names.is_empty() {
        if wanted.expands_variadic && row.variadic != 0 {
            return None;
        }
        let places = named_places(row, wanted)?;
        let types = places.iter().map(|place| row.arguments[*place]).collect();
        return plain(types, 0, takes - count, Some(places));
    }
    if wanted.expands_variadic && row.variadic != 0 {
        if count + 1 < takes {
            // Some of the fixed arguments may have defaults, the array then is one of them.
            return (count + row.defaults >= takes)
                .then(|| plain(row.arguments.clone(), 0, takes - count, None))?;
        }
        if count < takes {
            return (row.defaults > 0)
                .then(|| plain(row.arguments.clone(), 0, takes - count, None))?;
        }
        let mut types = row.arguments.clone();
        types.truncate(takes - 1);
        types.resize(count, row.variadic);
        return plain(types, count - takes + 1, 0, None);
    }
    if count > takes || count + row.defaults < takes {
        return None;
    }
    plain(row.arguments.clone(), 0, takes - count, None)
}

/// Each argument's place in the function, then those of the arguments that are left out.
fn named_places(row: &FunctionRow, wanted: &Wanted<'_>) -> Option<Vec<usize>> {
    let (count, takes) = (wanted.types.len(), row.arguments.len());
    let positional = count - wanted.argument_names.len();
    if row.names.is_empty() || count > takes || count + row.defaults < takes {
        return None;
    }
    // Names of those that go in.
    let modes: Vec<char> = row.modes.chars().collect();
    let goes_in = |at: &usize| modes.get(*at).is_none_or(|mode| matches!(mode, 'i' | 'b' | 'v'));
    let names: Vec<&str> = (0..row.names.len()).filter(goes_in).map(|at| row.names[at]).collect();
    let mut places: Vec<usize> = (0..positional).collect();
    for name in wanted.argument_names {
        let place = names.iter().position(|other| other == name)?;
        if places.contains(&place) {
            return None;
        }
        places.push(place);
    }
    let first_default = takes - row.defaults;
    for place in (0..takes).filter(|place| !places.contains(place)).collect::<Vec<_>>() {
        if place < first_default {
            return None;
        }
        places.push(place);
    }
    Some(places)
}
