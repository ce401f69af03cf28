//! COPY TO STDOUT.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Query};
use engine::heartbeat::{Answer, AnswerPart};
use engine::plan::OutputColumn;
use engine::transaction::TableMode;
use engine::types::{ColumnId, DataType, Error, Result, SqlState, TableSchema, Value, ValueRef};
use futures::{Stream, StreamExt, stream};

use super::options::Format;
use crate::alone::Answers;
use crate::session::{ColumnDescription, CopyOut, Outcome, Rows, Session, answer_of};
use crate::statement::describe::text_column;
use crate::statement::returning::quoted;
use crate::statement::write::output_column;
use crate::text::{pad, write_value};

/// Lines that are written at once.
const LINES_AT_ONCE: usize = 4_096;

/// COPY table TO STDOUT.
pub async fn table(
    session: &mut Session,
    table: &TableSchema,
    columns: &[ColumnId],
    format: Format,
) -> Result<Outcome> {
    let names = columns.iter().map(|id| quoted(&table.columns[id.index()].name).to_string());
    let names = names.collect::<Vec<_>>().join(", ");
    let text = format!("SELECT {names} FROM {}", quoted(&table.name));
    let mut statements = crate::template::parse(&text)?;
    let ast::Statement::Query(parsed) = statements.remove(0) else {
        unreachable!("the text is a query");
    };
    query(session, &parsed, format).await
}

/// COPY (query) TO STDOUT.
pub async fn query(session: &mut Session, query: &Query, format: Format) -> Result<Outcome> {
    let template = session.query_template(query).await?;
    if session.minds_tables() {
        let uses = template.tables.iter().map(|table| (*table, TableMode::AccessShare));
        session.use_tables(&uses.collect::<Vec<_>>()).await?;
    }
    let answers = session.read(&template, Vec::new()).await?;
    let width = template.output.len();
    if format.binary {
        let columns = template.columns.clone();
        let rows = Rows { columns, pieces: answers, tag: "COPY", counted: true };
        return Ok(Outcome::CopyOut(CopyOut { rows, columns: width, binary: true }));
    }
    let header = format.header.then(|| header_line(&template.columns, &format));
    let line: Arc<[OutputColumn]> = Arc::new([output_column("line", DataType::Text)]);
    let pieces = lines(answers, header, format, line);
    let columns: Arc<[ColumnDescription]> = Arc::new([text_column("line")]);
    let rows = Rows { columns, pieces, tag: "COPY", counted: true };
    Ok(Outcome::CopyOut(CopyOut { rows, columns: width, binary: false }))
}

/// Answers as answers of one column: whole lines, so few at once that whoever sends them looks between whether they are still
/// wanted.
fn lines(
    answers: Answers,
    header: Option<String>,
    format: Format,
    line: Arc<[OutputColumn]>,
) -> Answers {
    let first = header.map(|text| answer_of(line.clone(), &[vec![Value::Text(text.into())]]));
    let rest = answers.flat_map(move |answer| match answer {
        Ok(answer) => pieces(answer, format.clone(), line.clone()).left_stream(),
        Err(fault) => stream::iter([Err(fault)]).right_stream(),
    });
    Box::pin(stream::iter(first.map(Ok)).chain(rest))
}

fn pieces(
    answer: Answer,
    format: Format,
    line: Arc<[OutputColumn]>,
) -> impl Stream<Item = Result<Answer>> + Send {
    let starts = answer.parts.iter().enumerate();
    let starts = starts.flat_map(|(part, rows)| {
        (0..rows.rows()).step_by(LINES_AT_ONCE).map(move |row| (part, row))
    });
    let starts: Vec<(usize, usize)> = starts.collect();
    stream::iter(starts).map(move |start| encode(&answer, start, &format, &line))
}

/// Some lines from a row of a part on.
fn encode(
    answer: &Answer,
    (part, first): (usize, usize),
    format: &Format,
    line: &Arc<[OutputColumn]>,
) -> Result<Answer> {
    let part = &answer.parts[part];
    let rows = first..part.rows().min(first + LINES_AT_ONCE);
    let (mut texts, mut bytes) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        bytes.clear();
        encode_row(part, row, answer, format, &mut bytes);
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Error::new(SqlState::InternalError, "a value was not written as text"))?;
        texts.push(Value::Text(text.into()));
    }
    Ok(answer_of(line.clone(), &[texts]))
}

fn encode_row(part: &AnswerPart, row: usize, answer: &Answer, format: &Format, out: &mut Vec<u8>) {
    let mut field = Vec::new();
    for (position, column) in answer.output.iter().enumerate() {
        if position > 0 {
            out.push(format.delimiter);
        }
        let value = part.cell(row, position);
        if value.is_null() {
            out.extend_from_slice(&format.null);
            continue;
        }
        field.clear();
        write_value(value, &mut field);
        if let ValueRef::Text(text) = value {
            pad(text, column.data_type, &mut field);
        }
        encode_field(&field, format, answer.output.len() == 1, out);
    }
    out.push(b'\n');
}

fn encode_field(field: &[u8], format: &Format, alone: bool, out: &mut Vec<u8>) {
    if format.csv { encode_csv(field, format, alone, out) } else { encode_text(field, format, out) }
}

fn encode_text(field: &[u8], format: &Format, out: &mut Vec<u8>) {
    for byte in field {
        let letter = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            b'\\' => b'\\',
            other if *other == format.delimiter => *other,
            other => {
                out.push(*other);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

fn encode_csv(field: &[u8], format: &Format, alone: bool, out: &mut Vec<u8>) {
    let special =
        |b: &u8| *b == format.delimiter || *b == format.quote || matches!(b, b'\n' | b'\r');
    // Unquoted, these would read back as NULL, or as the end of the data.
    let must = field == format.null.as_slice() || (alone && field == b"\\.");
    if !must && !field.iter().any(special) {
        return out.extend_from_slice(field);
    }
    out.push(format.quote);
    for byte in field {
        if *byte == format.quote || *byte == format.escape {
            out.push(format.escape);
        }
        out.push(*byte);
    }
    out.push(format.quote);
}

fn header_line(columns: &[ColumnDescription], format: &Format) -> String {
    let mut out = Vec::new();
    for (position, column) in columns.iter().enumerate() {
        if position > 0 {
            out.push(format.delimiter);
        }
        encode_field(column.name.as_bytes(), format, columns.len() == 1, &mut out);
    }
    out.push(b'\n');
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::ast::{CopyOption, Ident};

    #[test]
    fn fields_are_escaped() {
        let mut out = Vec::new();
        let text = Format::new(&[], &[], false).expect("valid");
        encode_field(b"a\tb\\\n", &text, false, &mut out);
        assert_eq!(out, b"a\\tb\\\\\\n");
        out.clear();
        let csv = Format::new(&[CopyOption::Format(Ident::new("csv"))], &[], false).expect("valid");
        for field in [&b"plain"[..], b"", b"a\"b,c"] {
            encode_field(field, &csv, false, &mut out);
            out.push(b'|');
        }
        assert_eq!(out, b"plain|\"\"|\"a\"\"b,c\"|");
    }
}
