//! The 22 queries as a mix.

use rand::rngs::SmallRng;

use super::parameters;
use crate::client::Parameter;
use crate::query::{Query, QueryMix, Statement};

const TEXTS: [&str; 22] = [
    include_str!("queries/q01.sql"),
    include_str!("queries/q02.sql"),
    include_str!("queries/q03.sql"),
    include_str!("queries/q04.sql"),
    include_str!("queries/q05.sql"),
    include_str!("queries/q06.sql"),
    include_str!("queries/q07.sql"),
    include_str!("queries/q08.sql"),
    include_str!("queries/q09.sql"),
    include_str!("queries/q10.sql"),
    include_str!("queries/q11.sql"),
    include_str!("queries/q12.sql"),
    include_str!("queries/q13.sql"),
    include_str!("queries/q14.sql"),
    include_str!("queries/q15.sql"),
    include_str!("queries/q16.sql"),
    include_str!("queries/q17.sql"),
    include_str!("queries/q18.sql"),
    include_str!("queries/q19.sql"),
    include_str!("queries/q20.sql"),
    include_str!("queries/q21.sql"),
    include_str!("queries/q22.sql"),
];

/// All 22 queries, or some of them.
pub struct Templates {
    scale_factor: f64,
    /// From 1.
    numbers: Vec<usize>,
    statements: Vec<Statement>,
}

impl Templates {
    /// All in order. The scale factor is a parameter of Q11.
    pub fn new(scale_factor: f64) -> Templates {
        Templates::of((1..=TEXTS.len()).collect(), scale_factor)
    }

    /// Those with the given names (`Q1`).
    pub fn only(names: &[&str], scale_factor: f64) -> Templates {
        let named = |number: &usize| names.contains(&format!("Q{number}").as_str());
        Templates::of((1..=TEXTS.len()).filter(named).collect(), scale_factor)
    }

    fn of(numbers: Vec<usize>, scale_factor: f64) -> Templates {
        let statement = |&number: &usize| Statement {
            name: format!("Q{number}"),
            text: TEXTS[number - 1].trim_end().to_owned(),
        };
        let statements = numbers.iter().map(statement).collect();
        Templates { scale_factor, numbers, statements }
    }

    /// The queries of the validation run, each with its number from 1.
    pub fn validation(&self) -> impl Iterator<Item = (usize, Query)> {
        self.numbers.iter().enumerate().map(|(statement, &number)| {
            let parameters = parameters::validation(number, self.scale_factor);
            (number, Query { statement, parameters })
        })
    }
}

impl QueryMix for Templates {
    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn parameters(&self, statement: usize, rng: &mut SmallRng) -> Vec<Parameter> {
        parameters::random(self.numbers[statement], self.scale_factor, rng)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn every_parameter_has_a_value() {
        let templates = Templates::new(1.0);
        let mut rng = SmallRng::seed_from_u64(17);
        for (number, query) in templates.validation() {
            let text = &templates.statements()[query.statement].text;
            let random = templates.parameters(query.statement, &mut rng);
            assert_eq!(random.len(), query.parameters.len(), "Q{number}");
            for at in 1..=random.len() {
                assert!(text.contains(&format!("${at}")), "Q{number} ${at}");
            }
            assert!(!text.contains(&format!("${}", random.len() + 1)), "Q{number}");
        }
    }

    #[test]
    fn some_of_them() {
        let templates = Templates::only(&["Q3", "Q22"], 1.0);
        assert_eq!(templates.validation().map(|(number, _)| number).collect::<Vec<_>>(), [3, 22]);
    }
}
