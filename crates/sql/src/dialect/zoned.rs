//! What means something else in another time zone is computed in the session's.
//!
//! In come the expressions of a plan that is made for a session whose TimeZone is not UTC; out go the same with the zone in them,
//! so that whoever runs them, and on which thread, does not matter: conversions between instants and local times, texts without an
//! offset that become instants, fields of instants, and sums of instants and intervals. Called by [`super::casts`]; what is left
//! `template::zones` refuses.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use engine::types::{Error, Value, array_cell, array_from_values};

use super::casts::{is_own_cast, own_cast};
use super::json::is_builder;
use super::kernels;
use super::spans::is_interval;
use crate::catalog::types::{from_arrow, is_string};
use crate::text::{SessionZone, in_zone, is_utc, localized, session_zone};

/// A function that is computed in a session's zone.
#[derive(Debug)]
struct Zoned {
    function: Arc<ScalarUDF>,
    zone: SessionZone,
    /// With the zone: nodes of the global plan are told apart by the texts of their expressions.
    name: String,
}

impl PartialEq for Zoned {
    fn eq(&self, other: &Zoned) -> bool {
        (&self.function, &self.zone) == (&other.function, &other.zone)
    }
}

impl Eq for Zoned {}

impl Hash for Zoned {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.hash(state);
        self.zone.name().hash(state);
    }
}

impl ScalarUDFImpl for Zoned {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        self.function.schema_name(arguments)
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.function.coerce_types(arguments)
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.function.return_type(arguments)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.function.return_field_from_args(arguments)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        in_zone(&self.zone, || self.function.invoke_with_args(arguments))
    }
}

/// The expression, whose operands are done, in the zone of the session that it is planned for.
pub fn in_session_zone(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let zone = session_zone();
    if zone.is_utc() {
        return Ok(Transformed::no(expr));
    }
    let type_of = |expr: &Expr| expr.get_type(schema).ok();
    Ok(match expr {
        Expr::Cast(Cast { expr: inner, field }) => match type_of(&inner) {
            Some(from) if crosses(&from, field.data_type()) => {
                Transformed::yes(zoned_cast(*inner, field, &zone))
            }
            _ => Transformed::no(Expr::Cast(Cast { expr: inner, field })),
        },
        Expr::BinaryExpr(pair) => of_pair(pair, schema, &zone),
        Expr::Between(mut between) if type_of(&between.expr).is_some_and(|of| is_instant(&of)) => {
            for bound in [&mut between.low, &mut between.high] {
                **bound = as_instant(std::mem::take(&mut **bound), schema, &zone);
            }
            Transformed::yes(Expr::Between(between))
        }
        Expr::InList(mut list) if type_of(&list.expr).is_some_and(|of| is_instant(&of)) => {
            let items = list.list.into_iter().map(|item| as_instant(item, schema, &zone));
            list.list = items.collect();
            Transformed::yes(Expr::InList(list))
        }
        Expr::ScalarFunction(call) if call.args.is_empty() && call.name() == "current_date" => {
            let now = kernels::call("now", Vec::new());
            Transformed::yes(zoned(own_cast(now, &DataType::Date32), &zone))
        }
        Expr::ScalarFunction(call) if looks_at_zone(&call, schema) => {
            Transformed::yes(zoned(Expr::ScalarFunction(call), &zone))
        }
        other => Transformed::no(other),
    })
}

/// A cast that crosses; a time of day is one of a local time.
fn zoned_cast(inner: Expr, field: FieldRef, zone: &SessionZone) -> Expr {
    if !is_time_of_day(field.data_type()) {
        return zoned(own_cast(inner, field.data_type()), zone);
    }
    let local = zoned(own_cast(inner, &engine::types::DataType::Timestamp.arrow()), zone);
    Expr::Cast(Cast { expr: Box::new(local), field })
}

/// What is compared with an instant, or subtracted, is one; intervals are added to local times.
fn of_pair(pair: BinaryExpr, schema: &DFSchema, zone: &SessionZone) -> Transformed<Expr> {
    let BinaryExpr { left, op, right } = pair;
    let types = (left.get_type(schema).ok(), right.get_type(schema).ok());
    let (Some(from), Some(to)) = types else {
        return Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }));
    };
    let sum = |name, operands| Transformed::yes(zoned(kernels::call(name, operands), zone));
    match op {
        Operator::Plus if is_instant(&from) && is_interval(&to) => {
            sum("timestamptz_pl_interval", vec![*left, *right])
        }
        Operator::Plus if is_interval(&from) && is_instant(&to) => {
            sum("timestamptz_pl_interval", vec![*right, *left])
        }
        Operator::Minus if is_instant(&from) && is_interval(&to) => {
            sum("timestamptz_mi_interval", vec![*left, *right])
        }
        _ if crosses(&from, &to) || crosses(&to, &from) => {
            let side = |own: Box<Expr>| Box::new(as_instant(*own, schema, zone));
            let (left, right) = (side(left), side(right));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        _ => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
    }
}

/// Brings a local time or a text to the instant that it means.
fn as_instant(expr: Expr, schema: &DFSchema, zone: &SessionZone) -> Expr {
    let instant = engine::types::DataType::TimestampTz.arrow();
    match expr.get_type(schema) {
        Ok(own) if crosses(&own, &instant) => zoned(own_cast(expr, &instant), zone),
        _ => expr,
    }
}

/// Whether it is a function that may ask for the zone, of instants or of what becomes one.
fn looks_at_zone(call: &ScalarFunction, schema: &DFSchema) -> bool {
    let is_kernel = kernels::find(call.name()).is_some();
    let asks = is_kernel && !matches!(call.name(), "now" | "timezone") || is_builder(call.name());
    if !asks && !is_own_cast(call) {
        return false;
    }
    let types: Vec<DataType> =
        call.args.iter().filter_map(|argument| argument.get_type(schema).ok()).collect();
    let made = call.func.return_type(&types);
    types.iter().chain(&made.ok()).any(is_instant)
}

fn zoned(call: Expr, zone: &SessionZone) -> Expr {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = call else {
        unreachable!("a cast of ours and a kernel are functions")
    };
    let name = format!("{}[{}]", func.name(), zone.name());
    let function = Zoned { function: func, zone: zone.clone(), name };
    Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(ScalarUDF::new_from_impl(function)),
        args,
    ))
}

/// Whether a conversion asks in which zone it happens. An instant as text names its offset.
pub fn crosses(from: &DataType, to: &DataType) -> bool {
    (is_instant(from) && (is_local(to) || is_time_of_day(to)))
        || (is_instant(to) && (is_local(from) || is_string(from)))
}

/// Whether it is `timestamptz`.
pub fn is_instant(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

fn is_local(data_type: &DataType) -> bool {
    let is_date = matches!(data_type, DataType::Date32 | DataType::Date64);
    is_date || matches!(data_type, DataType::Timestamp(_, None))
}

fn is_time_of_day(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Time32(_) | DataType::Time64(_))
}

/// Instants as local times of the zone that something runs in, or the other way; `None` where that is UTC, or it is another conversion.
pub fn across(array: &ArrayRef, target: &DataType) -> Result<Option<ArrayRef>> {
    let from = array.data_type();
    if is_utc() || is_string(from) || !crosses(from, target) {
        return Ok(None);
    }
    let target = from_arrow(target);
    // By way of the engine's own type: what comes may be of another unit.
    let own = cast(array, &from_arrow(from).arrow())?;
    let converted = (0..own.len()).map(|row| localized(array_cell(&own, row).to_owned(), target));
    let values = converted.collect::<Result<Vec<Value>, Error>>();
    let values = values.map_err(|fault| DataFusionError::External(Box::new(fault)))?;
    Ok(Some(array_from_values(target, values.iter().map(Value::borrow))))
}
