//! Answers, parameters and batches as text of bounded length, for the log and `shareddb.differences`.

use engine::heartbeat::{Answer, Member, Witness};
use engine::types::{Result, Value, ValueRef};

use super::rows::Rows;

/// Bytes of one answer, batch or plan.
const LONG: usize = 8 << 10;

/// Bytes of one value, row or list of parameters.
const SHORT: usize = 1 << 10;

/// A text, cut to so many bytes.
fn bounded(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(" ..");
    }
    text
}

/// A plan or a statement.
pub fn text(text: &str) -> String {
    bounded(text.to_owned(), LONG)
}

fn value(value: ValueRef<'_>, out: &mut String) {
    match value {
        ValueRef::Null => out.push_str("NULL"),
        ValueRef::Text(text) => {
            let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= SHORT).last();
            out.push_str(&format!(
                "{:?}",
                &text[..end.filter(|_| text.len() > SHORT).unwrap_or(text.len())]
            ));
        }
        other => {
            let mut bytes = Vec::new();
            crate::text::write_value(other, &mut bytes);
            bytes.truncate(SHORT);
            out.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
}

fn list<'a>(values: impl Iterator<Item = ValueRef<'a>>) -> String {
    let mut out = String::from("(");
    for (number, cell) in values.enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        if out.len() > SHORT {
            out.push_str("..");
            break;
        }
        value(cell, &mut out);
    }
    out.push(')');
    out
}

/// `(1, "a", NULL)`
pub fn parameters(values: &[Value]) -> String {
    list(values.iter().map(Value::borrow))
}

/// One row.
pub fn row(rows: &Rows<'_>, row: usize) -> String {
    list((0..rows.width()).map(|column| rows.cell(row, column)))
}

/// An answer, or what went wrong.
pub fn answer(answer: &Result<Answer>) -> String {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return bounded(format!("{}: {}", error.state.code(), error.message), LONG),
    };
    let rows = Rows::of(answer);
    let mut out = format!("{} rows", rows.len());
    for number in 0..rows.len() {
        if out.len() > LONG {
            out.push_str("\n..");
            break;
        }
        out.push('\n');
        out.push_str(&row(&rows, number));
    }
    out
}

/// Who was answered together, each template's text once.
pub fn members(witness: Option<&Witness>) -> String {
    let Some(Witness { requests, members, .. }) = witness else { return "by itself".to_owned() };
    let mut out = format!("{requests} requests");
    let mut last: Option<&Member> = None;
    for member in members.iter() {
        if out.len() > LONG {
            out.push_str("\n..");
            break;
        }
        if last.is_none_or(|last| last.text != member.text) {
            out.push('\n');
            out.push_str(&bounded(member.text.to_string(), SHORT));
        }
        out.push_str("\n  ");
        out.push_str(&parameters(&member.parameters));
        last = Some(member);
    }
    out
}
