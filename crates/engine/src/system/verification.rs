//! `shareddb.verification`: what came of answers that were to be verified. `shareddb.differences`: the last ones that
//! another path did not give.

use std::sync::Arc;

use super::{SystemTable, micros, number, text};
use crate::heartbeat::{Account, Difference, Engine, Tally};
use crate::types::{DataType, Value};

pub(super) const TABLE: SystemTable = SystemTable {
    name: "verification",
    columns: &[
        // waiting, agreed, differed, skipped
        ("outcome", DataType::Text),
        // Why it was skipped.
        ("reason", DataType::Text),
        ("activations", DataType::BigInt),
        ("took_us", DataType::Double),
    ],
    rows: outcomes,
};

pub(super) const DIFFERENCES: SystemTable = SystemTable {
    name: "differences",
    columns: &[
        ("difference", DataType::BigInt),
        ("statement", DataType::Text),
        ("parameters", DataType::Text),
        ("what", DataType::Text),
        ("answer", DataType::Text),
        ("other_answer", DataType::Text),
        ("batch", DataType::Text),
        ("plan", DataType::Text),
    ],
    rows: differences,
};

fn outcomes(engine: &Engine) -> Vec<Vec<Value>> {
    let Account { waiting, agreed, differed, skipped } = engine.ledger().account();
    let verified = |outcome, Tally { activations, took }| {
        vec![text(outcome), Value::Null, number(activations), micros(took)]
    };
    let skip = |(reason, activations): (&str, u64)| {
        vec![text("skipped"), text(reason), number(activations), Value::Null]
    };
    let mut rows = vec![vec![text("waiting"), Value::Null, number(waiting), Value::Null]];
    rows.extend([verified("agreed", agreed), verified("differed", differed)]);
    rows.extend(skipped.into_iter().map(skip));
    rows
}

fn differences(engine: &Engine) -> Vec<Vec<Value>> {
    let row = |difference: Arc<Difference>| {
        let Difference { statement, parameters, what, first, second, members, plan, .. } =
            &*difference;
        let texts = [statement, parameters, what, first, second, members, plan];
        let texts = texts.into_iter().map(|own| text(own.as_str()));
        std::iter::once(number(difference.number)).chain(texts).collect()
    };
    engine.ledger().differences().into_iter().map(row).collect()
}
