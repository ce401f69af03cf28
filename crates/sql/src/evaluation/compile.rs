//! A typed expression to what computes it.

use analysis::facts::{CastContext, CastMethod, Oid, cast, oid, operator, type_row};
use analysis::tree::{
    CastVia, Constant, Expression, ExpressionKind, FunctionRef, OperatorRef, Test,
};
use values::datum::Datum;
use values::kernel::{Context, Kernel, kernel};

use super::computation::{
    Call, Case, Computation, Elements, Extreme, Field, Pair, Recast, RowOrder,
};
use super::cost::Cost;
use super::facts::{Computed, computed, type_of};
use super::form::{Input, Output};

/// `text || anything` and `anything || text`, which PostgreSQL writes in SQL as casts to text.
const CONCATENATIONS: [Oid; 2] = [2003, 2004];
const TEXT_CONCATENATION: Oid = 1258;

/// What computes an expression without columns; `None` where it has something that no kernel computes. Literals are read
/// by the settings in `context`, as PostgreSQL reads them while it plans.
pub fn compile(expression: &Expression, context: &Context, cost: &mut Cost) -> Option<Computation> {
    Compiler { context, cost }.expression(expression)
}

struct Compiler<'a> {
    context: &'a Context,
    cost: &'a mut Cost,
}

impl Compiler<'_> {
    fn expression(&mut self, expression: &Expression) -> Option<Computation> {
        Some(match &expression.kind {
            ExpressionKind::Constant(constant) => {
                Computation::Value(self.constant(constant, expression)?)
            }
            ExpressionKind::Parameter(number) => Computation::Parameter(number - 1),
            ExpressionKind::Call { function, arguments, is_variadic: false } => {
                let arguments = self.all(arguments)?;
                Computation::Call(self.call(function.0.oid, arguments)?)
            }
            ExpressionKind::Operator(row, operands) if CONCATENATIONS.contains(&row.0.function) => {
                let texts = operands.iter().map(|operand| self.as_text(operand));
                let texts = texts.collect::<Option<_>>()?;
                Computation::Call(self.call(TEXT_CONCATENATION, texts)?)
            }
            ExpressionKind::Operator(row, operands) => {
                let operands = self.all(operands)?;
                Computation::Call(self.call(row.0.function, operands)?)
            }
            ExpressionKind::Distinct(row, values) => {
                Computation::Distinct(Box::new(self.pair(*row, values)?))
            }
            ExpressionKind::NullIf(row, values) => {
                Computation::NullIf(Box::new(self.pair(*row, values)?))
            }
            ExpressionKind::Elements { operator, is_any, operands } => {
                self.elements(*operator, *is_any, operands)?
            }
            ExpressionKind::RowComparison { operators, left, right } => {
                self.rows(operators, left, right)?
            }
            ExpressionKind::And(all) => Computation::And(self.all(all)?),
            ExpressionKind::Or(all) => Computation::Or(self.all(all)?),
            ExpressionKind::Not(inner) => Computation::Not(Box::new(self.expression(inner)?)),
            ExpressionKind::Test(test, value) => self.test(*test, value)?,
            ExpressionKind::Case { operand, whens, otherwise } => {
                let operand = match operand {
                    Some(operand) => Some(self.expression(operand)?),
                    None => None,
                };
                let mut when = |(condition, result): &(Expression, Expression)| {
                    Some((self.expression(condition)?, self.expression(result)?))
                };
                let whens = whens.iter().map(&mut when).collect::<Option<_>>()?;
                let otherwise = self.expression(otherwise)?;
                Computation::Case(Box::new(Case { operand, whens, otherwise }))
            }
            ExpressionKind::CaseOperand => Computation::CaseOperand,
            ExpressionKind::Coalesce(all) => Computation::Coalesce(self.all(all)?),
            ExpressionKind::Extreme { is_greatest, arguments } => {
                let (less, _) = order(expression.type_oid)?;
                let (is_greatest, arguments) = (*is_greatest, self.all(arguments)?);
                Computation::Extreme(Extreme { is_greatest, less, arguments })
            }
            ExpressionKind::Session(name) => session_value(name, expression.typmod)?,
            ExpressionKind::Cast { via, context, operand, .. } => {
                self.cast(via, *context, operand, expression)?
            }
            ExpressionKind::Collate(inner) => self.expression(inner)?,
            _ => return None,
        })
    }

    fn all(&mut self, all: &[Expression]) -> Option<Vec<Computation>> {
        all.iter().map(|one| self.expression(one)).collect()
    }

    fn constant(&mut self, constant: &Constant, expression: &Expression) -> Option<Datum> {
        match constant {
            Constant::Null => Some(Datum::Null),
            Constant::Boolean(value) => Some(Datum::Bool(*value)),
            Constant::Text(text) if expression.type_oid == oid::UNKNOWN => {
                Some(Datum::text(text.clone()))
            }
            Constant::Text(text) => {
                let input = Input::of(expression.type_oid)?;
                let value = input.read(self.context, text, expression.typmod).ok()?;
                self.cost.constant(&value);
                Some(value)
            }
        }
    }

    fn computed(&mut self, oid: Oid) -> Option<Computed> {
        let computed = computed(oid)?;
        self.cost.call(computed.row)?;
        Some(computed)
    }

    fn recast(&mut self, operand: Computation, from: Oid, to: Oid) -> Option<Computation> {
        self.cost.recast(from);
        let (output, input) = (Output::of(from)?, Input::of(to)?);
        Some(Computation::Recast(Box::new(Recast { operand, output, input })))
    }

    /// What a cast to text gives.
    fn as_text(&mut self, operand: &Expression) -> Option<Computation> {
        let value = self.expression(operand)?;
        let from = operand.type_oid;
        match cast(from, oid::TEXT).map(|row| row.method) {
            Some(CastMethod::Function(oid)) => self.call(oid, vec![value]).map(Computation::Call),
            _ if held(from)? == Held::Text => Some(value),
            _ => self.recast(value, from, oid::TEXT),
        }
    }

    fn call(&mut self, oid: Oid, arguments: Vec<Computation>) -> Option<Call> {
        let computed = self.computed(oid)?;
        let is_strict = computed.row.is_strict;
        let fits = computed.row.arguments.len() == arguments.len();
        fits.then_some(Call { kernel: computed.kernel, is_strict, arguments })
    }

    fn pair(&mut self, operator: OperatorRef, values: &[Expression; 2]) -> Option<Pair> {
        let equal = self.computed(operator.0.function)?.kernel;
        let values = [self.expression(&values[0])?, self.expression(&values[1])?];
        Some(Pair { equal, values })
    }

    fn elements(
        &mut self,
        operator: OperatorRef,
        is_any: bool,
        operands: &[Expression; 2],
    ) -> Option<Computation> {
        let [value, list] = operands;
        let ExpressionKind::Array { elements, is_nested: false } = &list.kind else { return None };
        let computed = self.computed(operator.0.function)?;
        let arguments = vec![self.expression(value)?];
        let compare =
            Call { kernel: computed.kernel, is_strict: computed.row.is_strict, arguments };
        let elements = self.all(elements)?;
        Some(Computation::Elements(Box::new(Elements { compare, is_any, elements })))
    }

    fn rows(
        &mut self,
        operators: &[OperatorRef],
        left: &[Expression],
        right: &[Expression],
    ) -> Option<Computation> {
        let (less, equal, greater) = match operators.first()?.0.strategy {
            1 => (true, false, false),
            2 => (true, true, false),
            4 => (false, true, true),
            5 => (false, false, true),
            _ => return None,
        };
        let mut field = |(a, b): (&Expression, &Expression)| {
            let (less, equal) = order(a.type_oid).filter(|_| a.type_oid == b.type_oid)?;
            Some(Field { less, equal, values: [self.expression(a)?, self.expression(b)?] })
        };
        let fields = left.iter().zip(right).map(&mut field).collect::<Option<_>>()?;
        Some(Computation::Rows(fields, RowOrder { less, equal, greater }))
    }

    fn test(&mut self, test: Test, value: &Expression) -> Option<Computation> {
        let fields = match &value.kind {
            ExpressionKind::Row(fields) if matches!(test, Test::Null | Test::NotNull) => {
                // A row within a row is no NULL, whatever its fields are.
                let is_value = |field: &Expression| {
                    field.type_oid == oid::UNKNOWN || type_of(field.type_oid).is_some()
                };
                if !fields.iter().all(is_value) {
                    return None;
                }
                self.all(fields)?
            }
            _ => vec![self.expression(value)?],
        };
        Some(Computation::Test(test, fields))
    }

    fn cast(
        &mut self,
        via: &CastVia,
        context: CastContext,
        operand: &Expression,
        result: &Expression,
    ) -> Option<Computation> {
        let value = self.expression(operand)?;
        match via {
            CastVia::Function(FunctionRef(row)) => {
                let mut arguments = vec![value];
                let is_explicit = context == CastContext::Explicit;
                let more = [Datum::Int4(result.typmod), Datum::Bool(is_explicit)];
                let more = more.into_iter().take(row.arguments.len() - 1);
                arguments.extend(more.map(Computation::Value));
                self.call(row.oid, arguments).map(Computation::Call)
            }
            CastVia::Relabel => relabeled(value, operand.type_oid, result.type_oid),
            CastVia::Text => self.recast(value, operand.type_oid, result.type_oid),
            CastVia::Elements(_) | CastVia::Domain | CastVia::Row => None,
        }
    }
}

/// What the values of a type are in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Text,
    Identifier,
    Other(Oid),
}

fn held(type_oid: Oid) -> Option<Held> {
    let row = type_of(type_oid)?;
    Some(match row.name {
        "text" | "varchar" | "bpchar" => Held::Text,
        name if name == "oid" || name.starts_with("reg") => Held::Identifier,
        _ => Held::Other(type_oid),
    })
}

/// The value as one of another type, where that takes no computation.
fn relabeled(value: Computation, from: Oid, to: Oid) -> Option<Computation> {
    let integer = Held::Other(oid::INT4);
    match (held(from)?, held(to)?) {
        (from, to) if from == to => Some(value),
        (from, Held::Identifier) if from == integer => Some(Computation::Identifier(value.into())),
        (Held::Identifier, to) if to == integer => Some(Computation::Identifier(value.into())),
        _ => None,
    }
}

/// Less and equal of a type's default order.
fn order(type_oid: Oid) -> Option<(&'static Kernel, &'static Kernel)> {
    let comparisons = type_row(type_oid)?.comparisons;
    let kernel_of = |oid: Oid| {
        let row = operator(oid)?;
        let computed = computed(row.function)?;
        // varchar is ordered as text, for example.
        let fits = row.operands.iter().all(|operand| held(*operand) == held(type_oid));
        (fits && row.result == oid::BOOL).then_some(computed.kernel)
    };
    Some((kernel_of(comparisons.less)?, kernel_of(comparisons.equal)?))
}

/// CURRENT_TIMESTAMP and its like: the transaction's start, as one of their types and rounded to the digits that are asked for.
fn session_value(name: &str, digits: i32) -> Option<Computation> {
    let (from_instant, rounded) = match name {
        "current_timestamp" => (None, Some("timestamptz_scale")),
        "localtimestamp" => (Some("timestamptz_timestamp"), Some("timestamp_scale")),
        "current_date" => (Some("timestamptz_date"), None),
        "current_time" => (Some("timestamptz_timetz"), Some("timetz_scale")),
        "localtime" => (Some("timestamptz_time"), Some("time_scale")),
        _ => return None,
    };
    let call = |source, arguments| {
        let call = Call { kernel: kernel(source)?, is_strict: true, arguments };
        Some(Computation::Call(call))
    };
    let mut value = call("now", Vec::new())?;
    if let Some(source) = from_instant {
        value = call(source, vec![value])?;
    }
    match rounded {
        Some(source) if digits >= 0 => {
            call(source, vec![value, Computation::Value(Datum::Int4(digits))])
        }
        _ => Some(value),
    }
}
