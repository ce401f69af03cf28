//! Which queries to draw: all templates, or Q3.2 with the knobs of the paper's sensitivity analysis.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

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

/// Similarity: Q3.2 with so many different sets of parameters and no more. 0.13 % of the fact rows each.
pub struct Similar {
    statement: [Statement; 1],
    plans: Vec<Vec<Parameter>>,
}

impl Similar {
    /// Draws `plans` different sets (at most 1,250 exist).
    pub fn new(plans: usize, seed: u64) -> Similar {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut distinct: Vec<Vec<Parameter>> = Vec::with_capacity(plans);
        while distinct.len() < plans.min(2 * NATION_COUNT * NATION_COUNT) {
            let parameters = Template::Q3_2.parameters(&mut rng);
            if !distinct.contains(&parameters) {
                distinct.push(parameters);
            }
        }
        Similar { statement: [Template::Q3_2.statement()], plans: distinct }
    }

    /// `count` queries, every plan in turn.
    pub fn queries(&self, count: usize) -> Vec<Query> {
        let plans = self.plans.iter().cycle().take(count);
        plans.map(|plan| Query { statement: 0, parameters: plan.clone() }).collect()
    }
}

impl QueryMix for Similar {
    fn statements(&self) -> &[Statement] {
        &self.statement
    }

    fn parameters(&self, _statement: usize, rng: &mut SmallRng) -> Vec<Parameter> {
        self.plans[rng.random_range(0..self.plans.len())].clone()
    }
}

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
        let mix = Similar::new(16, 3);
        let mut rng = SmallRng::seed_from_u64(4);
        let mut seen: Vec<Vec<Parameter>> = Vec::new();
        for _ in 0..2_000 {
            let parameters = mix.draw(&mut rng).parameters;
            if !seen.contains(&parameters) {
                seen.push(parameters);
            }
        }
        assert_eq!(seen.len(), 16);
        assert_eq!(Similar::new(5_000, 3).plans.len(), 1_250);
        let queries = mix.queries(33);
        assert_eq!(queries[0], queries[16]);
        assert_eq!(queries[0], queries[32]);
        assert_ne!(queries[0], queries[15]);
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
