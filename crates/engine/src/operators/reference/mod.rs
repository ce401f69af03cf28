//! The operators' slow twins: row at a time, slot at a time, over plain values. What they say is right.
//!
//! In come the rows that one slot wants, out go the rows that it gets when it runs alone. The property tests
//! beside each twin run the shared operator on random rows with random query sets and compare slot by slot.

mod aggregate;
mod filter;
mod join;
mod ordering;
mod product;
mod projection;
mod random;
mod star;
pub(super) mod stored;

use std::collections::BTreeSet;

use super::{Batch, Budget, Faults, route};
use crate::query_set::{SetTable, Tuples};
use crate::types::{DataType, Error, Result, Slot, SqlState, Value};

/// One row.
pub type Row = Vec<Value>;

/// Rows of one layout, each with the slots that want it.
#[derive(Clone, Debug)]
pub struct Relation {
    pub types: Vec<DataType>,
    pub rows: Vec<(Row, BTreeSet<Slot>)>,
}

impl Relation {
    /// The rows that one slot wants.
    pub fn of(&self, slot: Slot) -> Vec<Row> {
        self.rows.iter().filter(|(_, s)| s.contains(&slot)).map(|(row, _)| row.clone()).collect()
    }
}

/// A batch's parameters, owned.
pub struct Activations {
    pub sets: SetTable,
    pub types: Vec<DataType>,
    pub parameters: Vec<Row>,
    pub budget: Budget,
}

impl Activations {
    /// Runs `test` with the batch as operators see it.
    pub fn with<T>(&self, test: impl FnOnce(&Batch<'_>) -> T) -> T {
        let parameters: Vec<&[Value]> = self.parameters.iter().map(Vec::as_slice).collect();
        let types = vec![self.types.as_slice(); parameters.len()];
        let Activations { sets, budget, .. } = self;
        test(&Batch { sets, parameters: &parameters, types: &types, budget })
    }

    pub fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.parameters.len() as u32).map(Slot)
    }
}

/// What each slot got of the operator's output chunks, in order.
pub fn answers(batch: &Batch<'_>, output: &[Tuples]) -> Vec<Vec<Row>> {
    let mut answers = vec![Vec::new(); batch.sets.slots()];
    for tuples in output {
        for (slot, rows) in route(batch, tuples) {
            let cells = |row: u32| {
                let columns = 0..tuples.columns.len();
                columns.map(|column| tuples.cell(row as usize, column).to_owned()).collect()
            };
            answers[slot.index()].extend(rows.into_iter().map(cells));
        }
    }
    answers
}

/// Checks every slot's answer against its twin's: equal errors, or equal rows in the same order where `ordered`.
pub fn check(
    seed: u64,
    batch: &Batch<'_>,
    output: &[Tuples],
    faults: &Faults,
    ordered: bool,
    alone: impl Fn(Slot) -> Result<Vec<Row>>,
) {
    for (slot, mut got) in (0..).map(Slot).zip(answers(batch, output)) {
        let failed: Option<SqlState> =
            faults.iter().find(|(faulted, _)| *faulted == slot).map(|(_, error)| error.state);
        match alone(slot) {
            Err(error) => assert_eq!(failed, Some(error.state), "seed {seed}, slot {slot}"),
            Ok(mut expected) => {
                assert_eq!(failed, None, "seed {seed}, slot {slot}");
                if !ordered {
                    sort_rows(&mut got);
                    sort_rows(&mut expected);
                }
                let (got, expected) = (format!("{got:?}"), format!("{expected:?}"));
                assert_eq!(got, expected, "seed {seed}, slot {slot}");
            }
        }
    }
}

/// Some total order that tells all rows apart.
fn sort_rows(rows: &mut [Row]) {
    rows.sort_by_cached_key(|row| format!("{row:?}"));
}

/// Whether two rows are the same group: NULLs are equal here.
pub fn same(a: &[Value], b: &[Value]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.borrow().compare(b.borrow()).is_eq())
}

/// An error for twins that only need a state.
pub fn fault(state: SqlState) -> Error {
    Error::new(state, "")
}
