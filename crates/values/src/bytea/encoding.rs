//! `encode` and `decode`: bytes as text in an encoding that is named.

use super::{base64, escape, hex};
use crate::error::{Result, ValueError};

/// The encodings by name, in any case.
enum Encoding {
    Hex,
    Base64,
    Escape,
}

impl Encoding {
    fn named(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            "hex" => Ok(Self::Hex),
            "base64" => Ok(Self::Base64),
            "escape" => Ok(Self::Escape),
            _ => Err(ValueError::new("22023", format!("unrecognized encoding: \"{name}\""))),
        }
    }
}

/// Bytes as text.
///
/// # Errors
/// 22023 for an unknown encoding.
pub(super) fn encode(bytes: &[u8], encoding: &str) -> Result<String> {
    Ok(match Encoding::named(encoding)? {
        Encoding::Hex => hex::encode(bytes),
        Encoding::Base64 => base64::encode(bytes),
        Encoding::Escape => escape::encode(bytes),
    })
}

/// Text as bytes.
///
/// # Errors
/// 22023 for an unknown encoding; 22023 or 22P02 for text that is not in it.
pub(super) fn decode(text: &str, encoding: &str) -> Result<Vec<u8>> {
    match Encoding::named(encoding)? {
        Encoding::Hex => hex::decode(text),
        Encoding::Base64 => base64::decode(text),
        Encoding::Escape => escape::parse(text),
    }
}
