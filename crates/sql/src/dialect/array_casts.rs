//! Casts from and to arrays: array literals, whose elements their type's input function reads, texts of arrays, and arrays whose
//! elements are cast.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::kernels::cast::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result};
use engine::types::{Error, SqlState, Value, array_from_values};

use super::casts::cast_array;
use crate::catalog::types::{from_arrow, is_exact, is_string};
use crate::text::{ArrayText, parse_array, parse_value};

/// Whether a cast is one of these.
pub fn differs(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::List(own), DataType::List(wanted)) => own.data_type() != wanted.data_type(),
        (from, DataType::List(_)) => is_string(from),
        (DataType::List(_), to) => is_string(to),
        _ => false,
    }
}

/// The values as `target`.
pub fn cast(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    match (array.data_type(), target) {
        (DataType::List(_), DataType::List(item)) => Ok(Arc::new(elementwise(array, item)?)),
        (_, DataType::List(item)) => Ok(Arc::new(from_texts(array, item)?)),
        _ => crate::alone::to_exact(array, target),
    }
}

/// Arrays with their elements cast.
fn elementwise(array: &ArrayRef, item: &FieldRef) -> Result<ListArray> {
    let list = array.as_list::<i32>();
    let elements = cast_array(list.values(), item.data_type())?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Ok(ListArray::try_new(item.clone(), offsets, elements, nulls)?)
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Array literals as arrays.
fn from_texts(array: &ArrayRef, item: &FieldRef) -> Result<ListArray> {
    let texts = cast_with_options(array, &DataType::Utf8View, &options())?;
    let (mut elements, mut lengths) = (Vec::new(), Vec::with_capacity(texts.len()));
    for text in texts.as_string_view() {
        let before = elements.len();
        if let Some(text) = text {
            elements.extend(plain(parse_array(text).map_err(external)?).map_err(external)?);
        }
        lengths.push(elements.len() - before);
    }
    let nulls: Option<NullBuffer> = texts.nulls().cloned();
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(ListArray::try_new(item.clone(), offsets, read(&elements, item.data_type())?, nulls)?)
}

/// The elements of an array that counts from 1 in one dimension.
fn plain(array: ArrayText) -> Result<Vec<Option<String>>, Error> {
    let what = match array.dimensions.as_slice() {
        [] | [(1, _)] => return Ok(array.elements),
        [_] => "an array that does not count from 1",
        _ => "an array of several dimensions",
    };
    let error = Error::new(SqlState::FeatureNotSupported, format!("{what} is not supported"));
    Err(error.hint("Use an array of one dimension that counts from 1."))
}

/// Elements from their texts, by their type's input function.
fn read(texts: &[Option<String>], item: &DataType) -> Result<ArrayRef> {
    if item.is_nested() {
        let message = "a cast of text to an array of arrays is not supported";
        let error = Error::new(SqlState::FeatureNotSupported, message);
        return Err(external(error.hint("Write ARRAY[ARRAY[..], ..].")));
    }
    if !is_exact(item) || is_string(item) {
        let texts: StringViewArray = texts.iter().map(|text| text.as_deref()).collect();
        let texts: ArrayRef = Arc::new(texts);
        return Ok(cast_with_options(&texts, item, &options())?);
    }
    let data_type = from_arrow(item);
    let value = |text: &Option<String>| match text {
        None => Ok(Value::Null),
        Some(text) => parse_value(text, data_type),
    };
    let values = texts.iter().map(value).collect::<Result<Vec<Value>, Error>>();
    let values = values.map_err(external)?;
    let read = array_from_values(data_type, values.iter().map(Value::borrow));
    Ok(cast_with_options(&read, item, &options())?)
}

fn options() -> CastOptions<'static> {
    CastOptions { safe: false, ..CastOptions::default() }
}
