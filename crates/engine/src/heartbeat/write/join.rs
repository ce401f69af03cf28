//! Updates and deletes that no index answers, joined with the rows in one pass: the update-data join.
//!
//! Consecutive ones of a turn on one table run together if none of them can fail for another row's sake: they
//! change no column of a unique key or a foreign key, and end no row that others refer to. Then what each does is
//! decided row by row, in arrival order (Index Union Update Join of the Crescando paper, section 5.3). Where
//! anything is out of the ordinary the statements run one by one instead.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Shared;
use super::access::has_index;
use super::queue::{Request, Work};
use super::statement::{Effect, assign};
use super::turn::{Fate, Looked, Writer};
use crate::heartbeat::WriteOutcome;
use crate::plan::{WriteAction, WritePlan};
use crate::scan::{Change, Statement, UpdateJoinOutput, update_join};
use crate::transaction::{
    Change as Changed, LockKey, LockMode, Parameters, Relation, Relations, WriteSet, check_row,
};
use crate::types::{ColumnId, Result, TableId, Value};

/// Statements of one pass at most: one word-sized slot each in its query sets.
const LARGEST_PASS: usize = 1_024;

/// The table whose pass a request can join.
fn pass_of(relations: &Relations, request: &Request) -> Option<TableId> {
    let Work::Write(plan, _) = &request.work else { return None };
    if !plan.output.is_empty() || request.owner.is_some() {
        return None;
    }
    let (table, predicates) = match &plan.action {
        WriteAction::Insert(_) => return None,
        WriteAction::Update(update) => (update.table, &update.predicates),
        WriteAction::Delete(delete) => (delete.table, &delete.predicates),
    };
    let relation = relations.get(table).ok()?;
    (!has_index(relation, predicates) && stays_alone(relation, plan)).then_some(table)
}

/// Whether what the statement does to a row concerns no other row.
fn stays_alone(relation: &Relation, plan: &WritePlan) -> bool {
    match &plan.action {
        WriteAction::Insert(_) => false,
        WriteAction::Delete(_) => relation.children.is_empty(),
        WriteAction::Update(update) => {
            let is_assigned = |column: ColumnId| {
                update.assignments.iter().any(|(assigned, _)| *assigned == column)
            };
            let changes = |column: &ColumnId| {
                is_assigned(*column) || update.rules.generates(*column, is_assigned)
            };
            let unique = relation.indexes.iter().filter(|index| index.schema().unique);
            !unique.flat_map(|index| &index.schema().columns).any(changes)
                && !relation.parents.iter().flat_map(|r| &r.child_columns).any(changes)
                && !relation.children.iter().flat_map(|r| &r.parent_columns).any(changes)
        }
    }
}

/// How many of the next requests can share one pass, if at least two.
pub(super) fn pass_length(shared: &Shared, requests: &VecDeque<Request>) -> Option<usize> {
    let relations = shared.relations.load();
    let table = pass_of(&relations, requests.front()?)?;
    let length = requests
        .iter()
        .take(LARGEST_PASS)
        .take_while(|request| pass_of(&relations, request) == Some(table))
        .count();
    (length > 1).then_some(length)
}

impl Writer {
    /// Runs a pass for `requests`; gives them back if they must run one by one.
    pub(super) fn pass(&mut self, shared: &Shared, requests: Vec<Request>) -> Option<Vec<Request>> {
        let length = self.record.bytes.len();
        let mut applying = false;
        let outcome =
            catch_unwind(AssertUnwindSafe(|| self.run_pass(shared, &requests, &mut applying)));
        self.clear_scratch();
        match outcome {
            Ok(Ok(Some(results))) => {
                let receivers = requests.into_iter().map(|request| request.receiver);
                self.answer_later(receivers.zip(results));
                None
            }
            Err(_) if applying => {
                self.stop(shared, "a panic while writes were applied");
                Some(requests)
            }
            Ok(_) | Err(_) => {
                self.record.bytes.truncate(length);
                Some(requests)
            }
        }
    }

    fn run_pass(
        &mut self,
        shared: &Shared,
        requests: &[Request],
        applying: &mut bool,
    ) -> Result<Option<Vec<Result<WriteOutcome>>>> {
        let relations = shared.relations.load();
        let writes: Vec<(&WritePlan, &[Value])> = requests
            .iter()
            .filter_map(|request| match &request.work {
                Work::Write(plan, parameters) => Some((&**plan, &**parameters)),
                _ => None,
            })
            .collect();
        let relation = relations.get(table_of(writes[0].0))?;
        let output = join(relation, &writes, self.present());
        let table = relation.schema.id;
        let (mut rows, base) = (vec![0; writes.len()], self.present());
        for row in output.rows {
            row.steps.iter().for_each(|(statement, _)| rows[*statement] += 1);
            let last = row.steps.into_iter().rev().find(|(_, change)| *change != Change::Keep);
            match last {
                Some((_, Change::Update(new))) => {
                    self.scratch_mut().update_row(table, row.row, base, new);
                    self.scratch_mut().make_room()?;
                }
                Some((_, Change::Delete)) => {
                    self.scratch_mut().delete(table, row.row, base);
                }
                Some((_, Change::Keep)) | None => {}
            }
        }
        let is_first = self.has_changed_nothing();
        let looked =
            if shared.locks.any() { looked(relation, self.scratch_mut()) } else { Looked::None };
        let fate = self.commit(shared, Effect::default(), (looked, None), applying)?;
        let Fate::Done(outcome) = fate else { return Ok(None) };
        let version = outcome?.version;
        let mut results: Vec<Result<WriteOutcome>> = rows
            .into_iter()
            .enumerate()
            .map(|(number, rows)| {
                let is_first = is_first && number == 0;
                Ok(WriteOutcome { rows, is_first, ..super::turn::outcome(version) })
            })
            .collect();
        for (statement, error) in output.errors {
            results[statement] = Err(error);
        }
        Ok(Some(results))
    }
}

/// The locks that a pass and its changes need: they leave keys alone.
fn looked(relation: &Relation, set: &WriteSet) -> Looked {
    let need = |change: &Changed| {
        let (table, id) = change.row_key();
        let mode = if change.row().is_some() { LockMode::NoKeyUpdate } else { LockMode::Update };
        (LockKey::Row(table, id), mode.into())
    };
    let of_table = relation.used_by_changes().map(|(id, mode)| (LockKey::Table(id), mode.into()));
    Looked::At(of_table.chain(set.changes().map(need)).collect())
}

pub(super) fn table_of(plan: &WritePlan) -> TableId {
    match &plan.action {
        WriteAction::Insert(insert) => insert.table,
        WriteAction::Update(update) => update.table,
        WriteAction::Delete(delete) => delete.table,
    }
}

fn join(
    relation: &Relation,
    writes: &[(&WritePlan, &[Value])],
    present: crate::types::Version,
) -> UpdateJoinOutput {
    let statements: Vec<Statement<'_>> = writes
        .iter()
        .map(|(plan, values)| {
            let predicates = match &plan.action {
                WriteAction::Update(update) => &update.predicates[..],
                WriteAction::Delete(delete) => &delete.predicates[..],
                WriteAction::Insert(_) => &[],
            };
            Statement { predicates, parameters: Parameters { values, types: &plan.parameters } }
        })
        .collect();
    let mut change = |statement: usize, old: &[Value]| match &writes[statement].0.action {
        WriteAction::Update(update) => {
            let parameters = statements[statement].parameters;
            let mut new = old.to_vec();
            assign(relation, &mut new, &update.assignments, parameters)?;
            check_row(relation, &mut new, &update.rules)?;
            Ok(Change::Update(new))
        }
        WriteAction::Delete(_) => Ok(Change::Delete),
        WriteAction::Insert(_) => Ok(Change::Keep),
    };
    let view = relation.table.view(present);
    update_join(&view, &statements, &relation.table.statistics(), &mut change)
}
