//! `coalesce` that stays a call while it is planned.
//!
//! DataFusion makes a CASE of it that has each argument but the last twice. That is well for columns, and doubles with each level
//! of nesting for anything else. Computed as a call it computes all of its arguments; [`super::settle`] sees to it that none of these
//! can fail.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::is_null;
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::super::shortened::shortened;

/// Its name.
pub const NAME: &str = "coalesce";

/// Parts of arguments that may stand there twice.
const FEW: usize = 8;

/// DataFusion's function, which stays a call.
pub fn function(inner: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Coalesce { inner }))
}

#[derive(Debug)]
struct Coalesce {
    inner: Arc<ScalarUDF>,
}

impl PartialEq for Coalesce {
    fn eq(&self, other: &Coalesce) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Coalesce {}

impl Hash for Coalesce {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

/// Whether arguments are a few words, none of them a branch: what is copied then does not grow with nesting. Nor one that gives something
/// else the second time.
fn are_few(arguments: &[Expr]) -> bool {
    let (mut parts, mut is_more) = (0, false);
    for argument in arguments {
        let _ = argument.apply(|expr| {
            parts += 1;
            is_more |= matches!(expr, Expr::Case(_))
                || expr.is_volatile_node()
                || matches!(expr, Expr::ScalarFunction(call) if call.func.short_circuits());
            let goes_on = parts <= FEW && !is_more;
            Ok(if goes_on { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        });
    }
    parts <= FEW && !is_more
}

impl ScalarUDFImpl for Coalesce {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        match shortened(arguments) {
            Some(short) => Ok(format!("{NAME}({short})")),
            None => self.inner.schema_name(arguments),
        }
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match args.split_last() {
            Some((_, [])) | None => self.inner.simplify(args, info),
            Some((_, others)) if are_few(others) => self.inner.simplify(args, info),
            Some(_) => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = args.args.iter().map(|value| value.to_array(args.number_rows));
        let mut arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?.into_iter();
        let nothing = || DataFusionError::Execution("coalesce wants an argument".to_owned());
        let mut result = arrays.next().ok_or_else(nothing)?;
        for other in arrays {
            let missing = is_null(&result)?;
            if !missing.has_true() {
                break;
            }
            result = zip(&missing, &other, &result)?;
        }
        Ok(ColumnarValue::Array(result))
    }

    fn conditional_arguments<'a>(
        &self,
        arguments: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(arguments)
    }

    fn short_circuits(&self) -> bool {
        true
    }
}
