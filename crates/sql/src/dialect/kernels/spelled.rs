//! What has a syntax of its own in the standard, as the call that it is: `extract(field FROM value)` is `extract('field', value)`,
//! `value AT TIME ZONE zone` is `timezone(zone, value)`, `value ~ pattern` is `textregexeq(value, pattern)`; and `interval '1 day'` as the cast that it is.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DateTimeField, Expr, Interval, Value, ValueWithSpan,
    VisitorMut, WindowFrame, WindowFrameBound, WindowType,
};

use super::super::introspection::{call, names_column};

/// Makes calls of them.
pub struct Spelled;

impl VisitorMut for Spelled {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        *expr = match std::mem::replace(expr, Expr::Value(Value::Null.with_empty_span())) {
            Expr::Extract { field, expr, .. } => call("extract", vec![word(&field), *expr]),
            Expr::AtTimeZone { timestamp, time_zone } => {
                call("timezone", vec![*time_zone, *timestamp])
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let given = [Some(expr), Some(overlay_what), Some(overlay_from), overlay_for];
                call("overlay", given.into_iter().flatten().map(|given| *given).collect())
            }
            Expr::Interval(interval) => spelled_interval(interval),
            // Of a query around it the planner sees nothing in brackets.
            Expr::Array(array) if array.elem.iter().any(names_column) => {
                call("make_array", array.elem)
            }
            Expr::Function(mut function) => {
                if let Some(WindowType::WindowSpec(window)) = &mut function.over {
                    window.window_frame.iter_mut().for_each(keep_intervals);
                }
                Expr::Function(function)
            }
            Expr::BinaryOp { left, op, right } => match matching(&op) {
                Some(function) => call(function, vec![*left, *right]),
                None => Expr::BinaryOp { left, op, right },
            },
            Expr::SimilarTo { negated, expr, pattern, escape_char } => {
                similar(*expr, *pattern, escape_char, negated)
            }
            other => other,
        };
        ControlFlow::Continue(())
    }
}

/// What computes an operator of regular expressions.
fn matching(op: &BinaryOperator) -> Option<&'static str> {
    match op {
        BinaryOperator::PGRegexMatch => Some("textregexeq"),
        BinaryOperator::PGRegexIMatch => Some("texticregexeq"),
        BinaryOperator::PGRegexNotMatch => Some("textregexne"),
        BinaryOperator::PGRegexNotIMatch => Some("texticregexne"),
        _ => None,
    }
}

/// `x SIMILAR TO pattern` looks for a regular expression that says the same.
fn similar(text: Expr, pattern: Expr, escape: Option<ValueWithSpan>, negated: bool) -> Expr {
    let escape = escape.map(Expr::Value);
    let given = [Some(pattern), escape].into_iter().flatten().collect();
    let function = if negated { "textregexne" } else { "textregexeq" };
    call(function, vec![text, call("similar_to_escape", given)])
}

/// A frame's bounds are literals.
fn keep_intervals(frame: &mut WindowFrame) {
    let bounds = [Some(&mut frame.start_bound), frame.end_bound.as_mut()];
    for bound in bounds.into_iter().flatten() {
        let (WindowFrameBound::Preceding(Some(offset)) | WindowFrameBound::Following(Some(offset))) =
            bound
        else {
            continue;
        };
        if let Expr::Cast { expr, data_type: DataType::Interval { fields: None, .. }, .. } =
            &mut **offset
        {
            let text = std::mem::replace(&mut **expr, Expr::Value(Value::Null.with_empty_span()));
            **offset = Expr::Interval(plain_interval(text));
        }
    }
}

fn plain_interval(text: Expr) -> Interval {
    Interval {
        value: Box::new(text),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }
}

/// `interval '1 day'` is `'1 day'::interval`. With fields that the text does not name it stays.
fn spelled_interval(interval: Interval) -> Expr {
    let is_plain = interval.leading_field.is_none() && interval.leading_precision.is_none();
    match &*interval.value {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. }) if is_plain => {
            Expr::Cast {
                kind: CastKind::Cast,
                expr: interval.value,
                data_type: DataType::Interval { fields: None, precision: None },
                array: false,
                format: None,
            }
        }
        _ => Expr::Interval(interval),
    }
}

/// A field's name as a literal.
fn word(field: &DateTimeField) -> Expr {
    let name = match field {
        DateTimeField::Custom(name) => name.value.clone(),
        named => named.to_string().to_lowercase(),
    };
    Expr::Value(Value::SingleQuotedString(name).with_empty_span())
}
