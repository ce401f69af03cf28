//! The figures of "Sharing data and work across concurrent analytical queries", section 5, that are rows of bursts, and
//! that of "Cache-aware batch sharing", section 6.2.

use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::bench::analytic::{Experiment, Point, Shown};
use crate::query::{Query, QueryMix};
use crate::star::{AllTemplates, Selective, WorkingSets, similar};

/// Which figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FigureKind {
    /// 1 to 256 queries at once, selecting 0.1 % and 29 % of the fact rows each (figures 10 and 12).
    Concurrency,
    /// 8 queries at once, selecting 0.2 % to 30 % of the fact rows (figure 11).
    Selectivity,
    /// 16 to 512 queries of 16 plans, 512 queries of 1 to 512 plans (figures 14 and 15).
    Similarity,
    /// 100 queries at once with large and small aggregation tables, 1:1 to 1:32: full sharing, in packs, query at a time.
    WorkingSets,
    /// Sharing never loses: the choice made per batch against always and never sharing, over concurrency, selectivity
    /// and similarity.
    Grid,
}

/// Nations of customers and suppliers: 0.16, 1, 10, 19 and 29 per cent of the fact rows.
pub const NATIONS: [(usize, usize); 5] = [(1, 1), (2, 3), (8, 8), (11, 11), (14, 13)];
const SELECTIVITY_QUERIES: usize = 8;

const AT_ONCE: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

const PLANS: [usize; 6] = [1, 16, 64, 128, 256, 512];
const SIMILARITY_QUERIES: usize = 512;
const FEW_PLANS: usize = 16;
const OF_FEW_PLANS: [usize; 6] = [16, 32, 64, 128, 256, 512];

/// Small queries for each large one.
const SMALL_PER_LARGE: [usize; 6] = [1, 2, 4, 8, 16, 32];
const WORKING_SET_QUERIES: usize = 100;
/// "FullSharing-2" and "FullSharing-4" of that paper.
const ADMITTED: [usize; 2] = [2, 4];

/// The key of the experiment that response time over scale is taken from.
pub const NARROW: &str = "q32";
/// The key of the experiment with few plans.
pub const FEW: &str = "plans16";

impl FigureKind {
    /// What is to be measured for it, with at most so many queries at once; the grid is none of this kind.
    pub fn experiments(self, most: usize, seed: u64) -> Vec<Experiment> {
        match self {
            FigureKind::Concurrency => vec![narrow(most, seed), wide(most, seed)],
            FigureKind::Selectivity => vec![selectivity(SELECTIVITY_QUERIES.min(most), seed)],
            FigureKind::Similarity => {
                vec![few_plans(most, seed), plans(SIMILARITY_QUERIES.min(most), seed)]
            }
            FigureKind::WorkingSets => {
                let (count, alone) = (WORKING_SET_QUERIES.min(most), "lineorder alone");
                let joined = ("joined-working-sets", "all dimensions", WorkingSets::joined());
                let alone = ("working-sets", alone, WorkingSets::new());
                [alone, joined].map(|mix| working_sets(mix, count, seed)).into()
            }
            FigureKind::Grid => Vec::new(),
        }
    }
}

/// The template of the paper's sensitivity analysis.
fn q32() -> AllTemplates {
    AllTemplates::only(&["Q3.2"])
}

fn random(mix: &dyn QueryMix, count: usize, seed: u64) -> Vec<Query> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..count).map(|_| mix.draw(&mut rng)).collect()
}

/// So many random queries of one mix at once.
fn over_concurrency(
    key: &'static str,
    title: &str,
    mix: Box<dyn QueryMix>,
    most: usize,
    seed: u64,
) -> Experiment {
    let point = |&count: &usize| {
        let queries = random(&*mix, count, seed ^ count as u64);
        Point { x: count as f64, mix: 0, queries }
    };
    Experiment {
        key,
        title: title.to_owned(),
        x: "queries at once",
        shown: Shown::ResponseTime,
        points: AT_ONCE.iter().filter(|&&count| count <= most).map(point).collect(),
        mixes: vec![mix],
        admitted: Vec::new(),
    }
}

fn narrow(most: usize, seed: u64) -> Experiment {
    over_concurrency(NARROW, "Q3.2, 0.14 % of the fact rows each", Box::new(q32()), most, seed)
}

fn wide(most: usize, seed: u64) -> Experiment {
    let (customers, suppliers) = NATIONS[NATIONS.len() - 1];
    let mix = Selective::new(customers, suppliers);
    over_concurrency("wide", "Q3.2, 29 % of the fact rows each", Box::new(mix), most, seed)
}

fn selectivity(count: usize, seed: u64) -> Experiment {
    let mixes = NATIONS.map(|(customers, suppliers)| Selective::new(customers, suppliers));
    let point = |(number, mix): (usize, &Selective)| Point {
        x: mix.selectivity() * 100.0,
        mix: number,
        queries: random(mix, count, seed ^ number as u64),
    };
    Experiment {
        key: "selectivity",
        title: format!("{count} queries at once"),
        x: "% of the fact rows selected by each",
        shown: Shown::ResponseTime,
        points: mixes.iter().enumerate().map(point).collect(),
        mixes: mixes.into_iter().map(|mix| Box::new(mix) as Box<dyn QueryMix>).collect(),
        admitted: Vec::new(),
    }
}

fn few_plans(most: usize, seed: u64) -> Experiment {
    let point = |&count: &usize| Point {
        x: count as f64,
        mix: 0,
        queries: similar(&q32(), FEW_PLANS, count, seed),
    };
    Experiment {
        key: FEW,
        title: "Q3.2, 16 different plans".to_owned(),
        x: "queries at once",
        shown: Shown::ResponseTime,
        points: OF_FEW_PLANS.iter().filter(|&&count| count <= most).map(point).collect(),
        mixes: vec![Box::new(q32())],
        admitted: Vec::new(),
    }
}

fn plans(count: usize, seed: u64) -> Experiment {
    let point = |&plans: &usize| Point {
        x: plans as f64,
        mix: 0,
        queries: similar(&q32(), plans, count, seed),
    };
    Experiment {
        key: "similarity",
        title: format!("Q3.2, {count} queries at once"),
        x: "different plans",
        shown: Shown::ResponseTime,
        points: PLANS.iter().filter(|&&plans| plans <= count).map(point).collect(),
        mixes: vec![Box::new(q32())],
        admitted: Vec::new(),
    }
}

fn working_sets(
    (key, rows, mix): (&'static str, &str, WorkingSets),
    count: usize,
    seed: u64,
) -> Experiment {
    let point = |&small: &usize| Point {
        x: small as f64,
        mix: 0,
        queries: mix.queries(count, small, seed),
    };
    Experiment {
        key,
        title: format!("Aggregation tables of 1.6 MB and 50 KB, {rows}, {count} queries at once"),
        x: "queries with 50 KB for each one with 1.6 MB",
        shown: Shown::Throughput,
        points: SMALL_PER_LARGE.iter().map(point).collect(),
        mixes: vec![Box::new(mix)],
        admitted: ADMITTED.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_has_its_queries() {
        let all = [
            FigureKind::Concurrency,
            FigureKind::Selectivity,
            FigureKind::Similarity,
            FigureKind::WorkingSets,
        ];
        for experiment in all.into_iter().flat_map(|kind| kind.experiments(1_000, 1)) {
            for point in &experiment.points {
                let statements = experiment.mixes[point.mix].statements().len();
                assert!(!point.queries.is_empty(), "{}", experiment.key);
                assert!(point.queries.iter().all(|query| query.statement < statements));
            }
        }
        for experiment in all.into_iter().flat_map(|kind| kind.experiments(8, 1)) {
            let points = experiment.points.iter();
            assert!(points.map(|point| point.queries.len()).all(|count| count <= 8));
        }
    }
}
