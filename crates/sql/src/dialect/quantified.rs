//! `x = ANY (array)`, `x <> ALL (array)` and the other comparisons with all elements of an array.
//!
//! In comes a parsed statement, in which these become calls of functions of ours ([`quantify`]), whose arrays may come as literals
//! ([`over_array`]); the functions compare as PostgreSQL's `ScalarArrayOpExpr`: of no elements ANY is false and ALL is true even
//! where the value is NULL, else NULL is neither. A constant array becomes a list, which finds indexes.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Datum, ListArray, Scalar, UInt32Array,
};
use datafusion::arrow::compute::kernels::{boolean, cmp};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::error::ArrowError;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, lit,
};
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, CastKind, DataType as SqlType, ExactNumberInfo,
    Expr as SqlExpr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, TimezoneInfo, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use engine::types::{DataType as OwnType, SqlState};

use super::arithmetic::fault;
use super::casts::own_cast;
use super::intervals::INTERVAL;
use super::spans::{is_interval, spans};
use crate::catalog::types::is_string;
use crate::template::{placeholder_index, type_name};

/// A comparison with an array's elements.
type Comparison = (&'static str, BinaryOperator, bool);

/// The functions: name, operator, whether all elements must compare so.
const COMPARISONS: [Comparison; 12] = [
    ("__any_eq", BinaryOperator::Eq, false),
    ("__any_ne", BinaryOperator::NotEq, false),
    ("__any_lt", BinaryOperator::Lt, false),
    ("__any_le", BinaryOperator::LtEq, false),
    ("__any_gt", BinaryOperator::Gt, false),
    ("__any_ge", BinaryOperator::GtEq, false),
    ("__all_eq", BinaryOperator::Eq, true),
    ("__all_ne", BinaryOperator::NotEq, true),
    ("__all_lt", BinaryOperator::Lt, true),
    ("__all_le", BinaryOperator::LtEq, true),
    ("__all_gt", BinaryOperator::Gt, true),
    ("__all_ge", BinaryOperator::GtEq, true),
];

/// Puts the functions' calls there, and casts around parameters of which the client said that they are arrays: they come as
/// texts.
pub fn quantify<T: VisitMut>(node: &mut T, declared: &dyn Fn(usize) -> Option<OwnType>) {
    let _ = node.visit(&mut Quantify { declared });
}

struct Quantify<'a> {
    declared: &'a dyn Fn(usize) -> Option<OwnType>,
}

impl VisitorMut for Quantify<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<()> {
        let replaced = match expr {
            SqlExpr::AnyOp { left, compare_op, right, .. } => call(compare_op, false, left, right),
            SqlExpr::AllOp { left, compare_op, right } => call(compare_op, true, left, right),
            SqlExpr::Value(ValueWithSpan { value: Value::Placeholder(id), .. }) => {
                let item = placeholder_index(id).ok().and_then(|index| (self.declared)(index));
                item.map(|item| as_array(expr, item))
            }
            _ => None,
        };
        if let Some(replaced) = replaced {
            *expr = replaced;
        }
        ControlFlow::Continue(())
    }
}

fn call(op: &BinaryOperator, all: bool, left: &SqlExpr, right: &SqlExpr) -> Option<SqlExpr> {
    if matches!(right, SqlExpr::Subquery(_)) {
        return None;
    }
    let (name, ..) = COMPARISONS.iter().find(|(_, own, is_all)| own == op && *is_all == all)?;
    let argument = |expr: &SqlExpr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr.clone()));
    Some(SqlExpr::Function(Function {
        name: ObjectName::from(vec![Ident::new(*name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(left), argument(right)],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }))
}

fn as_array(parameter: &SqlExpr, item: OwnType) -> SqlExpr {
    let item = match item {
        OwnType::Boolean => SqlType::Boolean,
        OwnType::SmallInt => SqlType::SmallInt(None),
        OwnType::Integer => SqlType::Integer(None),
        OwnType::BigInt => SqlType::BigInt(None),
        OwnType::Real => SqlType::Real,
        OwnType::Double => SqlType::DoublePrecision,
        OwnType::Numeric { .. } => SqlType::Numeric(ExactNumberInfo::None),
        OwnType::Date => SqlType::Date,
        OwnType::Timestamp => SqlType::Timestamp(None, TimezoneInfo::None),
        OwnType::TimestampTz => SqlType::Timestamp(None, TimezoneInfo::WithTimeZone),
        OwnType::Bytea => SqlType::Bytea,
        OwnType::Text | OwnType::Varchar(_) | OwnType::Char(_) => SqlType::Text,
    };
    SqlExpr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(parameter.clone()),
        data_type: SqlType::Array(ArrayElemTypeDef::SquareBracket(Box::new(item), None)),
        array: false,
        format: None,
    }
}

/// The functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let function = |comparison: Comparison| {
        let (name, op, all) = comparison;
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Quantified { name, op, all, signature }))
    };
    COMPARISONS.into_iter().map(function).collect()
}

/// Whether a call is one of these.
pub fn is_quantified(call: &ScalarFunction) -> bool {
    COMPARISONS.iter().any(|(name, ..)| *name == call.name())
}

/// The type of an array whose type nobody has said, beside a value.
pub fn array_beside(value: &DataType) -> DataType {
    let item = match value {
        // All digits count: rounded to the value's, others would be equal to it.
        DataType::Decimal128(..) => OwnType::PLAIN_NUMERIC.arrow(),
        value if is_string(value) => DataType::Utf8View,
        value => value.clone(),
    };
    DataType::new_list(item, true)
}

/// The call with an array where a literal or a parameter stands for one; 42809 for any other text.
pub fn over_array(call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<ScalarFunction>> {
    if !is_quantified(&call) {
        return Ok(Transformed::no(call));
    }
    let [value, array] = call.args.as_slice() else { return Ok(Transformed::no(call)) };
    let given = array.get_type(schema)?;
    if matches!(given, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)) {
        return Ok(Transformed::no(call));
    }
    let is_open = matches!(array, Expr::Placeholder(_) | Expr::Literal(..));
    if !is_open || !(is_string(&given) || given.is_null()) {
        let message = "op ANY/ALL (array) requires array on right side";
        return Err(fault(SqlState::WrongObjectType, message));
    }
    let array = own_cast(array.clone(), &array_beside(&value.get_type(schema)?));
    let args = vec![value.clone(), array];
    Ok(Transformed::yes(ScalarFunction::new_udf(call.func.clone(), args)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Quantified {
    name: &'static str,
    op: BinaryOperator,
    all: bool,
    signature: Signature,
}

impl Quantified {
    /// The type in which a value and the elements are compared.
    fn common(&self, value: &DataType, item: &DataType) -> Result<DataType> {
        match (value, item) {
            (value, item) if is_interval(value) || is_interval(item) => Ok(INTERVAL),
            (value, item) if value == item || value.is_null() => Ok(item.clone()),
            (value, item) if item.is_null() => Ok(value.clone()),
            // A literal that stays in the statement.
            (DataType::Utf8, item) => Ok(item.clone()),
            _ if item.is_nested() => {
                let message = "ANY and ALL over arrays of several dimensions are not supported";
                Err(fault(SqlState::FeatureNotSupported, message))
            }
            _ => alike(value, item).ok_or_else(|| {
                let name = |t: &DataType| type_name(&t.to_string()).to_owned();
                let (value, item) = (name(value), name(item));
                let message = format!("operator does not exist: {value} {} {item}", self.op);
                fault(SqlState::UndefinedFunction, message)
            }),
        }
    }

    fn compare(&self, left: &dyn Datum, right: &dyn Datum) -> Result<BooleanArray, ArrowError> {
        match self.op {
            BinaryOperator::NotEq => cmp::neq(left, right),
            BinaryOperator::Lt => cmp::lt(left, right),
            BinaryOperator::LtEq => cmp::lt_eq(left, right),
            BinaryOperator::Gt => cmp::gt(left, right),
            BinaryOperator::GtEq => cmp::gt_eq(left, right),
            _ => cmp::eq(left, right),
        }
    }

    /// All rows with the elements of one array.
    fn with_each(&self, values: &ArrayRef, elements: &ArrayRef) -> Result<BooleanArray> {
        let mut found = BooleanArray::from(vec![self.all; values.len()]);
        for element in 0..elements.len() {
            let element = Scalar::new(elements.slice(element, 1));
            let compared = self.compare(values, &element)?;
            found = match self.all {
                true => boolean::and_kleene(&found, &compared)?,
                false => boolean::or_kleene(&found, &compared)?,
            };
        }
        Ok(found)
    }

    /// Each row with the elements of its own array.
    fn with_own(&self, values: &ArrayRef, arrays: &ListArray) -> Result<BooleanArray> {
        let lengths = arrays.offsets().windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        let rows = lengths.enumerate();
        let rows = rows.flat_map(|(row, length)| std::iter::repeat_n(row as u32, length));
        let repeated = take(values, &UInt32Array::from_iter_values(rows), None)?;
        let first = arrays.offsets()[0] as usize;
        let elements = comparable(&arrays.values().slice(first, repeated.len()))?;
        let compared = self.compare(&repeated, &elements)?;
        let decided = |row: usize| {
            let ends = [row, row + 1].map(|end| arrays.offsets()[end] as usize - first);
            let compared = compared.slice(ends[0], ends[1] - ends[0]);
            arrays.is_valid(row).then(|| self.decide(&compared)).flatten()
        };
        Ok((0..arrays.len()).map(decided).collect())
    }

    fn decide(&self, compared: &BooleanArray) -> Option<bool> {
        let decides = |found: Option<bool>| found == Some(!self.all);
        match compared.iter().any(decides) {
            true => Some(!self.all),
            false => (compared.null_count() == 0).then_some(self.all),
        }
    }
}

/// The type of numbers, of texts or of moments of two kinds.
fn alike(value: &DataType, item: &DataType) -> Option<DataType> {
    let both = is_string(value) == is_string(item);
    both.then(|| comparison_coercion(value, item)).flatten()
}

/// Values as arrow compares them as PostgreSQL does.
fn comparable(values: &ArrayRef) -> Result<ArrayRef> {
    match is_interval(values.data_type()) {
        true => Ok(Arc::new(spans(&cast(values, &INTERVAL)?)?)),
        false => Ok(values.clone()),
    }
}

impl ScalarUDFImpl for Quantified {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [value, array] = types else {
            return Err(fault(SqlState::UndefinedFunction, "a value and an array are compared"));
        };
        let common = match array {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                self.common(value, item.data_type())?
            }
            // A literal: it becomes an array before it is asked for its elements.
            other => return Ok(vec![value.clone(), other.clone()]),
        };
        let array = match array {
            DataType::List(item) if *item.data_type() == common => array.clone(),
            _ => DataType::List(Arc::new(Field::new_list_field(common.clone(), true))),
        };
        Ok(vec![common, array])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let negated = match (&self.op, self.all) {
            (BinaryOperator::Eq, false) => false,
            (BinaryOperator::NotEq, true) => true,
            _ => return Ok(ExprSimplifyResult::Original(args)),
        };
        let [value, Expr::Literal(ScalarValue::List(array), _)] = args.as_slice() else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        if array.is_null(0) {
            return Ok(ExprSimplifyResult::Simplified(lit(ScalarValue::Boolean(None))));
        }
        let elements = array.value(0);
        if elements.is_empty() {
            return Ok(ExprSimplifyResult::Simplified(lit(self.all)));
        }
        if is_interval(elements.data_type()) {
            return Ok(ExprSimplifyResult::Original(args));
        }
        let literal = |at| Ok(Expr::Literal(ScalarValue::try_from_array(&elements, at)?, None));
        let list = (0..elements.len()).map(literal).collect::<Result<Vec<Expr>>>()?;
        let member = InList::new(Box::new(value.clone()), list, negated);
        Ok(ExprSimplifyResult::Simplified(Expr::InList(member)))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, array] = call.args.as_slice() else {
            return Err(fault(SqlState::UndefinedFunction, "a value and an array are compared"));
        };
        let constant =
            matches!((value, array), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { call.number_rows };
        let values = comparable(&value.to_array(rows)?)?;
        let found = match array {
            ColumnarValue::Scalar(ScalarValue::List(array)) if array.is_null(0) => {
                BooleanArray::new_null(rows)
            }
            ColumnarValue::Scalar(ScalarValue::List(array)) => {
                self.with_each(&values, &comparable(&array.value(0))?)?
            }
            array => {
                let arrays = array.to_array(rows)?;
                let Some(arrays) = arrays.as_list_opt::<i32>() else {
                    let message = "op ANY/ALL (array) requires array on right side";
                    return Err(fault(SqlState::WrongObjectType, message));
                };
                self.with_own(&values, arrays)?
            }
        };
        match constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?)),
            false => Ok(ColumnarValue::Array(Arc::new(found))),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Int32Array;
    use datafusion::arrow::datatypes::Int32Type;

    use super::*;

    fn compared(name: &str, values: &[Option<i32>], arrays: &ListArray) -> Vec<Option<bool>> {
        let (name, op, all) =
            COMPARISONS.into_iter().find(|(own, ..)| *own == name).expect("there is one");
        let signature = Signature::user_defined(Volatility::Immutable);
        let function = Quantified { name, op, all, signature };
        let values: ArrayRef = Arc::new(Int32Array::from(values.to_vec()));
        let own = function.with_own(&values, arrays).expect("compares");
        own.iter().collect()
    }

    #[test]
    fn null_is_neither_unless_there_are_no_elements() {
        let arrays = ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            Some(vec![Some(1), None]),
            Some(vec![]),
            None,
            Some(vec![Some(3)]),
        ]);
        let values = [Some(1), Some(2), None, Some(1), None];
        assert_eq!(
            compared("__any_eq", &values, &arrays),
            [Some(true), None, Some(false), None, None]
        );
        assert_eq!(
            compared("__all_ne", &values, &arrays),
            [Some(false), None, Some(true), None, None]
        );
        assert_eq!(
            compared("__all_gt", &[Some(3), Some(1), Some(0), None, Some(4)], &arrays),
            [Some(true), Some(false), Some(true), None, Some(true)]
        );
    }
}
