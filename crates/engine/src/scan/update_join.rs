//! Updates and deletes without a usable index, all in one pass over the table.
//!
//! Index Union Update Join of the Crescando paper (section 5.3): statements come in arrival order and leave the table
//! as if each had run alone after the one before. Per row the predicate indexes give the statements that want it;
//! the first of them changes it, and the changed row is probed again with later statements only.
//!
//! A statement that fails changes no row. Since rows are walked one after the other, a failure on a late row finds
//! the statement's changes in earlier ones, and a failure may itself come from a change of a statement that is yet
//! to fail. So a row's walk stops at a failure; after the pass the earliest failing statement has failed for
//! certain, the rows that it touched are walked again without it, and so on. Nothing is written here: out come the
//! steps of each row, which the write heartbeat checks, logs and applies.

use std::sync::Arc;

use super::clock_scan::{Query, ScanBatch};
use super::conjunction::{BoundParameters, Conjunction};
use crate::query_set::{SetTable, words};
use crate::storage::{TableStatistics, TableView};
use crate::transaction::Parameters;
use crate::types::{
    ChunkId, DataType, Error, Location, Predicate, Result, RowId, Slot, Value, limit,
};

/// The WHERE clause of an update or delete.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// A conjunction over the table's columns.
    pub predicates: &'a [Predicate],
    /// The activation's parameters.
    pub parameters: Parameters<'a>,
}

/// What a statement makes of a row that it wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// New values, one per column id.
    Update(Vec<Value>),
    /// Its end.
    Delete,
    /// Nothing, but the row counts.
    Keep,
}

/// One row that somebody wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct RowUpdates {
    /// The logical row.
    pub row: RowId,
    /// The version that was read.
    pub location: Location,
    /// Statements and what each made of the row, in arrival order.
    pub steps: Vec<(usize, Change)>,
}

/// What a pass has found.
#[derive(Clone, Debug, Default)]
pub struct UpdateJoinOutput {
    /// By location, ascending.
    pub rows: Vec<RowUpdates>,
    /// Statements that failed, by position: they take part in no row's steps.
    pub errors: Vec<(usize, Error)>,
}

/// Runs updates and deletes over all rows that `view` sees. `apply(statement, row)` computes what a statement makes
/// of a row that meets its predicates (assignments, casts, checks) and touches nothing.
pub fn update_join(
    view: &Arc<TableView>,
    statements: &[Statement<'_>],
    statistics: &TableStatistics,
    apply: &mut dyn FnMut(usize, &[Value]) -> Result<Change>,
) -> UpdateJoinOutput {
    let mut join = Join::new(view, statements, statistics, apply);
    for (id, _) in view.chunks() {
        join.scan(*id);
    }
    join.settle_failures();
    join.finish()
}

/// The rows that one statement wants, ascending: a scan for a batch of one.
pub fn matching_rows(view: &Arc<TableView>, statement: Statement<'_>) -> Result<Vec<Location>> {
    let types: Vec<DataType> =
        view.schema().columns.iter().map(|column| column.data_type).collect();
    let query = query(statement, &types)?;
    if query.conjunction.never {
        return Ok(Vec::new());
    }
    let sets = Arc::new(SetTable::new(1));
    let batch = ScanBatch::new(view.clone(), sets, vec![query], &TableStatistics::default());
    let mut rows = Vec::new();
    for (chunk, _) in view.chunks() {
        limit::check()?;
        let found = batch.scan(*chunk);
        if let Some((_, error)) = found.errors.into_iter().next() {
            return Err(error);
        }
        rows.extend(found.rows.into_iter().map(|offset| Location { chunk: *chunk, offset }));
    }
    Ok(rows)
}

fn query(statement: Statement<'_>, types: &[DataType]) -> Result<Query> {
    let parameters = statement.parameters;
    Ok(Query {
        conjunction: Conjunction::bind(statement.predicates, types, parameters)?,
        parameters: BoundParameters {
            values: parameters.values.into(),
            types: parameters.types.into(),
        },
    })
}

struct Join<'a> {
    view: &'a TableView,
    batch: ScanBatch,
    apply: &'a mut dyn FnMut(usize, &[Value]) -> Result<Change>,
    /// Statements that have failed.
    failed: Vec<bool>,
    errors: Vec<(usize, Error)>,
    rows: Vec<Walk>,
}

/// One row's way through the statements.
struct Walk {
    location: Location,
    steps: Vec<(usize, Change)>,
    /// Where it stopped.
    failure: Option<(usize, Error)>,
}

/// Statements that may want a row, and those of them that must be asked again when it is their turn.
struct Candidates {
    all: Vec<u64>,
    unsure: Vec<u64>,
}

impl<'a> Join<'a> {
    fn new(
        view: &'a Arc<TableView>,
        statements: &[Statement<'_>],
        statistics: &TableStatistics,
        apply: &'a mut dyn FnMut(usize, &[Value]) -> Result<Change>,
    ) -> Join<'a> {
        let types: Vec<DataType> =
            view.schema().columns.iter().map(|column| column.data_type).collect();
        let mut failed = vec![false; statements.len()];
        let mut errors = Vec::new();
        let queries = statements.iter().enumerate().map(|(number, statement)| {
            query(*statement, &types).unwrap_or_else(|error| {
                failed[number] = true;
                errors.push((number, error));
                Query { conjunction: Conjunction::default(), parameters: BoundParameters::none() }
            })
        });
        let queries = queries.collect();
        let sets = Arc::new(SetTable::new(statements.len()));
        let batch = ScanBatch::new(view.clone(), sets, queries, statistics);
        for (slot, error) in batch.errors() {
            failed[slot.index()] = true;
            errors.push((slot.index(), error.clone()));
        }
        Join { view, batch, apply, failed, errors, rows: Vec::new() }
    }

    fn scan(&mut self, chunk: ChunkId) {
        let found = self.batch.scan(chunk);
        let sets = self.batch.sets().clone();
        let width = sets.word_count();
        let mut unsure = vec![0; width];
        // A predicate that fails on a row as it is may not fail on what an earlier statement makes of it.
        found.errors.iter().for_each(|(slot, _)| words::insert(&mut unsure, *slot));
        let rows = match words::is_empty(&unsure) {
            true => found.rows.clone(),
            false => self.visible_rows(chunk),
        };
        let mut wanted = found.rows.iter().enumerate().peekable();
        for offset in rows {
            let mut all = unsure.clone();
            if let Some((at, _)) = wanted.next_if(|(_, row)| **row == offset) {
                found.sets.row(at).union_into(&mut all, &sets);
            }
            let location = Location { chunk, offset };
            let candidates = Candidates { all, unsure: unsure.clone() };
            let walk = self.walk(location, candidates);
            self.rows.push(walk);
        }
    }

    fn visible_rows(&self, id: ChunkId) -> Vec<u32> {
        let chunk = self.view.chunk(id);
        let mut rows = Vec::new();
        chunk.visible(self.view.version(), 0..chunk.rows() as u32, &mut rows);
        rows
    }

    /// Takes one row through all statements that want it, in order, up to the first that fails.
    fn walk(&mut self, location: Location, mut candidates: Candidates) -> Walk {
        let mut walk = Walk { location, steps: Vec::new(), failure: None };
        let mut row = self.view.row(location);
        let mut from = 0;
        while let Some(slot) = next_slot(&candidates.all, from) {
            let statement = slot.index();
            from = statement + 1;
            if self.failed[statement] {
                continue;
            }
            let change = match self.turn(slot, &row, &candidates) {
                Ok(None) => continue,
                Ok(Some(change)) => change,
                Err(error) => {
                    walk.failure = Some((statement, error));
                    break;
                }
            };
            walk.steps.push((statement, change.clone()));
            match change {
                Change::Delete => break,
                Change::Keep => {}
                Change::Update(values) => {
                    row = values;
                    candidates = self.candidates(&row);
                }
            }
        }
        walk
    }

    /// What a statement makes of the row now; `None` if it turns out not to want it.
    fn turn(
        &mut self,
        slot: Slot,
        row: &[Value],
        candidates: &Candidates,
    ) -> Result<Option<Change>> {
        if words::contains(&candidates.unsure, slot) && !self.batch.matches(slot, row)? {
            return Ok(None);
        }
        (self.apply)(slot.index(), row).map(Some)
    }

    /// Whoever the indexes do not rule out for a row given by its values.
    fn candidates(&self, row: &[Value]) -> Candidates {
        let all = self.batch.sets().words(self.batch.probe_row(row)).to_vec();
        Candidates { unsure: all.clone(), all }
    }

    /// Before the earliest failing statement nobody has failed, so its failure is certain; those of later ones
    /// are not, where it had changed the row before.
    fn settle_failures(&mut self) {
        loop {
            let failures = self.rows.iter().filter_map(|row| row.failure.as_ref());
            let Some((statement, error)) = failures.min_by_key(|(statement, _)| *statement) else {
                return;
            };
            let statement = *statement;
            self.errors.push((statement, error.clone()));
            self.failed[statement] = true;
            for at in 0..self.rows.len() {
                if self.rows[at].involves(statement) {
                    let location = self.rows[at].location;
                    let candidates = self.candidates(&self.view.row(location));
                    self.rows[at] = self.walk(location, candidates);
                }
            }
        }
    }

    fn finish(mut self) -> UpdateJoinOutput {
        self.errors.sort_by_key(|(statement, _)| *statement);
        let changed = self.rows.into_iter().filter(|walk| !walk.steps.is_empty());
        let rows = changed.map(|walk| RowUpdates {
            row: self.view.row_id(walk.location),
            location: walk.location,
            steps: walk.steps,
        });
        UpdateJoinOutput { rows: rows.collect(), errors: self.errors }
    }
}

impl Walk {
    fn involves(&self, statement: usize) -> bool {
        self.failure.as_ref().is_some_and(|(failed, _)| *failed == statement)
            || self.steps.iter().any(|(step, _)| *step == statement)
    }
}

fn next_slot(set: &[u64], from: usize) -> Option<Slot> {
    let word = from / 64;
    let first = *set.get(word)? & (u64::MAX << (from % 64));
    let rest = std::iter::once(first).chain(set[word + 1..].iter().copied());
    let (at, bits) = rest.enumerate().find(|(_, bits)| *bits != 0)?;
    Some(Slot(((word + at) * 64) as u32 + bits.trailing_zeros()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::reference;
    use crate::storage::{Store, load_in_chunks};
    use crate::transaction::Evaluation;
    use crate::types::{Comparison, Scalar, SqlState, Version};

    #[test]
    fn slots_come_in_order_from_anywhere() {
        let set = [1 << 3 | 1 << 63, 0, 1 << 5];
        assert_eq!(next_slot(&set, 0), Some(Slot(3)));
        assert_eq!(next_slot(&set, 4), Some(Slot(63)));
        assert_eq!(next_slot(&set, 64), Some(Slot(133)));
        assert_eq!(next_slot(&set, 134), None);
        assert_eq!(next_slot(&set, 192), None);
    }

    /// One statement of the twin: where, and what to do.
    #[derive(Clone, Debug)]
    struct Write {
        predicates: Vec<Predicate>,
        action: Action,
    }

    #[derive(Clone, Debug)]
    enum Action {
        /// Sets a column to a value.
        Set(usize, Value),
        /// Adds to `c1`; fails where the sum exceeds 25.
        Add(i16),
        Delete,
    }

    fn apply(write: &Write, row: &[Value]) -> Result<Change> {
        let mut row = row.to_vec();
        match &write.action {
            Action::Delete => return Ok(Change::Delete),
            Action::Set(column, value) => row[*column] = value.clone(),
            Action::Add(amount) => {
                let Value::SmallInt(old) = row[1] else { return Ok(Change::Keep) };
                if old + amount > 25 {
                    return Err(Error::new(SqlState::NumericOutOfRange, "smallint out of range"));
                }
                row[1] = Value::SmallInt(old + amount);
            }
        }
        Ok(Change::Update(row))
    }

    fn write() -> impl Strategy<Value = Write> {
        let column = select(vec![1usize, 2, 6]);
        let comparison = select(vec![Comparison::Equal, Comparison::Less, Comparison::Greater]);
        let compare =
            (column.clone(), comparison).prop_flat_map(|(column, comparison)| {
                reference::value(reference::TYPES[column]).prop_map(move |value| {
                    Predicate::Compare { column, comparison, value: Scalar::Literal(value) }
                })
            });
        // One at most: of several that may fail, which is asked first is not said.
        let divisible = (-1i32..3).prop_map(reference::not_divisible);
        let predicates = (
            prop::collection::vec(compare, 0..3),
            prop::option::weighted(0.2, divisible),
            any::<bool>(),
        );
        let predicates = predicates.prop_map(|(mut predicates, divisible, first)| {
            let at = if first { 0 } else { predicates.len() };
            divisible.into_iter().for_each(|divisible| predicates.insert(at, divisible));
            predicates
        });
        let set = column.prop_flat_map(|column| {
            reference::value(reference::TYPES[column]).prop_map(move |v| Action::Set(column, v))
        });
        let action =
            prop_oneof![4 => set, 3 => (1i16..9).prop_map(Action::Add), 1 => Just(Action::Delete)];
        (predicates, action).prop_map(|(predicates, action)| Write { predicates, action })
    }

    /// Statement after statement over all rows; a statement that fails leaves everything as it was.
    fn one_by_one(rows: &[Vec<Value>], writes: &[Write]) -> (Vec<Option<Vec<Value>>>, Vec<usize>) {
        let mut table: Vec<Option<Vec<Value>>> = rows.iter().cloned().map(Some).collect();
        let mut failed = Vec::new();
        for (number, write) in writes.iter().enumerate() {
            let run = table.iter().map(|row| {
                let Some(row) = row else { return Ok(None) };
                let parameters = Parameters { values: &[], types: &[] };
                let row = row.as_slice();
                let evaluation = Evaluation { row, types: &reference::TYPES, parameters };
                if !evaluation.all(&reference::expressions_last(&write.predicates))? {
                    return Ok(Some(row.to_vec()));
                }
                Ok(match apply(write, row)? {
                    Change::Update(row) => Some(row),
                    Change::Keep => Some(row.to_vec()),
                    Change::Delete => None,
                })
            });
            match run.collect::<Result<Vec<_>>>() {
                Ok(after) => table = after,
                Err(_) => failed.push(number),
            }
        }
        (table, failed)
    }

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn one_pass_equals_statement_after_statement(
            rows in prop::collection::vec(reference::row(), 1..30),
            writes in prop::collection::vec(write(), 1..80),
        ) {
            let store = Store::new(1);
            let table = store.create_table(reference::schema());
            let rows: Vec<Vec<Value>> =
                rows.iter().enumerate().map(|(key, row)| reference::keyed(row, key)).collect();
            match rows.len() % 2 {
                0 => drop(load_in_chunks(&table, &rows, 7, Version(1))),
                _ => {
                    for row in &rows {
                        table.insert(row, Version(1));
                    }
                }
            }
            store.publish(Version(1));
            let statements: Vec<Statement<'_>> = writes
                .iter()
                .map(|write| Statement {
                    predicates: &write.predicates,
                    parameters: Parameters { values: &[], types: &[] },
                })
                .collect();
            let view = table.view(Version(1));
            let statistics = table.statistics();
            let output = update_join(&view, &statements, &statistics, &mut |number, row| {
                apply(&writes[number], row)
            });
            let (expected, failed) = one_by_one(&rows, &writes);
            let errors: Vec<usize> = output.errors.iter().map(|(number, _)| *number).collect();
            prop_assert_eq!(errors, failed);
            let mut after: Vec<Option<Vec<Value>>> = rows.iter().cloned().map(Some).collect();
            for row in &output.rows {
                prop_assert!(row.steps.is_sorted_by_key(|(statement, _)| *statement));
                for (_, change) in &row.steps {
                    match change {
                        Change::Update(values) => after[row.row.0 as usize] = Some(values.clone()),
                        Change::Delete => after[row.row.0 as usize] = None,
                        Change::Keep => {}
                    }
                }
            }
            // NaN differs from itself: compare what people see.
            prop_assert_eq!(format!("{after:?}"), format!("{expected:?}"));
        }
    }
}
