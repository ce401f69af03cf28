//! `string_agg`: texts, or strings of bytes, one after another with a separator.

use super::Accumulator;
use crate::datum::Datum;
use crate::error::Result;

struct Joined {
    is_text: bool,
    /// `None` before the first value.
    bytes: Option<Vec<u8>>,
}

pub(super) fn new(transition: &str) -> Option<Box<dyn Accumulator>> {
    let is_text = match transition {
        "string_agg_transfn" => true,
        "bytea_string_agg_transfn" => false,
        _ => return None,
    };
    Some(Box::new(Joined { is_text, bytes: None }))
}

fn bytes(datum: &Datum) -> Option<&[u8]> {
    match datum {
        Datum::Null => None,
        Datum::Text(text) => Some(text.as_bytes()),
        Datum::Bytea(bytes) => Some(bytes),
        other => panic!("string_agg was given {other:?}"),
    }
}

impl Accumulator for Joined {
    /// The separator of the first value is not used.
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let [value, separator] = arguments else {
            panic!("string_agg takes a value and a separator")
        };
        let Some(value) = bytes(value) else {
            return Ok(());
        };
        match &mut self.bytes {
            Some(joined) => {
                joined.extend_from_slice(bytes(separator).unwrap_or_default());
                joined.extend_from_slice(value);
            }
            None => self.bytes = Some(value.to_vec()),
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok(match &self.bytes {
            None => Datum::Null,
            Some(joined) if self.is_text => Datum::text(String::from_utf8_lossy(joined)),
            Some(joined) => Datum::Bytea(joined.clone().into()),
        })
    }
}
