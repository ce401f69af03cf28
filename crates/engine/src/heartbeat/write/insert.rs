//! INSERT, with sequences and ON CONFLICT.

use super::statement::{Run, check_now_and_then, update_mode};
use crate::heartbeat::Drawn;
use crate::plan::{ConflictAction, InsertPlan, InsertSource, OnConflict};
use crate::storage::Store;
use crate::transaction::{Evaluation, Joined, Parameters, Relation, check_row, outdated};
use crate::types::{Error, Result, RowId, SequenceId, SqlState, Value, ValueRef};

pub(super) fn insert(run: &mut Run<'_, '_>, plan: &InsertPlan) -> Result<()> {
    let relation = run.workspace.target(plan.table)?;
    let mut affected = Vec::new();
    let counts = |source: &InsertSource| matches!(source, InsertSource::NextValue(_));
    let keeps = run.memory.keeps_rows() && plan.rows.iter().flatten().any(counts);
    for (at, sources) in plan.rows.iter().enumerate() {
        check_now_and_then(at)?;
        let row = match run.memory.made.get(at) {
            Some(made) => made.clone(),
            None => made_row(run, plan, &relation, sources, keeps)?,
        };
        run.workspace.set.make_room()?;
        match &plan.on_conflict {
            None => drop(add(run, plan, row)),
            Some(on_conflict) => match conflicting(run, &relation, on_conflict, &row)? {
                None => affected.push(add(run, plan, row)),
                Some(id) => {
                    resolve(run, plan, &relation, on_conflict, id, row, &mut affected)?;
                }
            },
        }
    }
    Ok(())
}

/// A row to be inserted, checked. A statement that has waited takes no second value of a sequence for it.
fn made_row(
    run: &mut Run<'_, '_>,
    plan: &InsertPlan,
    relation: &Relation,
    sources: &[InsertSource],
    keeps: bool,
) -> Result<Vec<Value>> {
    let drawn = &mut run.memory.drawn;
    let mut row = new_row(run.store, run.parameters, relation, sources, drawn)?;
    check_row(relation, &mut row, &plan.rules)?;
    if keeps {
        run.memory.made.push(row.clone());
    }
    Ok(row)
}

/// The values of a row to be inserted; sequences give their next value.
pub(super) fn new_row(
    store: &Store,
    parameters: Parameters<'_>,
    relation: &Relation,
    sources: &[InsertSource],
    drawn: &mut Drawn,
) -> Result<Vec<Value>> {
    let empty: &[Value] = &[];
    let evaluation = Evaluation { row: empty, types: &[], parameters };
    let value = |source: &InsertSource| match source {
        InsertSource::Scalar(scalar) => evaluation.scalar(scalar),
        InsertSource::NextValue(sequence) => {
            let value = next_value(store, *sequence)?;
            drawn.note(*sequence, value);
            Ok(Value::BigInt(value))
        }
    };
    let mut row: Vec<Value> = sources.iter().map(value).collect::<Result<_>>()?;
    if row.len() != relation.schema.columns.len() {
        return Err(outdated(relation));
    }
    for (value, data_type) in row.iter_mut().zip(&relation.types) {
        narrow(value, *data_type)?;
    }
    Ok(row)
}

/// Sequences count in 64 bits; serial and identity columns may be narrower.
pub(super) fn narrow(value: &mut Value, data_type: crate::types::DataType) -> Result<()> {
    use crate::types::DataType;
    let Value::BigInt(wide) = *value else { return Ok(()) };
    let out_of_range =
        |_| Error::new(SqlState::NumericOutOfRange, format!("{data_type} out of range"));
    *value = match data_type {
        DataType::SmallInt => Value::SmallInt(i16::try_from(wide).map_err(out_of_range)?),
        DataType::Integer => Value::Integer(i32::try_from(wide).map_err(out_of_range)?),
        _ => return Ok(()),
    };
    Ok(())
}

pub(super) fn next_value(store: &Store, id: SequenceId) -> Result<i64> {
    let sequence = store.sequence(id).ok_or_else(|| {
        Error::new(SqlState::UndefinedTable, format!("sequence with id {id} does not exist"))
    })?;
    sequence.next_value()
}

fn add(run: &mut Run<'_, '_>, plan: &InsertPlan, row: Vec<Value>) -> RowId {
    run.touch(|| row.clone());
    run.workspace.set.insert_row(plan.table, row.into())
}

/// The row that is in the way.
fn conflicting(
    run: &mut Run<'_, '_>,
    relation: &Relation,
    on_conflict: &OnConflict,
    row: &[Value],
) -> Result<Option<RowId>> {
    let arbiters = relation.indexes.iter().filter(|index| match on_conflict.index {
        Some(wanted) => index.schema().id == wanted,
        None => index.schema().unique,
    });
    for index in arbiters {
        let columns = &index.schema().columns;
        let key: Vec<ValueRef<'_>> = columns.iter().map(|c| row[c.index()].borrow()).collect();
        if key.iter().any(|value| value.is_null()) {
            continue;
        }
        run.workspace.look_at_key(relation, index, &key)?;
        if let Some(holder) = run.workspace.holder(relation, index, &key, None) {
            return Ok(Some(holder));
        }
    }
    Ok(None)
}

fn resolve(
    run: &mut Run<'_, '_>,
    plan: &InsertPlan,
    relation: &Relation,
    on_conflict: &OnConflict,
    id: RowId,
    excluded: Vec<Value>,
    affected: &mut Vec<RowId>,
) -> Result<()> {
    let ConflictAction::Update { assignments, predicates } = &on_conflict.action else {
        return Ok(());
    };
    if affected.contains(&id) {
        return Err(Error::new(
            SqlState::CardinalityViolation,
            "ON CONFLICT DO UPDATE command cannot affect row a second time",
        )
        .hint(
            "Ensure that no rows proposed for insertion within the same command have duplicate \
             constrained values.",
        ));
    }
    run.workspace.lock_row(relation, id, update_mode(relation, assignments, &plan.rules))?;
    let old = run.workspace.row(relation, id).expect("what holds a key is there");
    let types = [&relation.types[..], &relation.types[..]].concat();
    let joined = Joined(&old, &excluded);
    let evaluation = Evaluation { row: &joined, types: &types, parameters: run.parameters };
    if !evaluation.all(predicates)? {
        return Ok(());
    }
    let mut new = old.clone();
    for (column, value) in assignments {
        new[column.index()] = evaluation.scalar(value)?;
    }
    check_row(relation, &mut new, &plan.rules)?;
    affected.push(id);
    run.touch(|| new.clone());
    let base = run.workspace.base();
    run.workspace.set.update_row(plan.table, id, base, new);
    Ok(())
}
