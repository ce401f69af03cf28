//! Operators over types.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};
use engine::types::{DataType, Error, Result, SqlState};

use super::Analysis;
use super::types::{Class, NUMERIC, Type, class, name, wider};

const NO_OPERATOR: &str = "No operator matches the given name and argument types. You might need \
                           to add explicit type casts.";

impl Analysis<'_> {
    /// `operator does not exist: integer = text`
    pub(super) fn no_operator(
        &self,
        symbol: &str,
        left: DataType,
        right: DataType,
        at: Option<usize>,
    ) -> Error {
        let (left, right) = (name(left), name(right));
        let message = format!("operator does not exist: {left} {symbol} {right}");
        self.words.fault(SqlState::UndefinedFunction, message, at).hint(NO_OPERATOR)
    }

    /// Whether two values can be compared; the fault is at the operator.
    pub(super) fn compare(
        &self,
        symbol: &str,
        left: Type,
        right: Type,
        at: impl FnOnce() -> Option<usize>,
    ) -> Result<Type> {
        if let (Type::Known(l), Type::Known(r)) = (left, right)
            && class(l) != class(r)
        {
            return Err(self.no_operator(symbol, l, r, at()));
        }
        Ok(Type::Known(DataType::Boolean))
    }

    /// The type of an operation.
    pub(super) fn binary(
        &self,
        op: &BinaryOperator,
        (left, left_type): (&Expr, Type),
        (right, right_type): (&Expr, Type),
    ) -> Result<Type> {
        use BinaryOperator::*;
        let symbol = op.to_string();
        let at = || self.words.between(left, &[&symbol.to_lowercase(), "!="]);
        match op {
            And | Or => {
                self.boolean(&symbol, left, left_type)?;
                self.boolean(&symbol, right, right_type)
            }
            Eq | NotEq | Lt | LtEq | Gt | GtEq => self.compare(&symbol, left_type, right_type, at),
            Plus | Minus | Multiply | Divide | Modulo => {
                let (Type::Known(l), Type::Known(r)) = (left_type, right_type) else {
                    return Ok(one_known(op, left_type, right_type));
                };
                arithmetic(op, l, r).ok_or_else(|| self.no_operator(&symbol, l, r, at()))
            }
            StringConcat => match (left_type, right_type) {
                (Type::Known(l), Type::Known(r)) => match (class(l), class(r)) {
                    (Class::Text, _) | (_, Class::Text) => Ok(Type::Known(DataType::Text)),
                    (Class::Bytes, Class::Bytes) => Ok(left_type),
                    _ => Err(self.no_operator(&symbol, l, r, at())),
                },
                _ => Ok(Type::Opaque),
            },
            _ => Ok(Type::Opaque),
        }
    }

    /// 42804 where a condition is known to be none.
    pub(super) fn boolean(&self, clause: &str, expr: &Expr, found: Type) -> Result<Type> {
        match found {
            Type::Known(data_type) if data_type != DataType::Boolean => {
                let found = name(data_type);
                let message =
                    format!("argument of {clause} must be type boolean, not type {found}");
                Err(self.words.fault(SqlState::DatatypeMismatch, message, self.words.start(expr)))
            }
            _ => Ok(Type::Known(DataType::Boolean)),
        }
    }

    /// What several expressions have in common; the fault is at the first that does not fit.
    pub(super) fn common(
        &self,
        what: &str,
        items: impl IntoIterator<Item = (Type, Option<usize>)>,
    ) -> Result<Type> {
        let mut common = Type::Literal;
        for (found, at) in items {
            common = match (common.common(found), common, found) {
                (Some(both), ..) => both,
                (None, Type::Known(first), Type::Known(second)) => {
                    let (first, second) = (name(first), name(second));
                    let message = format!("{what} types {first} and {second} cannot be matched");
                    return Err(self.words.fault(SqlState::DatatypeMismatch, message, at));
                }
                _ => Type::Opaque,
            };
        }
        Ok(common)
    }
}

/// The result of arithmetic where one side takes the other's type.
fn one_known(op: &BinaryOperator, left: Type, right: Type) -> Type {
    match (left, right) {
        (Type::Known(known), Type::Literal) | (Type::Literal, Type::Known(known))
            if class(known) == Class::Number && !matches!(op, BinaryOperator::Modulo) =>
        {
            Type::Known(known)
        }
        _ => Type::Opaque,
    }
}

fn is_integer(data_type: DataType) -> bool {
    matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt)
}

fn arithmetic(op: &BinaryOperator, left: DataType, right: DataType) -> Option<Type> {
    use BinaryOperator::{Minus, Modulo, Plus};
    let known = |data_type| Some(Type::Known(data_type));
    match (class(left), class(right)) {
        (Class::Number, Class::Number) => {
            let wide = wider(left, right);
            let float = matches!(wide, DataType::Real | DataType::Double);
            let result = if matches!(wide, DataType::Numeric { .. }) { NUMERIC } else { wide };
            (!(float && matches!(op, Modulo))).then_some(Type::Known(result))
        }
        (Class::Time, Class::Number) if left == DataType::Date && is_integer(right) => {
            matches!(op, Plus | Minus).then_some(Type::Known(DataType::Date))
        }
        (Class::Number, Class::Time) if right == DataType::Date && is_integer(left) => {
            matches!(op, Plus).then_some(Type::Known(DataType::Date))
        }
        (Class::Time, Class::Time) if matches!(op, Minus) => {
            let days = left == DataType::Date && right == DataType::Date;
            if days { known(DataType::Integer) } else { Some(Type::Opaque) }
        }
        _ => None,
    }
}
