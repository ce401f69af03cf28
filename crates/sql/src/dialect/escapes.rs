//! LIKE with an escape character of one's own: `a LIKE p ESCAPE '!'` is `a LIKE like_escape(p, '!')`, as in PostgreSQL.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::{Expr, Value, ValueWithSpan, VisitorMut};
use engine::types::{Error, SqlState};

use super::introspection::call;

/// Puts the function in place of ESCAPE.
pub struct Escapes;

impl VisitorMut for Escapes {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } =
            expr
            && let Some(escape) = escape_char.take_if(|escape| !is_default(escape))
        {
            let inner = std::mem::replace(pattern.as_mut(), Expr::Value(Value::Null.into()));
            **pattern = call(NAME, vec![inner, Expr::Value(escape)]);
        }
        ControlFlow::Continue(())
    }
}

fn is_default(escape: &ValueWithSpan) -> bool {
    matches!(&escape.value, Value::SingleQuotedString(text) if text == "\\")
}

const NAME: &str = "like_escape";

/// `like_escape(pattern, escape)`: the pattern with the backslash as its escape character.
pub fn function() -> Arc<ScalarUDF> {
    let signature =
        Signature::exact(vec![DataType::Utf8View, DataType::Utf8View], Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(LikeEscape { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct LikeEscape {
    signature: Signature,
}

impl ScalarUDFImpl for LikeEscape {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = arguments.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let texts = |array: &ArrayRef| cast(array, &DataType::Utf8View);
        let (patterns, escapes) = (texts(&arrays[0])?, texts(&arrays[1])?);
        let pairs = patterns.as_string_view().iter().zip(escapes.as_string_view());
        let escaped = pairs.map(|pair| match pair {
            (Some(pattern), Some(escape)) => escaped(pattern, escape).map(Some),
            _ => Ok(None),
        });
        let escaped = escaped.collect::<Result<StringViewArray, Error>>();
        let escaped: ArrayRef =
            Arc::new(escaped.map_err(|error| DataFusionError::External(Box::new(error)))?);
        match constant && escaped.len() == 1 {
            true => datafusion::common::ScalarValue::try_from_array(&escaped, 0).map(Into::into),
            false => Ok(ColumnarValue::Array(escaped)),
        }
    }
}

/// A pattern with another escape character, or none where `escape` is empty.
fn escaped(pattern: &str, escape: &str) -> Result<String, Error> {
    let mut characters = escape.chars();
    let (escape, rest) = (characters.next(), characters.next());
    if rest.is_some() {
        let error = Error::new(SqlState::InvalidEscape, "invalid escape string");
        return Err(error.detail("Escape string must be empty or one character."));
    }
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut after_escape = false;
    for c in pattern.chars() {
        if Some(c) == escape && !after_escape {
            out.push('\\');
            after_escape = true;
            continue;
        }
        if c == '\\' && !after_escape {
            out.push('\\');
        }
        out.push(c);
        after_escape = false;
    }
    if after_escape {
        let message = "LIKE pattern must not end with escape character";
        return Err(Error::new(SqlState::InvalidEscape, message));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_keep_their_meaning() {
        let of = |pattern, escape| escaped(pattern, escape).expect("it is a pattern");
        assert_eq!(of("a!%b%", "!"), "a\\%b%");
        assert_eq!(of("a!!b", "!"), "a\\!b");
        assert_eq!(of("a\\%", "!"), "a\\\\%");
        assert_eq!(of("a!\\", "!"), "a\\\\");
        assert_eq!(of("a\\%", ""), "a\\\\%");
        assert_eq!(escaped("ax", "x").expect_err("it ends").state, SqlState::InvalidEscape);
        assert_eq!(escaped("a", "xy").expect_err("two").state, SqlState::InvalidEscape);
    }
}
