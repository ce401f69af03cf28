//! `regexp_split_to_array` and `pg_typeof`: functions whose result or argument is of no type that columns have.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, ListBuilder, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use regex::{Regex, RegexBuilder};

/// The functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let texts = |count| TypeSignature::Exact(vec![DataType::Utf8View; count]);
    let split = Signature::one_of(vec![texts(2), texts(3)], Volatility::Immutable);
    let any = Signature::any(1, Volatility::Stable);
    vec![
        Arc::new(ScalarUDF::new_from_impl(Split { signature: split })),
        Arc::new(ScalarUDF::new_from_impl(TypeOf { signature: any })),
    ]
}

/// `regexp_split_to_array(text, pattern [, flags])`
#[derive(Debug, PartialEq, Eq, Hash)]
struct Split {
    signature: Signature,
}

impl ScalarUDFImpl for Split {
    fn name(&self) -> &str {
        "regexp_split_to_array"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true))))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = call.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { call.number_rows };
        let texts =
            call.args.iter().map(|value| Ok(cast(&value.to_array(rows)?, &DataType::Utf8View)?));
        let texts = texts.collect::<Result<Vec<_>>>()?;
        let mut pieces = ListBuilder::new(StringViewBuilder::new());
        // A pattern is mostly the same in all rows.
        let mut known: Option<(String, Regex)> = None;
        for row in 0..rows {
            if texts.iter().any(|array| array.is_null(row)) {
                pieces.append(false);
                continue;
            }
            let of =
                |at: usize| texts.get(at).map_or("", |array| array.as_string_view().value(row));
            let key = format!("{} {}", of(2), of(1));
            if known.as_ref().is_none_or(|(before, _)| *before != key) {
                known = Some((key, compiled(of(1), of(2))?));
            }
            let (_, pattern) = known.as_ref().expect("compiled just before");
            split(of(0), pattern).into_iter().for_each(|piece| pieces.values().append_value(piece));
            pieces.append(true);
        }
        let array = pieces.finish();
        match constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
            false => Ok(ColumnarValue::Array(Arc::new(array))),
        }
    }
}

fn compiled(pattern: &str, flags: &str) -> Result<Regex> {
    RegexBuilder::new(pattern)
        .case_insensitive(flags.contains('i'))
        .multi_line(flags.contains('n') || flags.contains('m'))
        .ignore_whitespace(flags.contains('x'))
        .build()
        .map_err(|error| DataFusionError::Execution(error.to_string()))
}

/// The pieces between matches; PostgreSQL takes no empty match at an end, nor behind another match.
fn split<'t>(text: &'t str, pattern: &Regex) -> Vec<&'t str> {
    let (mut pieces, mut last) = (Vec::new(), 0);
    for found in pattern.find_iter(text) {
        let nothing = found.is_empty() && (found.start() == last || found.start() == text.len());
        if nothing {
            continue;
        }
        pieces.push(&text[last..found.start()]);
        last = found.end();
    }
    pieces.push(&text[last..]);
    pieces
}

/// `pg_typeof(anything)`
#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeOf {
    signature: Signature,
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let found = call.arg_fields[0].data_type();
        let name = crate::template::type_name(&found.to_string()).to_owned();
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(Some(name))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_matches_split_between_letters() {
        let pieces = |text, pattern| split(text, &Regex::new(pattern).expect("valid")).join("|");
        assert_eq!(pieces("abc", ""), "a|b|c");
        assert_eq!(pieces("the quick fox", r"\s+"), "the|quick|fox");
        assert_eq!(pieces("a1b22c", "[0-9]*"), "a|b|c");
        assert_eq!(pieces(",a,,b,", ","), "|a||b|");
    }
}
