//! NOT NULL and CHECK, for rows that the query-at-a-time path computed.

use engine::types::{
    Check, Error, Result, SqlState, TableSchema, Value, ValueRef, array_cell, array_from_values,
};

/// Refuses rows that break the table's rules: 23502, 23514.
pub fn check<'a>(
    table: &TableSchema,
    checks: &[Check],
    rows: impl Iterator<Item = &'a [Value]> + Clone,
) -> Result<()> {
    for row in rows.clone() {
        for (id, column) in table.live_columns().filter(|(_, column)| column.not_null) {
            if row[id.index()].is_null() {
                return Err(null_value(table, &column.name, row));
            }
        }
    }
    let count = rows.clone().count();
    for check in checks {
        let columns: Vec<_> = check
            .expression
            .columns()
            .iter()
            .map(|column| {
                let values = rows.clone().map(|row| row[*column].borrow());
                array_from_values(table.columns[*column].data_type, values)
            })
            .collect();
        let verdicts = check.expression.evaluate(&columns, &[], count)?;
        let refused =
            (0..count).find(|row| matches!(array_cell(&verdicts, *row), ValueRef::Boolean(false)));
        if let Some(row) = refused.and_then(|position| rows.clone().nth(position)) {
            let message = format!(
                "new row for relation \"{}\" violates check constraint \"{}\"",
                table.name, check.name
            );
            let error = Error::new(SqlState::CheckViolation, message);
            return Err(error.detail(failing(table, row)).constraint(&*table.name, &*check.name));
        }
    }
    Ok(())
}

fn null_value(table: &TableSchema, column: &str, row: &[Value]) -> Error {
    let message = format!(
        "null value in column \"{column}\" of relation \"{}\" violates not-null constraint",
        table.name
    );
    Error::new(SqlState::NotNullViolation, message)
        .detail(failing(table, row))
        .column(&*table.name, column)
}

/// What a fault shows of a value at most, in bytes.
const SHOWN_BYTES: usize = 64;

fn display_cut(text: &str) -> String {
    if text.len() <= SHOWN_BYTES {
        return text.to_owned();
    }
    let end = (0..=SHOWN_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}...", &text[..end])
}

fn failing(table: &TableSchema, row: &[Value]) -> String {
    let shown = table.live_columns().map(|(id, _)| match &row[id.index()] {
        Value::Null => "null".to_owned(),
        value => {
            let mut bytes = Vec::new();
            crate::text::write_value(value.borrow(), &mut bytes);
            display_cut(&String::from_utf8_lossy(&bytes))
        }
    });
    format!("Failing row contains ({}).", shown.collect::<Vec<_>>().join(", "))
}
