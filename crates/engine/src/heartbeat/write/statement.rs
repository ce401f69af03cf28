//! Running INSERT, UPDATE and DELETE in a workspace: the changes go into its set, nothing is applied.

use super::access::{Found, matching_rows};
use super::insert::insert;
use crate::heartbeat::{Answer, AnswerPart, Drawn};
use crate::plan::{DeletePlan, UpdatePlan, WriteAction, WritePlan};
use crate::storage::Store;
use crate::transaction::{
    Evaluation, LockMode, Moment, Parameters, Relation, Workspace, check_changes, check_row,
};
use crate::types::{ColumnId, Predicate, Result, RowId, RowRules, Scalar, Value, limit};

/// Rows of which a statement computes the values before it asks whether it goes on.
const ROWS_BETWEEN_CHECKS: usize = 32;

/// What a statement did.
#[derive(Debug, Default)]
pub(super) struct Effect {
    pub rows: u64,
    pub returning: Option<Answer>,
    pub drawn: Drawn,
}

/// What a statement of a block keeps while it waits.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// A statement by itself is done at once.
    is_of_block: bool,
    /// The rows that it has found.
    found: Option<Vec<RowId>>,
    /// The new rows that it has made, where sequences are asked for values.
    pub made: Vec<Vec<Value>>,
    /// What it took of sequences.
    pub drawn: Drawn,
}

impl Memory {
    pub fn of_block() -> Memory {
        Memory { is_of_block: true, ..Memory::default() }
    }

    /// Whether new rows are to be kept.
    pub fn keeps_rows(&self) -> bool {
        self.is_of_block
    }
}

/// A statement's run over one workspace.
pub(super) struct Run<'a, 'w> {
    pub store: &'a Store,
    pub workspace: &'a mut Workspace<'w>,
    pub plan: &'a WritePlan,
    pub parameters: Parameters<'a>,
    pub memory: &'a mut Memory,
    /// Rows for RETURNING, in order.
    pub touched: Vec<Vec<Value>>,
    pub rows: u64,
}

/// Runs a statement. After an error the caller rolls the set back to where it was.
pub(super) fn run(
    store: &Store,
    workspace: &mut Workspace<'_>,
    plan: &WritePlan,
    parameters: &[Value],
    memory: &mut Memory,
) -> Result<Effect> {
    let mark = workspace.set.mark();
    let parameters = Parameters { values: parameters, types: &plan.parameters };
    let (touched, rows) = (Vec::new(), 0);
    let mut run = Run { store, workspace, plan, parameters, memory, touched, rows };
    let table = match &plan.action {
        WriteAction::Insert(insert_plan) => {
            insert(&mut run, insert_plan)?;
            insert_plan.table
        }
        WriteAction::Update(update_plan) => {
            update(&mut run, update_plan)?;
            update_plan.table
        }
        WriteAction::Delete(delete_plan) => {
            delete(&mut run, delete_plan)?;
            delete_plan.table
        }
    };
    let (touched, rows, drawn) = (run.touched, run.rows, run.memory.drawn.clone());
    check_changes(workspace, mark, Moment::Statement)?;
    let relation = workspace.relation(table)?;
    let returning = returning(&relation, plan, parameters, &touched)?;
    Ok(Effect { rows, returning, drawn })
}

impl Run<'_, '_> {
    /// Whether RETURNING wants the rows.
    pub fn touch(&mut self, row: impl FnOnce() -> Vec<Value>) {
        self.rows += 1;
        if !self.plan.output.is_empty() {
            self.touched.push(row());
        }
    }

    /// The rows that meet the predicates, locked. A statement that has waited looks again at those that it found at first.
    fn find(
        &mut self,
        relation: &Relation,
        predicates: &[Predicate],
        with_values: bool,
        mode: LockMode,
    ) -> Result<Vec<Found>> {
        if let Some(found) = self.memory.found.take() {
            let again = self.find_again(relation, predicates, &found, mode);
            self.memory.found = Some(found);
            return again;
        }
        let parameters = self.parameters;
        let found = matching_rows(self.workspace, relation, predicates, parameters, with_values)?;
        if self.memory.is_of_block {
            self.memory.found = Some(found.iter().map(|(id, _)| *id).collect());
        }
        for (at, (id, _)) in found.iter().enumerate() {
            check_now_and_then(at)?;
            self.workspace.lock_row(relation, *id, mode)?;
        }
        Ok(found)
    }

    fn find_again(
        &mut self,
        relation: &Relation,
        predicates: &[Predicate],
        found: &[RowId],
        mode: LockMode,
    ) -> Result<Vec<Found>> {
        let mut again = Vec::with_capacity(found.len());
        for (at, id) in found.iter().enumerate() {
            check_now_and_then(at)?;
            self.workspace.lock_row(relation, *id, mode)?;
            let Some(row) = self.workspace.row(relation, *id) else { continue };
            let (types, parameters) = (&*relation.types, self.parameters);
            if (Evaluation { row: &row[..], types, parameters }).all(predicates)? {
                again.push((*id, row));
            }
        }
        Ok(again)
    }
}

/// How strongly an UPDATE of these columns locks its rows.
pub(super) fn update_mode(
    relation: &Relation,
    assignments: &[(ColumnId, Scalar)],
    rules: &RowRules,
) -> LockMode {
    let unique = relation.indexes.iter().filter(|index| index.schema().unique);
    let is_assigned = |column: ColumnId| {
        let keeps = |value: &Scalar| matches!(value, Scalar::Column(own) if *own == column.index());
        assignments.iter().any(|(assigned, value)| *assigned == column && !keeps(value))
    };
    let changes = |column: &ColumnId| is_assigned(*column) || rules.generates(*column, is_assigned);
    match unique.flat_map(|index| &index.schema().columns).any(changes) {
        true => LockMode::Update,
        false => LockMode::NoKeyUpdate,
    }
}

fn update(run: &mut Run<'_, '_>, plan: &UpdatePlan) -> Result<()> {
    let relation = run.workspace.target(plan.table)?;
    let mode = update_mode(&relation, &plan.assignments, &plan.rules);
    let found = run.find(&relation, &plan.predicates, true, mode)?;
    let base = run.workspace.base();
    for (at, (id, mut row)) in found.into_iter().enumerate() {
        check_now_and_then(at)?;
        assign(&relation, &mut row, &plan.assignments, run.parameters)?;
        check_row(&relation, &mut row, &plan.rules)?;
        run.touch(|| row.clone());
        run.workspace.set.update_row(plan.table, id, base, row);
        run.workspace.set.make_room()?;
    }
    Ok(())
}

/// Asks now and then whether the statement goes on: a row's values may take long.
pub(super) fn check_now_and_then(row: usize) -> Result<()> {
    if row % ROWS_BETWEEN_CHECKS == ROWS_BETWEEN_CHECKS - 1 { limit::check() } else { Ok(()) }
}

/// Gives a row its new values; all of them are computed from the old ones.
pub(super) fn assign(
    relation: &Relation,
    row: &mut [Value],
    assignments: &[(ColumnId, Scalar)],
    parameters: Parameters<'_>,
) -> Result<()> {
    let evaluation = Evaluation { row: &*row, types: &relation.types, parameters };
    if let [(column, value)] = assignments {
        row[column.index()] = evaluation.scalar(value)?;
        return Ok(());
    }
    let values = assignments.iter().map(|(_, value)| evaluation.scalar(value));
    let values: Vec<Value> = values.collect::<Result<_>>()?;
    for ((column, _), value) in assignments.iter().zip(values) {
        row[column.index()] = value;
    }
    Ok(())
}

fn delete(run: &mut Run<'_, '_>, plan: &DeletePlan) -> Result<()> {
    let relation = run.workspace.relation(plan.table)?;
    let shows = !run.plan.output.is_empty();
    let found = run.find(&relation, &plan.predicates, shows, LockMode::Update)?;
    let base = run.workspace.base();
    for (at, (id, old)) in found.into_iter().enumerate() {
        check_now_and_then(at)?;
        run.touch(|| old);
        run.workspace.set.delete(plan.table, id, base);
        run.workspace.set.make_room()?;
    }
    Ok(())
}

fn returning(
    relation: &Relation,
    plan: &WritePlan,
    parameters: Parameters<'_>,
    touched: &[Vec<Value>],
) -> Result<Option<Answer>> {
    if plan.output.is_empty() {
        return Ok(None);
    }
    let values = |row: &Vec<Value>| {
        let evaluation = Evaluation { row: &row[..], types: &relation.types, parameters };
        plan.returning.iter().map(|item| evaluation.scalar(item)).collect()
    };
    let rows = touched.iter().map(values).collect::<Result<_>>()?;
    let (output, parts) = (plan.output.clone(), vec![AnswerPart::Own(rows)]);
    Ok(Some(Answer::new(output, parts)))
}
