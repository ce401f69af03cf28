//! Whether the same values give the same result, always: what PostgreSQL asks of indexes and generated columns.

use super::*;
use crate::facts::{Oid, Volatility, function, functions_named, type_row};

impl Query {
    /// Whether nothing in it asks for a clock, a setting, or anything but its values.
    pub fn is_immutable(&self) -> bool {
        let mut is_immutable = true;
        self.parts(&mut |part| is_immutable &= holds(&part));
        is_immutable
    }
}

fn holds(part: &Part<'_>) -> bool {
    match part {
        Part::Expression(expression) => of_expression(expression),
        Part::Query(query) => query.is_immutable(),
    }
}

fn of_expression(expression: &Expression) -> bool {
    use ExpressionKind::*;
    let mut is_immutable = match &expression.kind {
        Session(_) => false,
        Call { function, .. } => function.0.volatility == Volatility::Immutable,
        Operator(operator, _)
        | Distinct(operator, _)
        | NullIf(operator, _)
        | Elements { operator, .. } => of_operator(operator),
        RowComparison { operators, .. } => operators.iter().all(of_operator),
        Cast { via, operand, .. } => of_cast(via, operand.type_oid, expression.type_oid),
        _ => true,
    };
    expression.parts(&mut |part| is_immutable &= holds(&part));
    is_immutable
}

fn of_operator(operator: &OperatorRef) -> bool {
    function(operator.0.function).is_none_or(|own| own.volatility == Volatility::Immutable)
}

fn of_cast(via: &CastVia, source: Oid, target: Oid) -> bool {
    match via {
        CastVia::Function(function) => function.0.volatility == Volatility::Immutable,
        CastVia::Text => is_written_the_same(source) && is_read_the_same(target),
        CastVia::Elements(via) => {
            let element = |array: Oid| type_row(array).map_or(0, |row| row.element);
            of_cast(via, element(source), element(target))
        }
        CastVia::Relabel | CastVia::Domain | CastVia::Row => true,
    }
}

fn is_read_the_same(target: Oid) -> bool {
    type_row(target).is_none_or(|row| is_named_immutable(row.input))
}

/// Output functions are called after their types.
fn is_written_the_same(source: Oid) -> bool {
    type_row(source).is_none_or(|row| {
        let names = [format!("{}out", row.name), format!("{}_out", row.name)];
        names.iter().all(|name| is_named_immutable(name))
    })
}

fn is_named_immutable(name: &str) -> bool {
    functions_named(name).iter().all(|function| function.volatility == Volatility::Immutable)
}
