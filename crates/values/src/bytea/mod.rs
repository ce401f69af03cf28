//! `bytea`: strings of bytes.

mod base64;
mod bits;
mod digest;
mod encoding;
mod escape;
mod hex;
mod kernels;
mod part;

pub(crate) use digest::hex_digest;
pub use hex::write;
pub(crate) use kernels::KERNELS;

use crate::error::Result;

/// Reads hexadecimal digits behind `\x`, or bytes with `\\` and `\ooo` among them.
///
/// # Errors
/// 22P02 or 22023 for neither.
pub fn parse(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => hex::decode(digits),
        None => escape::parse(text),
    }
}
