//! Expressions: their types, and what is wrong with them.

use datafusion::sql::sqlparser::ast::{
    CaseWhen, CastKind, DataType as SqlType, Expr, UnaryOperator, Value,
};
use engine::types::{DataType, Result, SqlState};

use super::Analysis;
use super::relations::Scope;
use super::types::{NUMERIC, Type, castable, name};
use crate::statement::data_type::data_type;
use crate::template::fold;

/// Where an expression stands: which functions of many rows it may call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The clause that takes no aggregates.
    pub no_aggregates: Option<&'static str>,
    /// The clause that takes no window functions.
    pub no_windows: Option<&'static str>,
    /// Whether this is inside an aggregate's arguments.
    pub aggregated: bool,
}

impl Place {
    /// A clause that takes neither.
    pub fn rows(clause: &'static str) -> Place {
        Place { no_aggregates: Some(clause), no_windows: Some(clause), aggregated: false }
    }
}

impl Analysis<'_> {
    /// The type of an expression.
    pub(super) fn expression(&self, expr: &Expr, scope: &Scope, place: Place) -> Result<Type> {
        let of = |expr: &Expr| self.expression(expr, scope, place);
        let boolean = Type::Known(DataType::Boolean);
        match expr {
            Expr::Identifier(column) => Ok(scope.column(&fold(column))),
            Expr::CompoundIdentifier(parts) => self.qualified(parts, scope),
            Expr::Nested(inner) => of(inner),
            Expr::Value(value) => Ok(literal(&value.value)),
            Expr::TypedString(typed) => Ok(self.named_type(&typed.data_type)),
            Expr::Cast { kind, expr, data_type, array: false, .. } => {
                self.cast(kind, expr, of(expr)?, data_type)
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.boolean("NOT", expr, of(expr)?),
            Expr::UnaryOp { expr: inner, .. } => self.sign(expr, of(inner)?),
            Expr::BinaryOp { left, op, right } => {
                let (left_type, right_type) = (of(left)?, of(right)?);
                self.binary(op, (left, left_type), (right, right_type))
            }
            Expr::IsTrue(inner) => self.boolean("IS TRUE", inner, of(inner)?),
            Expr::IsNotTrue(inner) => self.boolean("IS NOT TRUE", inner, of(inner)?),
            Expr::IsFalse(inner) => self.boolean("IS FALSE", inner, of(inner)?),
            Expr::IsNotFalse(inner) => self.boolean("IS NOT FALSE", inner, of(inner)?),
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => of(inner).map(|_| boolean),
            Expr::InList { expr, list, .. } => self.in_list(expr, list, scope, place),
            Expr::InSubquery { expr, subquery, .. } => {
                let left = of(expr)?;
                let columns = self.query(subquery, &scope.inner())?;
                let right = match columns.as_deref() {
                    Some([(_, only)]) => *only,
                    _ => Type::Opaque,
                };
                self.compare("=", left, right, || self.words.between(expr, &["in"]))
            }
            Expr::Between { expr, low, high, .. } => {
                let at = || self.words.between(expr, &["between"]);
                let found = of(expr)?;
                let (low, high) = (of(low)?, of(high)?);
                self.compare(">=", found, low, at)?;
                self.compare("<=", found, high, at)
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), scope, place)
            }
            Expr::Subquery(query) => {
                let columns = self.query(query, &scope.inner())?;
                Ok(match columns.as_deref() {
                    Some([(_, only)]) => *only,
                    _ => Type::Opaque,
                })
            }
            Expr::Exists { subquery, .. } => self.query(subquery, &scope.inner()).map(|_| boolean),
            Expr::Function(function) => self.call(function, scope, place),
            _ => Ok(Type::Opaque),
        }
    }

    fn qualified(
        &self,
        parts: &[datafusion::sql::sqlparser::ast::Ident],
        scope: &Scope,
    ) -> Result<Type> {
        let [table, column] = parts else { return Ok(Type::Opaque) };
        let name = fold(table);
        if let Some(alias) = scope.hiding(&name) {
            let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
            let hint = format!("Perhaps you meant to reference the table alias \"{alias}\".");
            let at = self.words.name(table);
            return Err(self.words.fault(SqlState::UndefinedTable, message, at).hint(hint));
        }
        let column_name = fold(column);
        if scope.lacks(&name, &column_name) {
            let message = format!("column {name}.{column_name} does not exist");
            let at = self.words.name(table);
            return Err(self.words.fault(SqlState::UndefinedColumn, message, at));
        }
        Ok(scope.qualified(&name, &column_name))
    }

    fn named_type(&self, sql: &SqlType) -> Type {
        data_type(sql).map_or(Type::Opaque, Type::Known)
    }

    fn cast(&self, kind: &CastKind, expr: &Expr, from: Type, to: &SqlType) -> Result<Type> {
        let to = match data_type(to) {
            Ok(to) => to,
            Err(fault) if fault.state == SqlState::InvalidParameterValue => {
                let at = self.words.cast_type(expr, kind);
                return Err(self.words.fault(fault.state, fault.message.clone(), at));
            }
            Err(_) => return Ok(Type::Opaque),
        };
        if let Type::Known(from) = from
            && !castable(from, to)
        {
            let message = format!("cannot cast type {} to {}", name(from), name(to));
            let at = match kind {
                CastKind::DoubleColon => self.words.between(expr, &["::"]),
                _ => self.words.start(expr).and_then(|byte| self.words.opening(byte)),
            };
            return Err(self.words.fault(SqlState::CannotCoerce, message, at));
        }
        Ok(Type::Known(to))
    }

    /// `- x`
    fn sign(&self, expr: &Expr, found: Type) -> Result<Type> {
        match found {
            Type::Known(data_type) if found.class() != Some(super::types::Class::Number) => {
                let message = format!("operator does not exist: - {}", name(data_type));
                let hint = "No operator matches the given name and argument type. You might need \
                            to add an explicit type cast.";
                let at = self.words.start(expr);
                Err(self.words.fault(SqlState::UndefinedFunction, message, at).hint(hint))
            }
            _ => Ok(found),
        }
    }

    fn in_list(&self, expr: &Expr, list: &[Expr], scope: &Scope, place: Place) -> Result<Type> {
        let left = self.expression(expr, scope, place)?;
        for item in list {
            let right = self.expression(item, scope, place)?;
            self.compare("=", left, right, || self.words.between(expr, &["in"]))?;
        }
        Ok(Type::Known(DataType::Boolean))
    }

    fn case(
        &self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
        scope: &Scope,
        place: Place,
    ) -> Result<Type> {
        let of = |expr: &Expr| self.expression(expr, scope, place);
        let compared = operand.map(|operand| of(operand).map(|found| (operand, found)));
        let compared = compared.transpose()?;
        for CaseWhen { condition, .. } in conditions {
            let found = of(condition)?;
            match compared {
                Some((operand, left)) => {
                    let at = || self.words.between(operand, &["when"]);
                    self.compare("=", left, found, at)?;
                }
                None => {
                    self.boolean("CASE/WHEN", condition, found)?;
                }
            }
        }
        // PostgreSQL looks at ELSE first.
        let results = otherwise.into_iter().chain(conditions.iter().map(|when| &when.result));
        let results = results.map(|result| Ok((of(result)?, self.words.start(result))));
        self.common("CASE", results.collect::<Result<Vec<_>>>()?)
    }
}

/// The type of a literal on its own.
pub fn literal(value: &Value) -> Type {
    match value {
        Value::Number(text, _) => Type::Known(match text.parse::<i64>() {
            Ok(number) if i32::try_from(number).is_ok() => DataType::Integer,
            Ok(_) => DataType::BigInt,
            Err(_) => NUMERIC,
        }),
        Value::Boolean(_) => Type::Known(DataType::Boolean),
        Value::SingleQuotedString(_)
        | Value::EscapedStringLiteral(_)
        | Value::DollarQuotedString(_)
        | Value::Null => Type::Literal,
        _ => Type::Opaque,
    }
}
