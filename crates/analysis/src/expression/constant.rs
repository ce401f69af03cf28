//! Constants: numbers have the narrowest type of integer, bigint and numeric; texts are of a type that nobody decided yet.

use syntax::{AConst, Literal};

use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault, location};
use crate::facts::{Oid, oid};
use crate::tree::{Constant, Expression, ExpressionKind};

impl Analyzer<'_, '_> {
    pub(crate) fn constant(constant: AConst<'_>) -> Result<Expression> {
        literal(constant.value(), location(constant.location()))
    }
}

fn literal(value: Literal<'_>, at: Location) -> Result<Expression> {
    let text = |text: &str, type_oid: Oid| {
        let kind = ExpressionKind::Constant(Constant::Text(text.into()));
        Expression::new(kind, type_oid, at)
    };
    Ok(match value {
        Literal::Null => {
            Expression::new(ExpressionKind::Constant(Constant::Null), oid::UNKNOWN, at)
        }
        Literal::Boolean(value) => {
            Expression::new(ExpressionKind::Constant(Constant::Boolean(value)), oid::BOOL, at)
        }
        Literal::Integer(value) => text(&value.to_string(), oid::INT4),
        Literal::Number(digits) => match digits.parse::<i64>() {
            Ok(value) if i32::try_from(value).is_ok() => text(digits, oid::INT4),
            Ok(_) => text(digits, oid::INT8),
            Err(_) => {
                values::numeric::parse(digits)
                    .map_err(|error| crate::error::of_value(error, at))?;
                text(digits, oid::NUMERIC)
            }
        },
        Literal::String(string) => text(string, oid::UNKNOWN),
        Literal::BitString(digits) => {
            check_bits(digits, at)?;
            let kind = ExpressionKind::Constant(Constant::Text(digits.into()));
            Expression::new(kind, oid::BIT, at)
        }
    })
}

/// # Errors
/// 22P02 for a digit that is none.
fn check_bits(digits: &str, at: Location) -> Result<()> {
    let (kind, digits) = digits.split_at(1);
    let (is_digit, name): (fn(&char) -> bool, _) = match kind {
        "x" | "X" => (|digit| digit.is_ascii_hexdigit(), "hexadecimal"),
        _ => (|digit| matches!(digit, '0' | '1'), "binary"),
    };
    match digits.chars().find(|digit| !is_digit(digit)) {
        Some(digit) => Err(fault("22P02", at, format!("\"{digit}\" is not a valid {name} digit"))),
        None => Ok(()),
    }
}
