//! `json_build_object`, `json_build_array` and `to_json`: JSON as text, as PostgreSQL writes it.
//!
//! There is no type of JSON here: what these give is marked, so that one inside another is not taken for a string.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use engine::types::{Error, SqlState};

use crate::alone::to_exact;

/// What the fields of JSON values say of themselves.
pub const MARK: &str = "shareddb.json";

/// The functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let any = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
    let function = |name, form| {
        let signature = Signature::new(any.clone(), Volatility::Stable);
        Arc::new(ScalarUDF::new_from_impl(Build { name, form, signature }))
    };
    BUILDERS.into_iter().map(|(name, form)| function(name, form)).collect()
}

/// Whether this is one of the functions that write values as JSON.
pub fn is_builder(name: &str) -> bool {
    BUILDERS.iter().any(|(own, _)| *own == name)
}

const BUILDERS: [(&str, Form); 5] = [
    ("json_build_object", Form::Object),
    ("json_build_array", Form::Array),
    (ROW, Form::Row),
    ("to_json", Form::Value),
    (MARKED, Form::Marked),
];

/// `row_to_json` over the columns of a row, each behind its name.
pub const ROW: &str = "__row_to_json";

/// Marks a text that is JSON by how it is written and does not say so itself: of a `coalesce`.
pub const MARKED: &str = "__json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    /// Keys and values in turn.
    Object,
    /// The same of a row: without blanks.
    Row,
    Array,
    /// One value; of NULL there is none.
    Value,
    /// One text that is JSON.
    Marked,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Build {
    name: &'static str,
    form: Form,
    signature: Signature,
}

/// An argument's values.
pub struct Argument {
    /// One of each row.
    pub values: ArrayRef,
    /// Whether they are JSON.
    pub is_json: bool,
}

impl ScalarUDFImpl for Build {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let mark = HashMap::from([(MARK.to_owned(), String::new())]);
        Ok(Arc::new(
            Field::new(
                self.name,
                DataType::Utf8View,
                matches!(self.form, Form::Value | Form::Marked),
            )
            .with_metadata(mark),
        ))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if matches!(self.form, Form::Object | Form::Row) && args.args.len() % 2 == 1 {
            return Err(odd());
        }
        let arguments = args.args.iter().zip(&args.arg_fields).map(|(value, field)| {
            let values = value.to_array(args.number_rows)?;
            Ok(Argument { values, is_json: field.metadata().contains_key(MARK) })
        });
        let arguments = arguments.collect::<Result<Vec<Argument>>>()?;
        let mut built = StringViewBuilder::with_capacity(args.number_rows);
        let mut text = String::new();
        for row in 0..args.number_rows {
            text.clear();
            match self.form {
                Form::Object => write_object(&arguments, row, (", ", " : "), &mut text)?,
                Form::Row => write_object(&arguments, row, (",", ":"), &mut text)?,
                Form::Array => write_elements(&arguments, row, &mut text)?,
                Form::Value => match arguments.as_slice() {
                    [one] if one.values.is_valid(row) => write_argument(one, row, &mut text)?,
                    _ => {
                        built.append_null();
                        continue;
                    }
                },
                Form::Marked => match arguments.as_slice() {
                    [one] if one.values.is_valid(row) => text = text_of(&one.values, row)?,
                    _ => {
                        built.append_null();
                        continue;
                    }
                },
            }
            built.append_value(&text);
        }
        Ok(ColumnarValue::Array(Arc::new(built.finish())))
    }
}

/// A fault in DataFusion's clothes.
pub fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn invalid(message: impl Into<String>, hint: &str) -> DataFusionError {
    external(Error::new(SqlState::InvalidParameterValue, message).hint(hint))
}

fn odd() -> DataFusionError {
    let hint = "The arguments of json_build_object() must consist of alternating keys and values.";
    invalid("argument list must have even number of elements", hint)
}

/// `{"key" : value, "key" : value}`, with what stands between pairs and within them.
fn write_object(
    arguments: &[Argument],
    row: usize,
    (between, within): (&str, &str),
    out: &mut String,
) -> Result<()> {
    out.push('{');
    for (i, pair) in arguments.chunks_exact(2).enumerate() {
        let [key, value] = pair else { continue };
        if i > 0 {
            out.push_str(between);
        }
        if key.values.is_null(row) || key.values.data_type().is_null() {
            let message = format!("argument {} cannot be null", 2 * i + 1);
            return Err(invalid(message, "Object keys should be text."));
        }
        write_string(&text_of(&key.values, row)?, out);
        out.push_str(within);
        write_argument(value, row, out)?;
    }
    out.push('}');
    Ok(())
}

/// `[value, value]`
fn write_elements(arguments: &[Argument], row: usize, out: &mut String) -> Result<()> {
    out.push('[');
    for (i, argument) in arguments.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_argument(argument, row, out)?;
    }
    out.push(']');
    Ok(())
}

/// A value as JSON.
pub fn write_argument(argument: &Argument, row: usize, out: &mut String) -> Result<()> {
    let is_null = argument.values.is_null(row) || argument.values.data_type().is_null();
    match argument.is_json && !is_null {
        true => {
            out.push_str(&text_of(&argument.values, row)?);
            Ok(())
        }
        false => write_value(&argument.values, row, out),
    }
}

fn write_value(values: &ArrayRef, row: usize, out: &mut String) -> Result<()> {
    let data_type = values.data_type();
    if data_type.is_null() || values.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    match data_type {
        DataType::Boolean => {
            out.push_str(if values.as_boolean().value(row) { "true" } else { "false" })
        }
        DataType::List(_) => return write_list(&values.as_list::<i32>().value(row), out),
        DataType::Struct(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            let message = format!("JSON of a value of type {data_type} is not supported");
            let error = Error::new(SqlState::FeatureNotSupported, message);
            return Err(external(error.hint("Build it of its parts.")));
        }
        DataType::Timestamp(_, zone) => {
            let text = text_of(values, row)?.replacen(' ', "T", 1);
            // An offset has minutes here even where it is of whole hours.
            let hours = text.len().checked_sub(3).and_then(|at| text.get(at..));
            let is_short = hours.is_some_and(|hours| hours.starts_with(['+', '-']));
            let minutes = if zone.is_some() && is_short { ":00" } else { "" };
            write_string(&format!("{text}{minutes}"), out);
        }
        data_type => {
            let text = text_of(values, row)?;
            match data_type.is_numeric() && text.ends_with(|end: char| end.is_ascii_digit()) {
                true => out.push_str(&text),
                // Strings, dates, numbers that are none.
                false => write_string(&text, out),
            }
        }
    }
    Ok(())
}

/// An array's elements: without blanks between them.
fn write_list(items: &ArrayRef, out: &mut String) -> Result<()> {
    out.push('[');
    for item in 0..items.len() {
        if item > 0 {
            out.push(',');
        }
        write_value(items, item, out)?;
    }
    out.push(']');
    Ok(())
}

/// A value as a text.
pub fn text_of(values: &ArrayRef, row: usize) -> Result<String> {
    let text = to_exact(&values.slice(row, 1), &DataType::Utf8View)?;
    Ok(text.as_string_view().value(0).to_owned())
}

/// A string of JSON.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        let mut out = String::new();
        write_string("a\"b\\c\n\u{1}ä/", &mut out);
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\u0001ä/\"");
    }
}
