//! `text`, `character varying` and `character`, in UTF-8 and collation C.
//!
//! Positions and lengths count characters. A `character(n)` is held with its padding, which neither comparison nor length sees.

mod case;
mod fields;
mod format;
mod kernels;
mod letter;
mod like;
mod limit;
mod normal;
mod order;
mod pad;
mod part;
mod pattern;
mod quote;
mod trim;

pub use format::format;
pub(crate) use kernels::KERNELS;
pub use like::{is_like, like_escape};
pub(crate) use like::{is_like_bytes, like_escape_bytes};
pub use limit::{character, varying};
pub use order::{compare, unpadded};
pub(crate) use part::{Span, around, span};
pub use pattern::Pattern;

use crate::error::ValueError;

/// The most bytes that a value may have.
pub(crate) const MAX_BYTES: usize = 0x3FFF_FFFF - 4;

/// What would be longer than a value may be.
pub(crate) fn too_long() -> ValueError {
    ValueError::new("54000", "requested length too large")
}

/// Characters of a text.
pub fn length(text: &str) -> usize {
    text.chars().count()
}
