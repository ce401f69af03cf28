//! Queries to be drawn: statements by number, each with parameters from its domain.

use rand::RngExt;
use rand::rngs::SmallRng;

use crate::client::Parameter;

/// A statement with parameters `$1`, `$2`, ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// How reports call it.
    pub name: String,
    /// SQL.
    pub text: String,
}

/// One query to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Which of the mix's statements.
    pub statement: usize,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// Statements and how to draw their parameters.
pub trait QueryMix: Sync {
    /// All statements; at least one.
    fn statements(&self) -> &[Statement];

    /// Random parameters of a statement.
    fn parameters(&self, statement: usize, rng: &mut SmallRng) -> Vec<Parameter>;

    /// A query with a given statement.
    fn draw_from(&self, statement: usize, rng: &mut SmallRng) -> Query {
        Query { statement, parameters: self.parameters(statement, rng) }
    }

    /// A query with any statement, all alike likely.
    fn draw(&self, rng: &mut SmallRng) -> Query {
        self.draw_from(rng.random_range(0..self.statements().len()), rng)
    }
}
