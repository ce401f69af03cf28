//! How large a query's working set is, estimated from a sample of the fact table's rows by coverage: Algorithm 1 of
//! "Cache-aware batch sharing" (section 5).
//!
//! Nobody can tell from a sample how many groups a query has, but how large a share of its rows the groups met so far
//! account for, that can be told (Good and Turing): what is rare is missing in both. Which queries' tables matter to a cache
//! follows from it. Called by `sample`; the order of its rows must be random.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// What a query's groups ask of the cache (section 4.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheClass {
    /// It wants so few rows that its groups are hardly ever visited.
    AlwaysShare,
    /// So many groups account for nearly all of its rows.
    CouldShare(usize),
    /// More groups than fit, or more than the sample can tell: so many were met.
    NeverShare(usize),
}

/// Share of the rows up to which a query is of the first class (the paper's sigma*).
const FEW: f64 = 0.001;
/// Mistakes do not matter where the share is this much below or above it: all of it (delta 1), and up to a tenth (delta 2).
const FEW_BELOW: f64 = FEW;
const FEW_ABOVE: f64 = 0.099;
/// Share of a query's rows that its working set accounts for (gamma).
const COVERED: f64 = 0.8;
/// Mistakes do not matter where the coverage is this much below or above it (delta' 1 and 2).
const COVERED_BELOW: f64 = 0.05;
const COVERED_ABOVE: f64 = 0.10;
/// Rows below which the tests, which take means as normally distributed, are not asked (n min).
const LEAST_ROWS: usize = 500;
/// The quantile of the normal distribution that is exceeded with the probability of a mistake, 5 % (z of 1 - p).
const QUANTILE: f64 = 1.645;

/// Classes a query: `places` are the positions in the sample of the rows that it wants, ascending, `groups` the groups that
/// these fall into; `rows` is how long the sample is and `most` the groups that fit into the cache.
pub(super) fn classify(rows: usize, places: &[u16], groups: &[u32], most: usize) -> CacheClass {
    match wants_few(rows, places) {
        None => CacheClass::NeverShare(0),
        Some(true) => CacheClass::AlwaysShare,
        Some(false) => working_set(groups, most),
    }
}

/// The selectivity test (lines 8 to 20): a pilot sample tells how many rows the test needs. `None` where these are more than
/// there are.
fn wants_few(rows: usize, places: &[u16]) -> Option<bool> {
    let share = |rows: usize| {
        let wanted = places.partition_point(|place| usize::from(*place) < rows);
        wanted as f64 / rows as f64
    };
    let deviation = |rows: usize| {
        let share = share(rows);
        (share * (1.0 - share) * rows as f64 / (rows - 1) as f64).sqrt()
    };
    let pilot = (rows >= LEAST_ROWS).then_some(LEAST_ROWS)?;
    let needed = needed(deviation(pilot), FEW_BELOW + FEW_ABOVE);
    let margin = margin(deviation(needed.min(rows)), needed, FEW_ABOVE);
    (needed <= rows).then(|| share(needed) <= FEW - margin)
}

/// The estimate (lines 22 to 36): rows are taken in until the groups met cover enough of all that is still to come.
fn working_set(groups: &[u32], most: usize) -> CacheClass {
    let mut met: HashMap<u32, u32, FixedState> = HashMap::default();
    let (mut once, mut twice) = (0usize, 0usize);
    for (before, group) in groups.iter().enumerate() {
        let times = met.entry(*group).or_default();
        *times += 1;
        match *times {
            1 => once += 1,
            2 => (once, twice) = (once - 1, twice + 1),
            3 => twice -= 1,
            _ => {}
        }
        if met.len() > most {
            return CacheClass::NeverShare(met.len());
        }
        if is_covered(before + 1, once, twice) {
            return CacheClass::CouldShare(met.len());
        }
    }
    CacheClass::NeverShare(met.len())
}

/// The coverage test, of so many rows and the groups met once and twice (lines 27 to 34): the share of rows whose groups
/// are not met yet is that of groups met once; how far off that may be is Esty's estimate.
fn is_covered(rows: usize, once: usize, twice: usize) -> bool {
    let n = rows as f64;
    let missing = once as f64 / n;
    if rows < LEAST_ROWS || 1.0 - missing < COVERED {
        return false;
    }
    let deviation = (missing + 2.0 * twice as f64 / n - missing * missing).max(0.0).sqrt();
    let needed = needed(deviation, COVERED_BELOW + COVERED_ABOVE);
    rows >= needed && 1.0 - missing >= COVERED + margin(deviation, needed, COVERED_BELOW)
}

/// Rows for which both kinds of mistakes are improbable. The proof in section 5 needs the width of the whole zone in which
/// mistakes do not matter to be twice what the mean may be off.
fn needed(deviation: f64, zone: f64) -> usize {
    let rows = (2.0 * QUANTILE * deviation / zone).powi(2).ceil() as usize;
    rows.max(LEAST_ROWS)
}

/// What the mean may be off beyond the part of the zone in which that does not matter (epsilon).
fn margin(deviation: f64, rows: usize, tolerated: f64) -> f64 {
    (deviation * QUANTILE / (rows as f64).sqrt() - tolerated).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    const ROWS: usize = 1 << 16;
    const SEEDS: std::ops::Range<u64> = 0..40;

    /// Which rows of the sample a query wants, and the group of each by weights that add up to 1.
    fn sampled(share: f64, weights: &[f64], seed: u64) -> (Vec<u16>, Vec<u32>) {
        let mut draw = Draw::new(seed);
        let sums: Vec<f64> = weights
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            })
            .collect();
        let places: Vec<u16> =
            (0..ROWS).filter(|_| draw.share() < share).map(|place| place as u16).collect();
        let group = |_: &u16| {
            let drawn = draw.share();
            sums.partition_point(|sum| *sum < drawn).min(weights.len() - 1) as u32
        };
        let groups = places.iter().map(group).collect();
        (places, groups)
    }

    fn uniform(groups: usize) -> Vec<f64> {
        vec![1.0 / groups as f64; groups]
    }

    fn zipf(groups: usize) -> Vec<f64> {
        let all: f64 = (1..=groups).map(|rank| 1.0 / rank as f64).sum();
        (1..=groups).map(|rank| 1.0 / rank as f64 / all).collect()
    }

    /// The fewest groups that account for a share of the rows.
    fn exact(weights: &[f64], share: f64) -> usize {
        let mut covered = 0.0;
        let fewest = weights.iter().position(|weight| {
            covered += weight;
            covered >= share
        });
        fewest.map_or(weights.len(), |last| last + 1)
    }

    #[test]
    fn the_estimate_lies_around_the_exact_working_set() {
        for (name, weights) in [
            ("uniform", uniform(50)),
            ("uniform", uniform(3_000)),
            ("zipf", zipf(300)),
            ("zipf", zipf(20_000)),
        ] {
            let (least, most) = (exact(&weights, 0.5), weights.len());
            for seed in SEEDS {
                let (places, groups) = sampled(0.5, &weights, seed);
                let class = classify(ROWS, &places, &groups, 20_000);
                let CacheClass::CouldShare(found) = class else {
                    panic!("seed {seed}: {name} over {most}: {class:?}")
                };
                let mut met = vec![false; most];
                let mut count = 0;
                for &group in &groups {
                    count += usize::from(!std::mem::replace(&mut met[group as usize], true));
                    if count == found {
                        break;
                    }
                }
                let covered: f64 =
                    weights.iter().zip(&met).filter(|own| *own.1).map(|own| own.0).sum();
                assert!(covered > COVERED - COVERED_BELOW, "seed {seed}: {name}: {covered}");
                assert!((least..=most).contains(&found), "seed {seed}: {name}: {found}");
            }
        }
    }

    #[test]
    fn rare_groups_are_no_part_of_the_working_set() {
        // 95 % of the rows fall into 10 groups, the others each into one of a million.
        let weights: Vec<f64> = [vec![0.095; 10], vec![0.05 / 1e6; 1_000_000]].concat();
        for seed in 0..5 {
            let (places, groups) = sampled(0.5, &weights, seed);
            let class = classify(ROWS, &places, &groups, 5_000);
            assert!(matches!(class, CacheClass::CouldShare(10..200)), "seed {seed}: {class:?}");
        }
    }

    #[test]
    fn what_does_not_fit_or_cannot_be_told_never_shares() {
        for seed in SEEDS {
            let (places, groups) = sampled(0.9, &uniform(30_000), seed);
            assert_eq!(classify(ROWS, &places, &groups, 10_000), CacheClass::NeverShare(10_001));
            let (places, groups) = sampled(0.05, &uniform(30_000), seed);
            let class = classify(ROWS, &places, &groups, 20_000);
            assert!(matches!(class, CacheClass::NeverShare(..20_000)), "seed {seed}: {class:?}");
        }
        assert_eq!(classify(100, &[], &[], 10), CacheClass::NeverShare(0));
    }

    #[test]
    fn who_wants_few_rows_always_shares() {
        let few = |seed: &u64| {
            let (places, groups) = sampled(0.000_2, &uniform(30_000), *seed);
            classify(ROWS, &places, &groups, 10) == CacheClass::AlwaysShare
        };
        assert!(SEEDS.filter(few).count() > 30, "seeds {SEEDS:?}");
        for seed in SEEDS {
            let (places, groups) = sampled(0.15, &uniform(10), seed);
            assert_eq!(
                classify(ROWS, &places, &groups, 10),
                CacheClass::CouldShare(10),
                "seed {seed}"
            );
        }
    }
}
