//! Columns of rows: `(row).column`, `column(row)`.

use std::sync::Arc;

use crate::analyzer::Analyzer;
use crate::error::{AnalysisError, Location, Result, fault, leftmost};
use crate::facts::{FunctionRow, TypeKind, oid};
use crate::tree::{EntryColumn, EntryKind, Expression, ExpressionKind};

impl Analyzer<'_, '_> {
    /// A column of a row by its name; `None` where the row has none.
    pub(super) fn projection(
        &mut self,
        name: &str,
        row: &Expression,
        at: Location,
    ) -> Result<Option<Expression>> {
        if let ExpressionKind::Column(column) = row.kind
            && column.number == 0
        {
            let item = self.item_of_entry(column.levels, column.entry);
            if let Some(item) = item {
                return self.column_of_item(&item, column.levels, name, at);
            }
        }
        let Some(columns) = self.row_columns(row) else { return Ok(None) };
        let found = columns.iter().position(|column| &*column.name == name);
        Ok(found.map(|place| self.field(row.clone(), place, &columns[place])))
    }

    /// A column of a row by its place.
    pub(crate) fn field(&self, row: Expression, place: usize, column: &EntryColumn) -> Expression {
        let location = leftmost(-1, row.location);
        let number = i16::try_from(place + 1).expect("rows have at most 1,664 columns");
        let kind = ExpressionKind::Field(Box::new(row), number);
        Expression::new(kind, column.type_oid, location)
            .typmod(column.typmod)
            .collation(column.collation)
    }

    /// The columns of a row's type, as far as it tells.
    pub(crate) fn row_columns(&self, row: &Expression) -> Option<Vec<EntryColumn>> {
        let type_row = self.type_of(self.base_type(row.type_oid));
        if type_row.kind == TypeKind::Composite {
            let relation = self.columns_of(row.type_oid)?;
            return Some(crate::from::relation::relation_columns(&relation));
        }
        if type_row.oid != oid::RECORD {
            return None;
        }
        match &row.kind {
            ExpressionKind::Column(column) if column.number == 0 => {
                let entry = &self.outer(column.levels).range_table[column.entry];
                Some(entry.columns.clone())
            }
            ExpressionKind::Column(column) => self.record_columns(column.levels, *column),
            ExpressionKind::Row(fields) => {
                let column = |(at, field): (usize, &Expression)| EntryColumn {
                    name: format!("f{}", at + 1).into(),
                    type_oid: field.type_oid,
                    typmod: field.typmod,
                    collation: field.collation,
                };
                Some(fields.iter().enumerate().map(column).collect())
            }
            ExpressionKind::Call { function, arguments, .. } => {
                self.output_columns(function.0, arguments)
            }
            _ => None,
        }
    }

    /// The columns of a column that is a row: those of what the subquery or join puts there.
    fn record_columns(
        &self,
        levels: usize,
        column: crate::tree::Column,
    ) -> Option<Vec<EntryColumn>> {
        let entry = &self.outer(levels).range_table[column.entry];
        let place = usize::try_from(column.number).ok()?.checked_sub(1)?;
        match &entry.kind {
            EntryKind::Subquery(query) => {
                let target = query.targets.iter().filter(|target| !target.is_junk).nth(place)?;
                match &target.expression.kind {
                    ExpressionKind::Column(inner) if inner.levels == 0 && inner.number == 0 => {
                        Some(query.range_table[inner.entry].columns.clone())
                    }
                    ExpressionKind::Column(inner) if inner.levels > 0 => None,
                    _ => self.row_columns(&target.expression),
                }
            }
            EntryKind::Join(columns) => {
                let mut inner = columns.get(place)?.clone();
                if let ExpressionKind::Column(column) = &mut inner.kind {
                    column.levels += levels;
                }
                self.row_columns(&inner)
            }
            _ => None,
        }
    }

    /// Names and types of what a function gives out, where that is more than one value.
    pub(crate) fn output_columns(
        &self,
        row: &FunctionRow,
        arguments: &[Expression],
    ) -> Option<Vec<EntryColumn>> {
        if row.all_types.is_empty() {
            return None;
        }
        let actual: Vec<_> = arguments.iter().map(|argument| argument.type_oid).collect();
        let mut columns = Vec::new();
        for (at, mode) in row.modes.chars().enumerate() {
            if !matches!(mode, 'o' | 'b' | 't') {
                continue;
            }
            let type_oid = row.all_types[at];
            let mut wanted = row.arguments.clone();
            let resolved = self.resolve_generic(&actual, &mut wanted, type_oid).unwrap_or(type_oid);
            let given = row.names.get(at).copied().filter(|name| !name.is_empty());
            let name: Arc<str> = match given {
                Some(name) => name.into(),
                None => format!("column{}", columns.len() + 1).into(),
            };
            let collation = self.collation_of(resolved);
            columns.push(EntryColumn { name, type_oid: resolved, typmod: -1, collation });
        }
        (columns.len() > 1 || row.modes.contains('t')).then_some(columns)
    }

    /// The fault of a column that a row does not have.
    pub(crate) fn no_attribute(
        &self,
        row: &Expression,
        name: &str,
        at: Location,
    ) -> Box<AnalysisError> {
        if let ExpressionKind::Column(column) = row.kind
            && column.number == 0
        {
            let relation = &self.outer(column.levels).range_table[column.entry].name;
            return fault("42703", at, format!("column {relation}.{name} does not exist"));
        }
        let words = self.type_words(row.type_oid);
        if self.is_composite(row.type_oid) {
            let message = format!("column \"{name}\" not found in data type {words}");
            return fault("42703", at, message);
        }
        if row.type_oid == oid::RECORD {
            let message = format!("could not identify column \"{name}\" in record data type");
            return fault("42703", at, message);
        }
        let message = format!(
            "column notation .{name} applied to type {words}, which is not a composite type"
        );
        fault("42809", at, message)
    }
}

/// What stands for a column that was dropped.
pub(crate) fn dropped() -> EntryColumn {
    EntryColumn { name: "".into(), type_oid: 0, typmod: -1, collation: 0 }
}
