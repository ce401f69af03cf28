//! Finding the rows that a write changes: by key where an index answers, else by a pass over the table.

use std::sync::Arc;

use crate::env::memory::Growth;
use crate::scan;
use crate::storage::{Bound, Index, TableView};
use crate::transaction::{Evaluation, Overlay, Parameters, Relation, Sight, ViewRow, Workspace};
use crate::types::{
    ColumnId, Comparison, IndexKind, Location, Predicate, Result, RowId, Scalar, Value, ValueRef,
};

/// A row and its present values.
pub(super) type Found = (RowId, Vec<Value>);

/// Rows that were found, and what they take.
#[derive(Default)]
struct FoundRows {
    rows: Vec<Found>,
    growth: Growth,
}

impl FoundRows {
    /// 53200 where memory for it is missing.
    fn push(&mut self, id: RowId, row: Vec<Value>) -> Result<()> {
        let heap: usize = row.iter().map(Value::heap).sum();
        self.growth.add(size_of::<Found>() + row.len() * size_of::<Value>() + heap)?;
        self.rows.push((id, row));
        Ok(())
    }
}

/// How rows are reached.
#[derive(Debug)]
enum Path {
    /// Whole keys of an index.
    Keys(Arc<Index>, Vec<Vec<Value>>),
    /// A prefix of an ordered index's key.
    Prefix(Arc<Index>, Vec<Value>),
    /// Some conjunct compares with NULL.
    Nothing,
    /// Every row.
    Pass,
}

/// The rows of a table, own and stored, that meet all predicates, with their values where somebody needs them: without, many
/// can be found when memory is short.
pub(super) fn matching_rows(
    workspace: &mut Workspace<'_>,
    relation: &Relation,
    predicates: &[Predicate],
    parameters: Parameters<'_>,
    with_values: bool,
) -> Result<Vec<Found>> {
    let mut found = FoundRows::default();
    let path = choose(relation, predicates, parameters)?;
    if matches!(path, Path::Nothing) {
        return Ok(Vec::new());
    }
    let filter = Filter { relation, predicates, parameters, with_values };
    filter.own_rows(workspace, &path, &mut found)?;
    filter.stored_rows(workspace, &path, &mut found)?;
    Ok(found.rows)
}

/// Whether the rows would be found without a pass over the table.
pub(super) fn has_index(relation: &Relation, predicates: &[Predicate]) -> bool {
    let bound = |column: ColumnId| {
        predicates.iter().any(|predicate| match predicate {
            Predicate::Compare { column: c, comparison: Comparison::Equal, value } => {
                *c == column.index() && is_constant(value)
            }
            _ => false,
        })
    };
    let listed = |column: ColumnId| {
        predicates.iter().any(|predicate| match predicate {
            Predicate::In { column: c, values, negated: false } => {
                *c == column.index() && values.iter().all(is_constant)
            }
            _ => false,
        })
    };
    relation.indexes.iter().any(|index| {
        let columns = &index.schema().columns;
        let whole = columns.iter().all(|c| bound(*c));
        let prefix = index.schema().kind == IndexKind::Ordered && bound(columns[0]);
        whole || prefix || columns.len() == 1 && listed(columns[0])
    })
}

fn is_constant(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Column(_) => false,
        Scalar::Parameter(_) | Scalar::Literal(_) => true,
        Scalar::Expression(expression) => expression.columns().is_empty(),
    }
}

fn constant(scalar: &Scalar, parameters: Parameters<'_>) -> Result<Value> {
    let row: &[Value] = &[];
    Evaluation { row, types: &[], parameters }.scalar(scalar)
}

fn choose(
    relation: &Relation,
    predicates: &[Predicate],
    parameters: Parameters<'_>,
) -> Result<Path> {
    let mut equal: Vec<(ColumnId, Value)> = Vec::new();
    for predicate in predicates {
        if let Predicate::Compare { column, comparison: Comparison::Equal, value } = predicate
            && is_constant(value)
        {
            let value = constant(value, parameters)?;
            if value.is_null() {
                return Ok(Path::Nothing);
            }
            equal.push((ColumnId(*column as u32), value));
        }
    }
    if let Some(path) = by_equality(relation, &equal) {
        return Ok(path);
    }
    for predicate in predicates {
        if let Predicate::In { column, values, negated: false } = predicate
            && values.iter().all(is_constant)
            && let Some(index) = single_column_index(relation, ColumnId(*column as u32))
        {
            return Ok(Path::Keys(index, listed_keys(values, parameters)?));
        }
    }
    Ok(Path::Pass)
}

/// A whole key, a unique one first; else the longest prefix of an ordered index.
fn by_equality(relation: &Relation, equal: &[(ColumnId, Value)]) -> Option<Path> {
    let value_of = |column: &ColumnId| equal.iter().find(|(c, _)| c == column).map(|(_, v)| v);
    let prefix = |index: &Index| {
        index.schema().columns.iter().map_while(|column| value_of(column).cloned()).collect()
    };
    let mut best: Option<(usize, &Arc<Index>, Vec<Value>)> = None;
    for index in &relation.indexes {
        let (schema, values): (_, Vec<Value>) = (index.schema(), prefix(index));
        let whole = values.len() == schema.columns.len();
        if whole && schema.unique {
            return Some(Path::Keys(index.clone(), vec![values]));
        }
        let usable = whole || schema.kind == IndexKind::Ordered && !values.is_empty();
        let rank = 2 * values.len() + usize::from(whole);
        if usable && best.as_ref().is_none_or(|(r, ..)| *r < rank) {
            best = Some((rank, index, values));
        }
    }
    best.map(|(_, index, values)| match values.len() == index.schema().columns.len() {
        true => Path::Keys(index.clone(), vec![values]),
        false => Path::Prefix(index.clone(), values),
    })
}

fn single_column_index(relation: &Relation, column: ColumnId) -> Option<Arc<Index>> {
    let of_column = |index: &&Arc<Index>| index.schema().columns == [column];
    relation.indexes.iter().find(of_column).cloned()
}

/// Each listed value once, without NULLs.
fn listed_keys(values: &[Scalar], parameters: Parameters<'_>) -> Result<Vec<Vec<Value>>> {
    let mut keys: Vec<Value> =
        values.iter().map(|value| constant(value, parameters)).collect::<Result<_>>()?;
    keys.retain(|key| !key.is_null());
    keys.sort_by(|a, b| a.borrow().compare(b.borrow()));
    keys.dedup_by(|a, b| a.borrow().compare(b.borrow()).is_eq());
    Ok(keys.into_iter().map(|key| vec![key]).collect())
}

struct Filter<'a> {
    relation: &'a Relation,
    predicates: &'a [Predicate],
    parameters: Parameters<'a>,
    with_values: bool,
}

impl Filter<'_> {
    fn own_rows(
        &self,
        workspace: &mut Workspace<'_>,
        path: &Path,
        found: &mut FoundRows,
    ) -> Result<()> {
        if workspace.set.is_empty() {
            return Ok(());
        }
        let table = self.relation.schema.id;
        let candidates: Vec<RowId> = match path {
            Path::Keys(index, keys) => {
                let mut rows = Vec::new();
                for key in keys {
                    let key: Vec<ValueRef<'_>> = key.iter().map(Value::borrow).collect();
                    workspace.set.rows_by_key(table, &index.schema().columns, &key, &mut rows);
                }
                rows
            }
            _ => workspace.set.rows(table).map(|(id, _)| id).collect(),
        };
        for id in candidates {
            let Overlay::Row(row) = workspace.set.lookup(table, id) else { continue };
            let (types, parameters) = (&*self.relation.types, self.parameters);
            if (Evaluation { row, types, parameters }).all(self.predicates)? {
                let row = if self.with_values { row.to_vec() } else { Vec::new() };
                found.push(id, row)?;
            }
        }
        Ok(())
    }

    fn stored_rows(
        &self,
        workspace: &mut Workspace<'_>,
        path: &Path,
        found: &mut FoundRows,
    ) -> Result<()> {
        if let (Sight::Newest { .. }, Path::Keys(index, keys)) = (workspace.sight, path)
            && index.schema().unique
        {
            return self.newest_by_key(workspace, index, keys, found);
        }
        let view = workspace.view(self.relation);
        let mut locations = Vec::new();
        match path {
            Path::Keys(index, keys) => {
                for key in keys {
                    let key: Vec<ValueRef<'_>> = key.iter().map(Value::borrow).collect();
                    view.probe(index, &key, &mut locations);
                }
            }
            Path::Prefix(index, key) => {
                let bound = Bound::Included(key);
                view.range(index, bound, bound, false, usize::MAX, &mut locations);
            }
            Path::Pass => {
                let (predicates, parameters) = (self.predicates, self.parameters);
                locations = scan::matching_rows(&view, scan::Statement { predicates, parameters })?;
            }
            Path::Nothing => {}
        }
        for location in locations {
            self.take(workspace, &view, location, view.row_id(location), found)?;
        }
        Ok(())
    }

    /// Unique keys are looked up without a view of what is not published yet.
    fn newest_by_key(
        &self,
        workspace: &mut Workspace<'_>,
        index: &Index,
        keys: &[Vec<Value>],
        found: &mut FoundRows,
    ) -> Result<()> {
        for key in keys {
            let key: Vec<ValueRef<'_>> = key.iter().map(Value::borrow).collect();
            if let Some(id) = self.relation.table.newest_holder(index, &key)
                && let Some((view, location)) = workspace.stored(self.relation, id)
            {
                self.take(workspace, &view, location, id, found)?;
            }
        }
        Ok(())
    }

    fn take(
        &self,
        workspace: &Workspace<'_>,
        view: &TableView,
        location: Location,
        id: RowId,
        found: &mut FoundRows,
    ) -> Result<()> {
        if workspace.set.lookup(self.relation.schema.id, id) != Overlay::Untouched {
            return Ok(());
        }
        let row = &ViewRow { view, location };
        let (types, parameters) = (&*self.relation.types, self.parameters);
        if (Evaluation { row, types, parameters }).all(self.predicates)? {
            let row = if self.with_values { view.row(location) } else { Vec::new() };
            found.push(id, row)?;
        }
        Ok(())
    }
}
