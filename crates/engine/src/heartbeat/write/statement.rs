//! Running INSERT, UPDATE and DELETE in a workspace: the changes go into its set, nothing is applied.

use std::sync::Arc;

use super::access::matching_rows;
use super::insert::insert;
use crate::heartbeat::{Answer, AnswerPart};
use crate::plan::{DeletePlan, UpdatePlan, WriteAction, WritePlan};
use crate::storage::Store;
use crate::transaction::{
    Evaluation, Parameters, Reevaluation, Relation, Workspace, check_changes, check_row,
};
use crate::types::{ColumnId, Result, RowId, Scalar, TableId, Value, limit};

/// Rows of which a statement computes the values before it asks whether it goes on.
const ROWS_BETWEEN_CHECKS: usize = 32;

/// What a statement did.
#[derive(Debug, Default)]
pub(super) struct Effect {
    pub rows: u64,
    pub returning: Option<Answer>,
    /// Which rows RETURNING has shown.
    pub shown: Vec<(TableId, RowId)>,
}

/// A statement's run over one workspace.
pub(super) struct Run<'a, 'w> {
    pub store: &'a Store,
    pub workspace: &'a mut Workspace<'w>,
    pub plan: &'a WritePlan,
    pub parameters: Parameters<'a>,
    /// Whether changes must say how to compute them again (blocks) or are applied at once.
    pub again: bool,
    /// Rows for RETURNING, in order.
    pub touched: Vec<(TableId, RowId, Vec<Value>)>,
    pub rows: u64,
}

/// Runs a statement. After an error the caller rolls the set back to where it was.
pub(super) fn run(
    store: &Store,
    workspace: &mut Workspace<'_>,
    plan: &WritePlan,
    parameters: &[Value],
    again: bool,
) -> Result<Effect> {
    let mark = workspace.set.mark();
    let parameters = Parameters { values: parameters, types: &plan.parameters };
    let (touched, rows) = (Vec::new(), 0);
    let mut run = Run { store, workspace, plan, parameters, again, touched, rows };
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
    let (touched, rows) = (run.touched, run.rows);
    check_changes(workspace, mark)?;
    let relation = workspace.relation(table)?;
    let returning = returning(&relation, plan, parameters, &touched)?;
    let shown = touched.into_iter().map(|(table, id, _)| (table, id)).collect();
    Ok(Effect { rows, returning, shown })
}

impl Run<'_, '_> {
    /// Whether RETURNING wants the rows.
    pub fn touch(&mut self, table: TableId, id: RowId, row: impl FnOnce() -> Vec<Value>) {
        self.rows += 1;
        if !self.plan.output.is_empty() {
            self.touched.push((table, id, row()));
        }
    }
}

fn update(run: &mut Run<'_, '_>, plan: &UpdatePlan) -> Result<()> {
    let relation = run.workspace.target(plan.table)?;
    let found = matching_rows(run.workspace, &relation, &plan.predicates, run.parameters, true)?;
    let base = run.workspace.base();
    let again = (run.again && !found.is_empty()).then(|| {
        Arc::new(Reevaluation {
            predicates: plan.predicates.clone(),
            assignments: plan.assignments.clone(),
            checks: plan.checks.clone(),
            parameters: run.parameters.values.into(),
            parameter_types: run.parameters.types.into(),
            excluded: None,
        })
    });
    for (at, (id, mut row)) in found.into_iter().enumerate() {
        check_now_and_then(at)?;
        assign(&relation, &mut row, &plan.assignments, run.parameters)?;
        check_row(&relation, &mut row, &plan.checks)?;
        run.touch(plan.table, id, || row.clone());
        run.workspace.set.update_row(plan.table, id, base, row, again.clone());
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
    let found = matching_rows(run.workspace, &relation, &plan.predicates, run.parameters, shows)?;
    let base = run.workspace.base();
    let again = (run.again && !found.is_empty()).then(|| {
        Arc::new(Reevaluation {
            predicates: plan.predicates.clone(),
            assignments: Vec::new(),
            checks: Vec::new(),
            parameters: run.parameters.values.into(),
            parameter_types: run.parameters.types.into(),
            excluded: None,
        })
    });
    for (at, (id, old)) in found.into_iter().enumerate() {
        check_now_and_then(at)?;
        run.touch(plan.table, id, || old);
        run.workspace.set.delete(plan.table, id, base, again.clone());
        run.workspace.set.make_room()?;
    }
    Ok(())
}

fn returning(
    relation: &Relation,
    plan: &WritePlan,
    parameters: Parameters<'_>,
    touched: &[(TableId, RowId, Vec<Value>)],
) -> Result<Option<Answer>> {
    if plan.output.is_empty() {
        return Ok(None);
    }
    let values = |(_, _, row): &(TableId, RowId, Vec<Value>)| {
        let evaluation = Evaluation { row: &row[..], types: &relation.types, parameters };
        plan.returning.iter().map(|item| evaluation.scalar(item)).collect()
    };
    let rows = touched.iter().map(values).collect::<Result<_>>()?;
    let (output, parts) = (plan.output.clone(), vec![AnswerPart::Own(rows)]);
    Ok(Some(Answer::new(output, parts)))
}
