//! Whether two answers say the same.

use std::cmp::Ordering;
use std::sync::Arc;

use engine::plan::{PlanNode, SortKey};
use engine::storage::Store;
use engine::types::{Scalar, Value, Version};

use super::plans::{Order, Statement};
use crate::reference::{self, Row};

/// What the interpreter gives for a statement, all of it where its order leaves ties.
pub fn whole(
    statement: &Statement,
    store: &Arc<Store>,
    version: Version,
    parameters: &[Value],
) -> Vec<Row> {
    let mut plan = statement.plan.clone();
    if let (Order::Ties(_), PlanNode::Sort { skip, fetch, .. }) = (&statement.order, &mut plan.root)
    {
        (*skip, *fetch) = (None, None);
    }
    reference::answer(&plan, store, version, parameters).expect("the interpreter fails at nothing")
}

/// What is wrong with an answer, where `whole` is the interpreter's.
pub fn fault(
    statement: &Statement,
    parameters: &[Value],
    answer: &[Row],
    whole: &[Row],
) -> Option<String> {
    let Order::Ties(keys) = &statement.order else {
        return difference(statement, answer, whole);
    };
    let PlanNode::Sort { skip, fetch, .. } = &statement.plan.root else {
        return difference(statement, answer, whole);
    };
    let skip = rows(skip.as_ref(), parameters).unwrap_or(0).min(whole.len());
    let fetch = rows(fetch.as_ref(), parameters).unwrap_or(usize::MAX);
    let end = skip.saturating_add(fetch).min(whole.len());
    if let Some(fault) = difference(statement, answer, &whole[skip..end]) {
        return Some(fault);
    }
    // Each is a row of the whole, as often as there at most.
    let (answer, whole) = (sorted(answer), sorted(whole));
    let mut rest = &whole[..];
    for row in &answer {
        match rest.iter().position(|other| same(row, other)) {
            Some(place) => rest = &rest[place + 1..],
            None => return Some(format!("{row:?} is no row of {}", keys.len())),
        }
    }
    None
}

/// Where two answers of a statement differ.
pub fn difference(statement: &Statement, answer: &[Row], other: &[Row]) -> Option<String> {
    if answer.len() != other.len() {
        return Some(format!("{} rows, not {}{}", answer.len(), other.len(), first(answer, other)));
    }
    let rows_differ = |a: &[Row], b: &[Row]| {
        let mut pairs = a.iter().zip(b);
        pairs.find(|(a, b)| !same(a, b)).map(|(a, b)| format!("{a:?}, not {b:?}"))
    };
    match &statement.order {
        Order::Total => rows_differ(answer, other),
        Order::None => rows_differ(&sorted(answer), &sorted(other)),
        Order::Ties(keys) => {
            let cuts = matches!(
                &statement.plan.root,
                PlanNode::Sort { skip, fetch, .. } if skip.is_some() || fetch.is_some()
            );
            let by_keys = answer.iter().zip(other).find(|(a, b)| by(keys, a, b).is_ne());
            match by_keys {
                Some((a, b)) => Some(format!("{a:?} in the place of {b:?}")),
                // Cuts may fall anywhere among ties.
                None if cuts => None,
                None => rows_differ(&sorted(answer), &sorted(other)),
            }
        }
    }
}

fn by(keys: &[SortKey], a: &Row, b: &Row) -> Ordering {
    keys.iter().map(|key| reference::by_key(key, a, b)).fold(Ordering::Equal, Ordering::then)
}

/// Equal values of equal types.
fn same(a: &Row, b: &Row) -> bool {
    let types = |row: &Row| row.iter().map(|value| value.borrow().data_type()).collect::<Vec<_>>();
    reference::same(a, b) && types(a) == types(b)
}

fn sorted(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.sort_by(reference::order);
    rows
}

/// The first row that only one of two answers has.
fn first(answer: &[Row], other: &[Row]) -> String {
    let (a, b) = (sorted(answer), sorted(other));
    let place = a.iter().zip(&b).position(|(a, b)| !same(a, b)).unwrap_or(a.len().min(b.len()));
    format!(": {:?} beside {:?}", a.get(place), b.get(place))
}

/// The number that a cut gives; `None` for NULL or no cut.
fn rows(scalar: Option<&Scalar>, parameters: &[Value]) -> Option<usize> {
    let value = match scalar? {
        Scalar::Parameter(parameter) => &parameters[*parameter],
        Scalar::Literal(value) => value,
        other => panic!("LIMIT {other:?}"),
    };
    match value {
        Value::Integer(rows) => Some(*rows as usize),
        Value::BigInt(rows) => Some(*rows as usize),
        _ => None,
    }
}
