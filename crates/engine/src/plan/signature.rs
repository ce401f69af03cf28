//! What makes two templates' operators one node: everything but predicates, cuts and projections above it.

use std::collections::HashMap;
use std::fmt::Write;

use super::access::{Access, IndexAccess};
use super::catalog::Catalog;
use super::compiled::{Operation, Operator};
use super::{Aggregate, AggregateFunction, JoinKind, SortKey};
use crate::types::{Predicate, Scalar, TableId};

/// Gives signatures to one template's operators. A template that uses the same node twice (a self join) needs two:
/// the second occurrence gets a number.
pub struct Signatures<'a> {
    catalog: &'a Catalog,
    seen: HashMap<String, usize>,
}

impl<'a> Signatures<'a> {
    /// For one template.
    pub fn new(catalog: &'a Catalog) -> Signatures<'a> {
        Signatures { catalog, seen: HashMap::new() }
    }

    /// The signature of `operator` over inputs with these signatures.
    pub fn sign(&mut self, operator: &Operator, inputs: &[&str]) -> String {
        let mut text = describe(&operator.operation, self.catalog);
        if !inputs.is_empty() {
            let _ = write!(text, "({})", inputs.join(", "));
        }
        let count = self.seen.entry(text.clone()).or_default();
        *count += 1;
        if *count > 1 {
            let _ = write!(text, "#{count}");
        }
        text
    }
}

/// A table's name, or its number once it is gone.
pub fn table_name(table: TableId, catalog: &Catalog) -> String {
    catalog.table(table).map_or_else(|_| format!("table {table}"), |t| t.schema.name.to_string())
}

/// An operator without its predicates.
pub fn describe(operation: &Operation, catalog: &Catalog) -> String {
    match operation {
        Operation::Scan {
            table,
            access: Access::Index(IndexAccess { first: Some(f), name, .. }),
            ..
        } => {
            let end = if f.0 { "last" } else { "first" };
            format!("{end} {} of {} by {name}", f.1, table_name(*table, catalog))
        }
        Operation::Scan { table, .. } => format!("scan {}", table_name(*table, catalog)),
        Operation::Values { rows, types } => format!("values {rows:?} as {types:?}"),
        Operation::Filter { .. } => "filter".to_owned(),
        // A parameter has the type that its template gives it.
        Operation::Project { expressions, types } => {
            format!("project {} as {types:?}", list(expressions.iter().map(scalar)))
        }
        Operation::IndexJoin { kind, table, index_name, keys, .. } => {
            let keys = list(keys.iter().map(|key| list(key.iter())));
            let table = table_name(*table, catalog);
            format!("{} join {table} by {index_name} on {keys}", kind_name(*kind))
        }
        Operation::HashJoin { kind, keys, .. } => {
            let keys = list(keys.iter().map(|(l, r)| format!("{l}={r}")));
            format!("{} hash join on {keys}", kind_name(*kind))
        }
        Operation::Aggregate { keys, aggregates, .. } => {
            let keys = list(keys.iter());
            format!("group by {keys} {}", list(aggregates.iter().map(aggregate)))
        }
        Operation::Sort { keys, .. } => format!("sort by {}", list(keys.iter().map(sort_key))),
        Operation::Limit { .. } => "limit".to_owned(),
        Operation::Distinct => "distinct".to_owned(),
        Operation::Union => "union".to_owned(),
        Operation::Reused { operator, .. } => describe(&operator.operation, catalog),
    }
}

/// An operator with its predicates and cuts: equal text over equal inputs, equal rows for the same activation.
pub fn identity(operator: &Operator, catalog: &Catalog) -> String {
    let own = format!("{} as {:?}", describe(&operator.operation, catalog), operator.types);
    let all = |predicates: &[Predicate]| list(predicates.iter().map(predicate));
    match &operator.operation {
        Operation::Scan { predicates, .. } | Operation::Filter { predicates } => {
            format!("{own} where {}", all(predicates))
        }
        Operation::IndexJoin { predicates, residual, .. } => {
            format!("{own} where {} and {}", all(predicates), all(residual))
        }
        Operation::HashJoin { residual, .. } => format!("{own} and {}", all(residual)),
        Operation::Sort { skip, fetch, .. } | Operation::Limit { skip, fetch } => {
            let (skip, fetch) = (skip.as_ref().map(scalar), fetch.as_ref().map(scalar));
            format!("{own} skip {skip:?} fetch {fetch:?}")
        }
        _ => own,
    }
}

fn list<T: std::fmt::Display>(items: impl Iterator<Item = T>) -> String {
    let items: Vec<String> = items.map(|item| item.to_string()).collect();
    format!("[{}]", items.join(", "))
}

/// A join kind in SQL's words.
pub fn kind_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner",
        JoinKind::Left => "left",
        JoinKind::Right => "right",
        JoinKind::Full => "full",
        JoinKind::Semi => "semi",
        JoinKind::Anti => "anti",
    }
}

/// A scalar as text: equal text, equal meaning.
fn scalar(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Column(column) => format!("#{column}"),
        Scalar::Parameter(parameter) => format!("${}", parameter + 1),
        Scalar::Literal(value) => format!("{value:?}"),
        Scalar::Expression(expression) => {
            format!("{}{:?}", expression.meaning(), expression.columns())
        }
    }
}

/// A predicate as text: equal text, equal meaning.
fn predicate(predicate: &Predicate) -> String {
    match predicate {
        Predicate::Compare { column, comparison, value } => {
            format!("#{column} {comparison:?} {}", scalar(value))
        }
        Predicate::In { column, values, negated } => {
            format!("#{column} in {} {negated}", list(values.iter().map(scalar)))
        }
        Predicate::Like { column, pattern, negated, case_insensitive } => {
            format!("#{column} like {} {negated} {case_insensitive}", scalar(pattern))
        }
        Predicate::IsNull { column, negated } => format!("#{column} is null {negated}"),
        Predicate::Or(arms) => {
            let arm = |arm: &Vec<Predicate>| list(arm.iter().map(self::predicate));
            format!("or {}", list(arms.iter().map(arm)))
        }
        Predicate::Expression(expression) => scalar(&Scalar::Expression(expression.clone())),
    }
}

/// An aggregate as text: equal text, equal meaning.
fn aggregate(aggregate: &Aggregate) -> String {
    let argument = aggregate.argument.as_ref().map_or("*".to_owned(), scalar);
    let distinct = if aggregate.distinct { "distinct " } else { "" };
    let filter = aggregate.filter.as_ref();
    let filter =
        filter.map_or(String::new(), |f| format!(" where {}{:?}", f.meaning(), f.columns()));
    let name = function_name(aggregate.function);
    format!("{name}({distinct}{argument}) as {:?}{filter}", aggregate.data_type)
}

/// A function's name in SQL.
pub fn function_name(function: AggregateFunction) -> &'static str {
    match function {
        AggregateFunction::Count => "count",
        AggregateFunction::Sum => "sum",
        AggregateFunction::Min => "min",
        AggregateFunction::Max => "max",
        AggregateFunction::Average => "avg",
    }
}

fn sort_key(key: &SortKey) -> String {
    let direction = if key.descending { " desc" } else { "" };
    // PostgreSQL's defaults go unsaid: NULLS LAST ascending, NULLS FIRST descending.
    let nulls = match (key.descending, key.nulls_first) {
        (false, true) => " nulls first",
        (true, false) => " nulls last",
        _ => "",
    };
    format!("#{}{direction}{nulls}", key.column)
}
