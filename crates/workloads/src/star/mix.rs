//! Which queries to draw: all templates, or Q3.2 with the knobs of the paper's sensitivity analysis.

use std::collections::HashSet;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::Template;
use super::geography::{NATION_COUNT, Nation};
use crate::client::Parameter;
use crate::query::{Query, QueryMix, Statement};

/// All 13 templates, or some of them.
pub struct AllTemplates {
    templates: Vec<Template>,
    statements: Vec<Statement>,
}

impl AllTemplates {
    /// In the order of [`Template::ALL`].
    pub fn new() -> AllTemplates {
        AllTemplates::of(Template::ALL.to_vec())
    }

    /// Those with the given names.
    pub fn only(names: &[&str]) -> AllTemplates {
        let named = |template: &Template| names.contains(&template.name().as_str());
        AllTemplates::of(Template::ALL.into_iter().filter(named).collect())
    }

    fn of(templates: Vec<Template>) -> AllTemplates {
        let statements = templates.iter().map(|template| template.statement()).collect();
        AllTemplates { templates, statements }
    }
}

impl Default for AllTemplates {
    fn default() -> AllTemplates {
        AllTemplates::new()
    }
}

impl QueryMix for AllTemplates {
    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn parameters(&self, statement: usize, rng: &mut SmallRng) -> Vec<Parameter> {
        self.templates[statement].parameters(rng)
    }
}

/// Similarity: `count` queries of a mix that are `plans` different ones and no more, each in turn.
pub fn similar(mix: &dyn QueryMix, plans: usize, count: usize, seed: u64) -> Vec<Query> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let (mut seen, mut different) = (HashSet::new(), Vec::with_capacity(plans));
    // A mix may not have so many.
    for _ in 0..DRAWS_PER_PLAN * plans {
        let query = mix.draw(&mut rng);
        if different.len() < plans && seen.insert(format!("{query:?}")) {
            different.push(query);
        }
    }
    different.into_iter().cycle().take(count).collect()
}

/// Until all of 1,250 have been drawn eight times as many draws are needed on average.
const DRAWS_PER_PLAN: usize = 16;

/// Selectivity: Q3.2 over all years with more nations of customers and suppliers, different ones in each query.
pub struct Selective {
    statement: [Statement; 1],
    customers: usize,
    suppliers: usize,
}

impl Selective {
    /// So many nations on each side, 1 to 25.
    pub fn new(customers: usize, suppliers: usize) -> Selective {
        assert!((1..=NATION_COUNT).contains(&customers) && (1..=NATION_COUNT).contains(&suppliers));
        let list = |column: &str, first: usize, count: usize| {
            let terms = (first..first + count).map(|number| format!("{column} = ${number}"));
            terms.collect::<Vec<_>>().join(" OR ")
        };
        let text = format!(
            "SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue \
             FROM customer, lineorder, supplier, date \
             WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey \
             AND lo_orderdate = d_datekey AND ({}) AND ({}) \
             AND d_year >= 1992 AND d_year <= 1998 \
             GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC",
            list("c_nation", 1, customers),
            list("s_nation", 1 + customers, suppliers),
        );
        let name = format!("Q3.2 with {customers} x {suppliers} nations");
        Selective { statement: [Statement { name, text }], customers, suppliers }
    }

    /// The share of fact rows.
    pub fn selectivity(&self) -> f64 {
        (self.customers * self.suppliers) as f64 / (NATION_COUNT * NATION_COUNT) as f64
    }
}

impl QueryMix for Selective {
    fn statements(&self) -> &[Statement] {
        &self.statement
    }

    fn parameters(&self, _statement: usize, rng: &mut SmallRng) -> Vec<Parameter> {
        let mut side = |count: usize| {
            let mut nations: Vec<usize> = (0..NATION_COUNT).collect();
            nations.shuffle(rng);
            nations.truncate(count);
            nations.into_iter().map(|nation| Parameter::from(Nation::new(nation).name()))
        };
        side(self.customers).chain(side(self.suppliers)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_plans_and_no_more() {
        let mix = AllTemplates::only(&["Q3.2"]);
        let queries = similar(&mix, 16, 2_000, 3);
        let different: HashSet<String> = queries.iter().map(|q| format!("{q:?}")).collect();
        assert_eq!((queries.len(), different.len()), (2_000, 16));
        assert_eq!(queries[0], queries[16]);
        assert_eq!(queries[0], queries[32]);
        assert_ne!(queries[0], queries[15]);
        // 25 nations on either side, two periods of six years.
        let all: HashSet<String> =
            similar(&mix, 5_000, 5_000, 3).iter().map(|q| format!("{q:?}")).collect();
        assert_eq!(all.len(), 1_250);
    }

    #[test]
    fn nations_differ_within_a_query() {
        let mix = Selective::new(14, 13);
        let mut rng = SmallRng::seed_from_u64(5);
        let parameters = mix.draw(&mut rng).parameters;
        assert_eq!(parameters.len(), 27);
        let (customers, suppliers) = parameters.split_at(14);
        for side in [customers, suppliers] {
            assert!(side.iter().all(|one| side.iter().filter(|other| one == *other).count() == 1));
        }
        assert!((mix.selectivity() - 0.2912).abs() < 1e-9);
        assert!(mix.statements()[0].text.contains("$27)"));
    }
}
