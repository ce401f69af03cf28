//! Definitions as SQL: what `pg_get_constraintdef` and its like answer.

use engine::types::{
    ColumnDefault, ColumnId, DataType, ForeignKeyAction, IndexKind, TableSchema, Value,
};

use super::super::{Catalog, index_oid, table_oid};
use super::constraint::{Rule, constraints};

fn columns(table: &TableSchema, columns: &[ColumnId]) -> String {
    let names = columns.iter().map(|id| quoted(&table.columns[id.index()].name));
    names.collect::<Vec<_>>().join(", ")
}

/// A name as SQL.
pub fn quoted(name: &str) -> String {
    let plain = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && !name.as_bytes()[0].is_ascii_digit();
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// `PRIMARY KEY (a, b)`; prettily with no more parentheses than needed.
pub fn constraint_definition(catalog: &Catalog, oid: u32, pretty: bool) -> Option<String> {
    let all = constraints(catalog);
    let constraint = all.iter().find(|constraint| constraint.oid == oid)?;
    let own = columns(constraint.table, constraint.columns());
    Some(match constraint.rule {
        Rule::Key(index) if index.primary => format!("PRIMARY KEY ({own})"),
        Rule::Key(_) => format!("UNIQUE ({own})"),
        Rule::Check(expression) if pretty => format!("CHECK ({expression})"),
        Rule::Check(expression) => format!("CHECK (({expression}))"),
        Rule::Reference(reference) => {
            let parent = catalog.table_by_id(reference.parent)?;
            let theirs = columns(parent, &reference.parent_columns);
            let parent = quoted(&parent.name);
            let mut text = format!("FOREIGN KEY ({own}) REFERENCES {parent}({theirs})");
            text.push_str(if reference.is_full { " MATCH FULL" } else { "" });
            let update = action(reference.on_update).map(|word| format!(" ON UPDATE {word}"));
            let delete = action(reference.on_delete).map(|word| format!(" ON DELETE {word}"));
            text.extend(update);
            text.extend(delete);
            text
        }
    })
}

fn action(action: ForeignKeyAction) -> Option<&'static str> {
    (action != ForeignKeyAction::NoAction).then(|| action_words(action))
}

/// An action as the standard names it.
pub fn action_words(action: ForeignKeyAction) -> &'static str {
    match action {
        ForeignKeyAction::NoAction => "NO ACTION",
        ForeignKeyAction::Restrict => "RESTRICT",
        ForeignKeyAction::Cascade => "CASCADE",
        ForeignKeyAction::SetNull => "SET NULL",
        ForeignKeyAction::SetDefault => "SET DEFAULT",
    }
}

/// `CREATE INDEX i ON public.t USING btree (a, b)`; with a column's number, that column's name.
pub fn index_definition(catalog: &Catalog, oid: u32, column: i64) -> Option<String> {
    let tables = catalog.tables();
    let mut indexes = tables.iter().flat_map(|table| table.indexes.iter().map(move |i| (table, i)));
    let (table, index) = indexes.find(|(_, index)| index_oid(index.id) == oid)?;
    if column > 0 {
        let id = index.columns.get(column as usize - 1)?;
        return Some(quoted(&table.columns[id.index()].name));
    }
    let unique = if index.unique { "UNIQUE " } else { "" };
    let kind = if index.kind == IndexKind::Hash { "hash" } else { "btree" };
    let (name, columns) = (quoted(&index.name), columns(table, &index.columns));
    let table = quoted(&table.name);
    Some(format!("CREATE {unique}INDEX {name} ON public.{table} USING {kind} ({columns})"))
}

/// A view's query.
pub fn view_definition(catalog: &Catalog, oid: u32) -> Option<String> {
    let view =
        catalog.views().into_iter().find(|view| super::pg_class::view_oid(&view.name) == oid);
    view.map(|view| view.text.clone())
}

/// A column's DEFAULT.
pub fn column_default(catalog: &Catalog, table: u32, number: i64) -> Option<String> {
    let tables = catalog.tables();
    let table = tables.iter().find(|candidate| table_oid(candidate.id) == table)?;
    let column = table.columns.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
    match &column.default {
        ColumnDefault::None => None,
        ColumnDefault::Constant(value) => Some(constant(value, column.data_type)),
        ColumnDefault::Expression(text) | ColumnDefault::Generated(text) => Some(text.to_string()),
        ColumnDefault::Sequence { identity: true, .. } => None,
        ColumnDefault::Sequence { id, .. } => {
            let sequence = catalog.sequences().into_iter().find(|s| s.id == *id)?;
            Some(format!("nextval('{}'::regclass)", quoted(&sequence.name)))
        }
    }
}

fn constant(value: &Value, data_type: DataType) -> String {
    let mut bytes = Vec::new();
    crate::text::write_value(value.borrow(), &mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match value {
        Value::Null => format!("NULL::{data_type}"),
        // A whole number, as it was most likely written.
        Value::Numeric(..) => match text.split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => {
                whole.to_owned()
            }
            _ => text,
        },
        Value::Boolean(true) => "true".to_owned(),
        Value::Boolean(false) => "false".to_owned(),
        Value::Text(_) | Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_) => {
            let name = match data_type {
                DataType::Varchar(_) => "character varying".to_owned(),
                DataType::Char(_) => "bpchar".to_owned(),
                other => other.to_string(),
            };
            format!("'{}'::{name}", text.replace('\'', "''"))
        }
        _ => text,
    }
}
