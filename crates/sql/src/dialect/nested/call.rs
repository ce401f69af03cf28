//! CASE as a function, while it is planned: its type is asked of each argument once.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::kernels::cmp::eq;
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::type_coercion::other::{
    get_coerce_type_for_case_expression, get_coerce_type_for_case_when,
};
use datafusion::logical_expr::{
    Case, ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use super::super::shortened::shortened;

/// `__case(condition, result, condition, result, .., otherwise)`
pub const SEARCHED: &str = "__case";

/// `__case_of(operand, value, result, value, result, .., otherwise)`
pub const COMPARED: &str = "__case_of";

/// Both functions.
pub fn functions() -> [Arc<ScalarUDF>; 2] {
    [false, true].map(|has_operand| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(CaseCall { has_operand, signature }))
    })
}

/// What a CASE consists of.
#[derive(Debug)]
pub struct Branches<'a, T> {
    /// What values are compared with.
    pub operand: Option<&'a T>,
    /// Conditions or values, and results.
    pub arms: Vec<(&'a T, &'a T)>,
    /// The ELSE.
    pub otherwise: Option<&'a T>,
}

impl<'a, T> Branches<'a, T> {
    /// `None` for a number of arguments that no CASE has.
    fn of(has_operand: bool, arguments: &'a [T]) -> Option<Branches<'a, T>> {
        let (operand, arguments) = match has_operand {
            true => arguments.split_first().map(|(operand, rest)| (Some(operand), rest))?,
            false => (None, arguments),
        };
        let (otherwise, arms) = arguments.split_last()?;
        if arms.is_empty() || !arms.len().is_multiple_of(2) {
            return None;
        }
        let arms = arms.chunks_exact(2).map(|arm| (&arm[0], &arm[1])).collect();
        Some(Branches { operand, arms, otherwise: Some(otherwise) })
    }

    /// What it may give.
    pub fn results(&self) -> impl Iterator<Item = &'a T> {
        self.arms.iter().map(|(_, result)| *result).chain(self.otherwise)
    }
}

/// The branches of a call, if it stands for a CASE.
pub fn branches(call: &ScalarFunction) -> Option<Branches<'_, Expr>> {
    let has_operand = match call.name() {
        SEARCHED => false,
        COMPARED => true,
        _ => return None,
    };
    Branches::of(has_operand, &call.args)
}

/// The CASE that a call stands for.
pub fn case_of(call: &ScalarFunction) -> Option<Case> {
    let Branches { operand, arms, otherwise } = branches(call)?;
    let boxed = |expr: &Expr| Box::new(expr.clone());
    let arms = arms.into_iter().map(|(when, then)| (boxed(when), boxed(then))).collect();
    Some(Case::new(operand.map(boxed), arms, otherwise.map(boxed)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CaseCall {
    has_operand: bool,
    signature: Signature,
}

impl CaseCall {
    fn branches<'a, T>(&self, arguments: &'a [T]) -> Result<Branches<'a, T>> {
        Branches::of(self.has_operand, arguments).ok_or_else(|| {
            let message = format!("No function matches the given name: {}", self.name());
            DataFusionError::Plan(message)
        })
    }
}

impl ScalarUDFImpl for CaseCall {
    fn name(&self) -> &str {
        if self.has_operand { COMPARED } else { SEARCHED }
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let names = shortened(arguments).unwrap_or_else(|| {
            let names: Vec<_> = arguments.iter().map(|arg| arg.schema_name().to_string()).collect();
            names.join(",")
        });
        Ok(format!("{}({names})", self.name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// As DataFusion brings the parts of a CASE to common types.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let given = self.branches(types)?;
        let unlike = || DataFusionError::Plan("CASE types cannot be matched".to_owned());
        let results: Vec<DataType> = given.arms.iter().map(|(_, then)| (*then).clone()).collect();
        let result = get_coerce_type_for_case_expression(&results, given.otherwise);
        let result = result.ok_or_else(unlike)?;
        let whens: Vec<DataType> = given.arms.iter().map(|(when, _)| (*when).clone()).collect();
        let when = match given.operand {
            Some(operand) => get_coerce_type_for_case_when(&whens, operand).ok_or_else(unlike)?,
            None => DataType::Boolean,
        };
        let operand = given.operand.map(|_| when.clone());
        let arms = given.arms.iter().flat_map(|_| [when.clone(), result.clone()]);
        Ok(operand.into_iter().chain(arms).chain([result.clone()]).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let given = self.branches(types)?;
        let known = given.results().find(|data_type| !data_type.is_null());
        Ok(known.cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let given = self.branches(args.arg_fields)?;
        let mut types = given.results().map(|field| field.data_type());
        let result = types.find(|data_type| !data_type.is_null());
        let result = result.cloned().unwrap_or(DataType::Null);
        let is_nullable = given.results().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), result, is_nullable)))
    }

    /// For constants: what runs is a CASE.
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = args.args.iter().map(|value| value.to_array(args.number_rows));
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_>>()?;
        let given = self.branches(&arrays)?;
        let (Some(mut result), arms) = (given.otherwise.cloned(), &given.arms) else {
            return Err(DataFusionError::Internal("a CASE without ELSE".to_owned()));
        };
        for (when, then) in arms.iter().rev() {
            let mask = match given.operand {
                Some(operand) => eq(operand, *when)?,
                None => when.as_boolean().clone(),
            };
            // NULL is no condition that holds.
            result = zip(&mask, *then, &result)?;
        }
        Ok(ColumnarValue::Array(result))
    }

    fn conditional_arguments<'a>(
        &self,
        arguments: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        let (first, others) = arguments.split_first()?;
        Some((vec![first], others.iter().collect()))
    }

    fn short_circuits(&self) -> bool {
        true
    }
}
