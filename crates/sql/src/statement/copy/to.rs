//! COPY TO STDOUT.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Query};
use engine::heartbeat::{Answer, AnswerPart};
use engine::plan::OutputColumn;
use engine::transaction::TableMode;
use engine::types::{ColumnId, DataType, Error, Result, SqlState, TableSchema, Value, ValueRef};
use futures::{Stream, StreamExt, stream};

use super::forced::{exists_in, flags};
use super::options::Format;
use crate::alone::Answers;
use crate::session::{ColumnDescription, CopyOut, Outcome, Rows, Session, answer_of};
use crate::statement::describe::text_column;
use crate::statement::returning::quoted;
use crate::statement::write::output_column;
use crate::text::{SessionZone, pad, write_value_in};

/// Lines that are written at once.
const LINES_AT_ONCE: usize = 4_096;

/// How rows become lines.
#[derive(Debug)]
struct Form {
    format: Format,
    /// Columns that FORCE_QUOTE names.
    quoted: Vec<bool>,
    zone: SessionZone,
}

/// COPY table TO STDOUT.
pub async fn table(
    session: &mut Session,
    table: &TableSchema,
    columns: &[ColumnId],
    format: Format,
) -> Result<Outcome> {
    let names = columns.iter().map(|id| &*table.columns[id.index()].name);
    let exists = |name: &str| exists_in(table, name);
    flags("FORCE_QUOTE", &format.force_quote, names.clone(), exists)?;
    let names = names.map(|name| quoted(name).to_string()).collect::<Vec<_>>().join(", ");
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
    let names = template.columns.iter().map(|column| &*column.name);
    let quoted = flags("FORCE_QUOTE", &format.force_quote, names, undefined)?;
    let answers = session.read(&template, Vec::new()).await?;
    let width = template.output.len();
    if format.binary {
        let columns = template.columns.clone();
        let rows = Rows {
            columns,
            pieces: answers,
            tag: "COPY",
            counted: true,
            zone: SessionZone::default(),
        };
        return Ok(Outcome::CopyOut(CopyOut { rows, columns: width, binary: true }));
    }
    let zone = session.zone().clone();
    let header = format.header.then(|| header_line(&template.columns, &format));
    let line: Arc<[OutputColumn]> = Arc::new([output_column("line", DataType::Text)]);
    let pieces = lines(answers, header, Arc::new(Form { format, quoted, zone }), line);
    let columns: Arc<[ColumnDescription]> = Arc::new([text_column("line")]);
    let rows = Rows { columns, pieces, tag: "COPY", counted: true, zone: SessionZone::default() };
    Ok(Outcome::CopyOut(CopyOut { rows, columns: width, binary: false }))
}

/// 42703 for a name that no column of a query has.
fn undefined(name: &str) -> Result<()> {
    let message = format!("column \"{name}\" does not exist");
    Err(Error::new(SqlState::UndefinedColumn, message))
}

/// Answers as answers of one column: whole lines, so few at once that whoever sends them looks between whether they are still
/// wanted.
fn lines(
    answers: Answers,
    header: Option<String>,
    form: Arc<Form>,
    line: Arc<[OutputColumn]>,
) -> Answers {
    let first = header.map(|text| answer_of(line.clone(), &[vec![Value::Text(text.into())]]));
    let rest = answers.flat_map(move |answer| match answer {
        Ok(answer) => pieces(answer, form.clone(), line.clone()).left_stream(),
        Err(fault) => stream::iter([Err(fault)]).right_stream(),
    });
    Box::pin(stream::iter(first.map(Ok)).chain(rest))
}

fn pieces(
    answer: Answer,
    form: Arc<Form>,
    line: Arc<[OutputColumn]>,
) -> impl Stream<Item = Result<Answer>> + Send {
    let starts = answer.parts.iter().enumerate();
    let starts = starts.flat_map(|(part, rows)| {
        (0..rows.rows()).step_by(LINES_AT_ONCE).map(move |row| (part, row))
    });
    let starts: Vec<(usize, usize)> = starts.collect();
    stream::iter(starts).map(move |start| encode(&answer, start, &form, &line))
}

/// Some lines from a row of a part on.
fn encode(
    answer: &Answer,
    (part, first): (usize, usize),
    form: &Form,
    line: &Arc<[OutputColumn]>,
) -> Result<Answer> {
    let part = &answer.parts[part];
    let rows = first..part.rows().min(first + LINES_AT_ONCE);
    let (mut texts, mut bytes) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows {
        bytes.clear();
        encode_row(part, row, answer, form, &mut bytes);
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Error::new(SqlState::InternalError, "a value was not written as text"))?;
        texts.push(Value::Text(text.into()));
    }
    Ok(answer_of(line.clone(), &[texts]))
}

fn encode_row(part: &AnswerPart, row: usize, answer: &Answer, form: &Form, out: &mut Vec<u8>) {
    let (format, mut field) = (&form.format, Vec::new());
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
        write_value_in(&form.zone, value, &mut field);
        if let ValueRef::Text(text) = value {
            pad(text, column.data_type, &mut field);
        }
        let must_quote = form.quoted[position] || ends_data(&field, answer.output.len());
        encode_field(&field, format, must_quote, out);
    }
    out.push(b'\n');
}

/// Whether a line that is only this field would read back as the end of the data.
fn ends_data(field: &[u8], fields: usize) -> bool {
    fields == 1 && field == b"\\."
}

fn encode_field(field: &[u8], format: &Format, must_quote: bool, out: &mut Vec<u8>) {
    match format.csv {
        true => encode_csv(field, format, must_quote, out),
        false => encode_text(field, format, out),
    }
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

fn encode_csv(field: &[u8], format: &Format, must_quote: bool, out: &mut Vec<u8>) {
    let special =
        |b: &u8| *b == format.delimiter || *b == format.quote || matches!(b, b'\n' | b'\r');
    // Unquoted, it would read back as NULL.
    let is_null = field == format.null.as_slice();
    if !must_quote && !is_null && !field.iter().any(special) {
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
        let name = column.name.as_bytes();
        encode_field(name, format, ends_data(name, columns.len()), &mut out);
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
