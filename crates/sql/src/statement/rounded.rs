//! Parameters of which a statement has nothing but what a cast to a numeric with a scale makes of them.
//!
//! In comes a statement, out go those parameters and the types of the casts: their values may be rounded before anything is computed,
//! where a value that has another scale than its parameter's type is refused. Called when a statement is planned.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, Expr, Value, ValueWithSpan, Visit, Visitor};
use engine::types::DataType;

use super::data_type::data_type;
use crate::template::placeholder_index;

/// The parameters below `client`, counted from 0, that are mentioned in casts to one numeric type only.
pub fn rounded(statement: &ast::Statement, client: usize) -> Vec<(usize, DataType)> {
    if client == 0 {
        return Vec::new();
    }
    let mut mentions = Mentions::default();
    let _ = statement.visit(&mut mentions);
    let of_client = mentions.0.into_iter().filter(|(index, _)| *index < client);
    of_client.filter_map(|(index, seen)| Some((index, seen.only()?))).collect()
}

/// Where parameters are mentioned, by their numbers.
#[derive(Default)]
struct Mentions(BTreeMap<usize, Seen>);

#[derive(Default)]
struct Seen {
    /// How often in all.
    times: usize,
    /// As what is cast to a numeric type.
    casts: Vec<DataType>,
}

impl Seen {
    fn only(&self) -> Option<DataType> {
        let first = *self.casts.first()?;
        let is_only =
            self.casts.len() == self.times && self.casts.iter().all(|cast| *cast == first);
        is_only.then_some(first)
    }
}

impl Visitor for Mentions {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Cast { expr, data_type: target, .. } = expr
            && let Expr::Value(value) = &**expr
            && let Some(index) = parameter(value)
            && let Ok(target @ DataType::Numeric { .. }) = data_type(target)
        {
            self.0.entry(index).or_default().casts.push(target);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        if let Some(index) = parameter(value) {
            self.0.entry(index).or_default().times += 1;
        }
        ControlFlow::Continue(())
    }
}

fn parameter(value: &ValueWithSpan) -> Option<usize> {
    match &value.value {
        Value::Placeholder(id) => placeholder_index(id).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn of(text: &str) -> Vec<(usize, DataType)> {
        let statements = Parser::parse_sql(&PostgreSqlDialect {}, text).expect("it parses");
        rounded(&statements[0], 2)
    }

    #[test]
    fn only_what_is_nowhere_without_its_cast_is_rounded() {
        let price = DataType::Numeric { precision: 6, scale: 1 };
        let twice = "SELECT $1::numeric(6,1) + 1, CAST($1 AS numeric(6,1)), $3::numeric(6,1)";
        assert_eq!(of(twice), [(0, price)]);
        for bare in [
            "INSERT INTO t VALUES ($1, $1::numeric(6,1))",
            "INSERT INTO t VALUES ($1::numeric(6,1)) ON CONFLICT (a) DO UPDATE SET b = $1",
            "UPDATE t SET a = $1::numeric(6,1) WHERE b = $1",
            "DELETE FROM t WHERE a = $1 RETURNING $1::numeric(6,1)",
            "SELECT $1::numeric(6,1) FROM t LIMIT $1",
            "SELECT $1::numeric(6,1), $1::numeric(6,2)",
            "SELECT ($1 + 1)::numeric(6,1)",
        ] {
            assert_eq!(of(bare), [], "{bare}");
        }
    }
}
