//! `ceil`, `floor` and `sign` as PostgreSQL has them: what is made whole of a numeric has no digits after the point, and its sign is a
//! numeric.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, FieldRef,
};
use datafusion::common::Result;
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

/// The functions.
pub fn functions(state: &SessionState) -> Vec<Arc<ScalarUDF>> {
    let found = ["ceil", "floor", SIGN].iter().filter_map(|name| state.udf(name).ok());
    found.map(|inner| Arc::new(ScalarUDF::new_from_impl(Rounding::new(inner)))).collect()
}

/// DataFusion's name of `sign`.
const SIGN: &str = "signum";

/// DataFusion's function, but for some arguments.
#[derive(Debug)]
struct Rounding {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

impl PartialEq for Rounding {
    fn eq(&self, other: &Rounding) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Rounding {}

impl Hash for Rounding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl Rounding {
    fn new(inner: Arc<ScalarUDF>) -> Rounding {
        let signature = match inner.name() {
            // DataFusion's takes floats only.
            SIGN => Signature::user_defined(Volatility::Immutable),
            _ => inner.signature().clone(),
        };
        Rounding { inner, signature }
    }

    fn is_sign(&self) -> bool {
        self.inner.name() == SIGN
    }

    /// The type of a whole number made of a numeric.
    fn whole(&self, given: &DataType) -> Option<DataType> {
        match given {
            DataType::Decimal128(..) if self.is_sign() => Some(DataType::Decimal128(1, 0)),
            DataType::Decimal128(precision, scale) => {
                let digits = i16::from(*precision) - i16::from(*scale) + 1;
                let digits = digits.clamp(1, i16::from(DECIMAL128_MAX_PRECISION));
                Some(DataType::Decimal128(digits as u8, 0))
            }
            _ => None,
        }
    }
}

impl ScalarUDFImpl for Rounding {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [given] if self.is_sign() => match given {
                DataType::Decimal128(..) | DataType::Float32 => Ok(vec![given.clone()]),
                _ => Ok(vec![DataType::Float64]),
            },
            _ => self.inner.coerce_types(types),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first().and_then(|given| self.whole(given)) {
            Some(whole) => Ok(whole),
            None => self.inner.return_type(types),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields.first().and_then(|field| self.whole(field.data_type())) {
            Some(whole) => {
                let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
                Ok(Arc::new(Field::new(self.name(), whole, is_nullable)))
            }
            None => self.inner.return_field_from_args(args),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(given) = args.args.first().map(ColumnarValue::data_type) else {
            return self.inner.invoke_with_args(args);
        };
        let Some(whole) = self.whole(&given) else { return self.inner.invoke_with_args(args) };
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        if self.is_sign() {
            return Ok(ColumnarValue::Array(Arc::new(signs(&arrays[0]).with_data_type(whole))));
        }
        // What is rounded up may have one digit more.
        let DataType::Decimal128(precision, scale) = given else {
            unreachable!("{given} is whole")
        };
        let wide = DataType::Decimal128((precision + 1).min(DECIMAL128_MAX_PRECISION), scale);
        let args = ScalarFunctionArgs {
            args: vec![ColumnarValue::Array(cast(&arrays[0], &wide)?)],
            return_field: Arc::new(Field::new(self.name(), wide, true)),
            ..args
        };
        let computed = self.inner.invoke_with_args(args)?;
        Ok(ColumnarValue::Array(cast(&computed.to_array(arrays[0].len())?, &whole)?))
    }
}

fn signs(array: &ArrayRef) -> Decimal128Array {
    array.as_primitive::<Decimal128Type>().unary(i128::signum)
}
