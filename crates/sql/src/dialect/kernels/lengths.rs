//! Casts to types with a length or a precision that DataFusion's types do not have: `x::varchar(3)` is `varchar(x, 3 + 4, true)`, as
//! PostgreSQL's own rewriting has it, `x::timestamp(2)` is `timestamp(x, 2)`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, CharacterLength, DataType, Expr, TimezoneInfo, Value, VisitorMut,
};

use super::super::introspection::{arguments, call, plain_name};

/// Adds the length or the precision as a call.
pub struct Lengths;

impl VisitorMut for Lengths {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        keep_blanks(expr);
        if let Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, data_type, .. } = expr
            && let Some((plain, function)) = plain(data_type)
        {
            *data_type = plain;
            *expr = function.around(expr.clone());
        }
        ControlFlow::Continue(())
    }
}

/// `octet_length` counts the blanks of the `char(n)` that it is given.
fn keep_blanks(expr: &mut Expr) {
    let Expr::Function(function) = expr else { return };
    if plain_name(function) != "octet_length" {
        return;
    }
    if let Some(Expr::Function(text)) =
        arguments(function).as_deref().and_then(|given| given.first())
        && plain_name(text) == "text"
        && let Some([Expr::Function(padded)]) = arguments(text).as_deref()
        && plain_name(padded) == "bpchar"
    {
        *expr = call("octet_length", vec![Expr::Function(padded.clone())]);
    }
}

/// Digits of a second that a moment has at most.
const MOST_DIGITS: u64 = 6;

/// What cuts a value.
enum Cut {
    /// A text of so many characters.
    Varying(u64),
    /// A text of so many characters, blanks at its end apart.
    Fixed(u64),
    /// A moment of so many digits of a second.
    Digits(&'static str, u64),
}

fn plain(data_type: &DataType) -> Option<(DataType, Cut)> {
    let length = |length: &Option<CharacterLength>| match length {
        Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
        _ => None,
    };
    match data_type {
        DataType::Varchar(given)
        | DataType::CharacterVarying(given)
        | DataType::CharVarying(given) => Some((DataType::Text, Cut::Varying(length(given)?))),
        DataType::Character(given) | DataType::Char(given) => {
            Some((DataType::Text, Cut::Fixed(length(given).unwrap_or(1))))
        }
        DataType::Timestamp(Some(digits), zone) => {
            let name = match zone {
                TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => "timestamp",
                TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => "timestamptz",
            };
            Some((DataType::Timestamp(None, *zone), Cut::Digits(name, (*digits).min(MOST_DIGITS))))
        }
        _ => None,
    }
}

impl Cut {
    fn around(self, value: Expr) -> Expr {
        /// What PostgreSQL's type modifiers of texts count from.
        const HEADER: u64 = 4;
        let explicit = || Expr::Value(Value::Boolean(true).with_empty_span());
        match self {
            Cut::Varying(length) => {
                call("varchar", vec![value, number(length + HEADER), explicit()])
            }
            Cut::Fixed(length) => {
                let padded = call("bpchar", vec![value, number(length + HEADER), explicit()]);
                // Blanks at the end of a char(n) carry no meaning: values are kept without.
                call("text", vec![padded])
            }
            Cut::Digits(name, digits) => call(name, vec![value, number(digits)]),
        }
    }
}

fn number(number: u64) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).with_empty_span())
}
