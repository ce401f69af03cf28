//! `quote_literal`, `quote_nullable`, `quote_ident` and `format`.

use engine::types::{DataType, Error, Result, SqlState, Value};

use super::by_row::{ByRow, Takes};
use crate::statement::naming::quote_identifier;

const TEXT: DataType = DataType::Text;

/// The functions.
pub const FUNCTIONS: [ByRow; 4] = [
    ByRow { name: "quote_literal", takes: Takes::Texts(1), gives: TEXT, compute: quote_literal },
    ByRow { name: "quote_nullable", takes: Takes::Texts(1), gives: TEXT, compute: quote_nullable },
    ByRow { name: "quote_ident", takes: Takes::Values(&[TEXT]), gives: TEXT, compute: quote_ident },
    ByRow { name: "format", takes: Takes::Texts(1), gives: TEXT, compute: format_text },
];

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn given(text: String) -> Result<Value> {
    Ok(Value::Text(text.into()))
}

/// A string as a literal; with a backslash in it as `E'...'`.
fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    match doubled.contains('\\') {
        true => format!("E'{}'", doubled.replace('\\', "\\\\")),
        false => format!("'{doubled}'"),
    }
}

fn quote_literal(values: &[Value]) -> Result<Value> {
    text(&values[0]).map_or(Ok(Value::Null), |text| given(literal(text)))
}

fn quote_nullable(values: &[Value]) -> Result<Value> {
    given(text(&values[0]).map_or_else(|| "NULL".to_owned(), literal))
}

fn quote_ident(values: &[Value]) -> Result<Value> {
    text(&values[0]).map_or(Ok(Value::Null), |name| given(quote_identifier(name)))
}

fn fault(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// One `%` of a format: `%[position$][-][width]type`.
struct Specifier {
    position: Option<usize>,
    left: bool,
    width: Width,
    kind: char,
}

enum Width {
    None,
    Number(i64),
    /// `*`, or `*n$`
    Argument(Option<usize>),
}

fn format_text(values: &[Value]) -> Result<Value> {
    let Some(pattern) = text(&values[0]) else { return Ok(Value::Null) };
    let mut formatter = Formatter { arguments: &values[1..], next: 0, out: String::new() };
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('%', Some('%')) => {
                rest.next();
                formatter.out.push('%');
            }
            ('%', _) => formatter.put(&specifier(&mut rest)?)?,
            _ => formatter.out.push(c),
        }
    }
    given(formatter.out)
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn unterminated() -> Error {
    fault("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
}

fn number(letters: &mut Letters<'_>) -> Result<Option<i64>> {
    let mut found: Option<i64> = None;
    while let Some(digit) = letters.peek().and_then(|c| c.to_digit(10)) {
        letters.next();
        let larger = found.unwrap_or(0) * 10 + i64::from(digit);
        if larger > i64::from(i32::MAX) {
            return Err(Error::new(SqlState::NumericOutOfRange, "number is out of range"));
        }
        found = Some(larger);
    }
    Ok(found)
}

/// `n$`, which names an argument.
fn position(n: i64) -> Result<usize> {
    if n == 0 {
        return Err(fault("format specifies argument 0, but arguments are numbered from 1"));
    }
    Ok(n as usize)
}

fn specifier(letters: &mut Letters<'_>) -> Result<Specifier> {
    let mut found = Specifier { position: None, left: false, width: Width::None, kind: ' ' };
    match number(letters)? {
        Some(n) if letters.next_if_eq(&'$').is_some() => found.position = Some(position(n)?),
        Some(n) => found.width = Width::Number(n),
        None => {}
    }
    if matches!(found.width, Width::None) {
        while letters.next_if_eq(&'-').is_some() {
            found.left = true;
        }
        found.width = width(letters)?;
    }
    found.kind = letters.next().ok_or_else(unterminated)?;
    match found.kind {
        's' | 'I' | 'L' => Ok(found),
        other => Err(fault(format!("unrecognized format() type specifier \"{other}\""))
            .hint("For a single \"%\" use \"%%\".")),
    }
}

fn width(letters: &mut Letters<'_>) -> Result<Width> {
    if letters.next_if_eq(&'*').is_none() {
        return Ok(number(letters)?.map_or(Width::None, Width::Number));
    }
    match number(letters)? {
        None => Ok(Width::Argument(None)),
        Some(n) if letters.next_if_eq(&'$').is_some() => Ok(Width::Argument(Some(position(n)?))),
        Some(_) => Err(fault("width argument position must be ended by \"$\"")),
    }
}

struct Formatter<'a> {
    arguments: &'a [Value],
    /// The argument that the next specifier without a position takes.
    next: usize,
    out: String,
}

impl Formatter<'_> {
    fn argument(&mut self, position: Option<usize>) -> Result<Option<String>> {
        let at = position.map_or(self.next, |position| position - 1);
        self.next = at + 1;
        let value = self.arguments.get(at);
        let value = value.ok_or_else(|| fault("too few arguments for format()"))?;
        Ok(text(value).map(str::to_owned))
    }

    fn put(&mut self, specifier: &Specifier) -> Result<()> {
        let width = match specifier.width {
            Width::None => 0,
            Width::Number(width) => width,
            Width::Argument(position) => match self.argument(position)? {
                None => 0,
                Some(width) => width.trim().parse().map_err(|_| {
                    let message = format!("invalid input syntax for type integer: \"{width}\"");
                    Error::new(SqlState::InvalidTextRepresentation, message)
                })?,
            },
        };
        let value = self.argument(specifier.position)?;
        let shown = match (specifier.kind, value) {
            ('s', value) => value.unwrap_or_default(),
            ('L', value) => value.as_deref().map_or_else(|| "NULL".to_owned(), literal),
            (_, Some(name)) => quote_identifier(&name),
            (_, None) => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(Error::new(SqlState::NullNotAllowed, message));
            }
        };
        let blanks = (width.unsigned_abs() as usize).saturating_sub(shown.chars().count());
        let (before, after) = if specifier.left || width < 0 { (0, blanks) } else { (blanks, 0) };
        self.out.extend(std::iter::repeat_n(' ', before));
        self.out.push_str(&shown);
        self.out.extend(std::iter::repeat_n(' ', after));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(values: &[&str]) -> std::result::Result<String, &'static str> {
        let values: Vec<Value> = values.iter().map(|v| Value::Text((*v).into())).collect();
        match format_text(&values) {
            Ok(Value::Text(text)) => Ok(text.into()),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.state.code()),
        }
    }

    #[test]
    fn formats_are_those_of_postgresql() {
        assert_eq!(formatted(&["a %s %% %I", "b", "C d"]), Ok("a b % \"C d\"".into()));
        assert_eq!(formatted(&["%2$s %s|", "x", "y", "z"]), Ok("y z|".into()));
        assert_eq!(
            formatted(&["|%5s|%-5s|%*s|", "a", "b", "-3", "c"]),
            Ok("|    a|b    |c  |".into())
        );
        assert_eq!(formatted(&["%L", "it's \\"]), Ok("E'it''s \\\\'".into()));
        assert_eq!(formatted(&["%s"]), Err("22023"));
        assert_eq!(formatted(&["%"]), Err("22023"));
        assert_eq!(formatted(&["%z", "a"]), Err("22023"));
        assert_eq!(formatted(&["%0$s", "a"]), Err("22023"));
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        let quoted = |name: &str| quote_ident(&[Value::Text(name.into())]);
        assert_eq!(quoted("plain_1"), Ok(Value::Text("plain_1".into())));
        assert_eq!(quoted("Plain"), Ok(Value::Text("\"Plain\"".into())));
        assert_eq!(quoted("select"), Ok(Value::Text("\"select\"".into())));
        assert_eq!(quoted("a\"b"), Ok(Value::Text("\"a\"\"b\"".into())));
    }
}
