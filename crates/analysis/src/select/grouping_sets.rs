//! Grouping sets: ROLLUP, CUBE and SETS multiply with each other.

use syntax::GroupingSetKind;

use crate::error::{Location, NOWHERE, Result, fault};

/// Elements of CUBE at most.
const MOST_OF_CUBE: usize = 12;
/// Sets at most.
const MOST_SETS: usize = 4_096;

/// A part of GROUP BY: keys by their places among the groups.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Keys.
    Simple(Vec<usize>),
    /// Prefixes.
    Rollup(Vec<Vec<usize>>),
    /// Subsets.
    Cube(Vec<Vec<usize>>),
    /// Each by itself.
    Sets(Vec<Content>),
}

impl Content {
    pub fn of(kind: GroupingSetKind, within: Vec<Content>, at: Location) -> Result<Content> {
        let keys = |content: Content| match content {
            Content::Simple(keys) => keys,
            _ => Vec::new(),
        };
        Ok(match kind {
            GroupingSetKind::Empty => Content::Sets(vec![Content::Simple(Vec::new())]),
            GroupingSetKind::Simple => Content::Simple(within.into_iter().flat_map(keys).collect()),
            GroupingSetKind::Rollup => Content::Rollup(within.into_iter().map(keys).collect()),
            GroupingSetKind::Cube => {
                if within.len() > MOST_OF_CUBE {
                    let message = format!("CUBE is limited to {MOST_OF_CUBE} elements");
                    return Err(fault("54011", at, message));
                }
                Content::Cube(within.into_iter().map(keys).collect())
            }
            GroupingSetKind::Sets => Content::Sets(within),
        })
    }

    fn sets(&self) -> Vec<Vec<usize>> {
        let union = |parts: &[&Vec<usize>]| {
            let mut keys: Vec<usize> = Vec::new();
            for key in parts.iter().flat_map(|part| part.iter()) {
                if !keys.contains(key) {
                    keys.push(*key);
                }
            }
            keys
        };
        match self {
            Content::Simple(keys) => vec![keys.clone()],
            Content::Rollup(parts) => {
                let prefix = |length| union(&parts[..length].iter().collect::<Vec<_>>());
                (0..=parts.len()).rev().map(prefix).collect()
            }
            Content::Cube(parts) => {
                let subset = |bits: usize| {
                    let chosen = (0..parts.len()).filter(|at| bits >> at & 1 == 0);
                    union(&chosen.map(|at| &parts[at]).collect::<Vec<_>>())
                };
                (0..1 << parts.len()).map(subset).collect()
            }
            Content::Sets(contents) => contents.iter().flat_map(Content::sets).collect(),
        }
    }
}

/// All sets that parts of GROUP BY make together.
///
/// # Errors
/// 54001 where there are too many.
pub(super) fn expanded(contents: &[Content], is_distinct: bool) -> Result<Vec<Vec<usize>>> {
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for content in contents {
        let own = content.sets();
        if sets.len() * own.len() > MOST_SETS {
            let message = format!("too many grouping sets present (maximum {MOST_SETS})");
            return Err(fault("54001", NOWHERE, message));
        }
        let with = |set: &Vec<usize>, other: &Vec<usize>| {
            let mut set = set.clone();
            for key in other {
                if !set.contains(key) {
                    set.push(*key);
                }
            }
            set
        };
        sets = sets.iter().flat_map(|set| own.iter().map(move |other| with(set, other))).collect();
    }
    if is_distinct {
        let mut seen: Vec<Vec<usize>> = Vec::new();
        sets.retain(|set| {
            let mut sorted = set.clone();
            sorted.sort_unstable();
            let is_new = !seen.contains(&sorted);
            seen.push(sorted);
            is_new
        });
    }
    Ok(sets)
}
