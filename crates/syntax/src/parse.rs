//! From a text to its tree, within bounds.

use std::ffi::CStr;

use crate::grammar15::{self, Newer};
use crate::library::{self, Room};
use crate::{Limits, SyntaxError, Tree, bounds, encoding, parsers};

/// Texts up to so many bytes are parsed on the caller's thread. Whatever they nest, the library's recursion fits [`SHORT_STACK`].
const SHORT: usize = 8 << 10;

/// The stack that the library may take on a thread whose stack we do not know, in kilobytes; more is 54001.
const SHORT_STACK: i32 = 256;

/// Parses a text: all its statements, by PostgreSQL 15's grammar and within [`Limits::DEFAULT`].
///
/// # Errors
/// What PostgreSQL would send for it, and 54000 or 54001 for one that is beyond the limits.
pub fn parse(text: &str) -> Result<Tree, SyntaxError> {
    parse_within(text, &Limits::DEFAULT)
}

/// Parses what a client sent.
///
/// # Errors
/// As [`parse`]; 22021 for what is not UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> Result<Tree, SyntaxError> {
    encoding::utf8(bytes).and_then(parse)
}

/// Parses a text within other limits.
///
/// # Errors
/// As [`parse`].
pub fn parse_within(text: &str, limits: &Limits) -> Result<Tree, SyntaxError> {
    if text.len() > limits.bytes {
        let error = SyntaxError::new(b"54000", "statement is too long");
        let detail = format!("It has {} bytes, and {} are allowed.", text.len(), limits.bytes);
        return Err(SyntaxError { detail: Some(detail), ..error });
    }
    let terminated = encoding::terminated(text)?;
    if text.len() <= SHORT {
        parse_here(text, &terminated, limits, SHORT_STACK)
    } else {
        parsers::parse(terminated, *limits)
    }
}

/// Parses a text on this thread, whose stack has room for so many kilobytes of the library's recursion. `terminated` is the same text.
pub(crate) fn parse_here(
    text: &str,
    terminated: &CStr,
    limits: &Limits,
    stack_kilobytes: i32,
) -> Result<Tree, SyntaxError> {
    let room = Room { arena_bytes: limits.arena_bytes, stack_kilobytes };
    let raw = library::parse(terminated, room);
    let raw = raw.map_err(|error| grammar15::in_words_of_15(text, error))?;
    let mut tree = Tree::new(raw, text.len());
    let mut newer = Newer::new(text);
    let checked = bounds::check(&tree, limits, &mut |node| newer.see(node));
    match checked.err().or_else(|| newer.error()) {
        None => Ok(tree),
        Some(error) => Err(SyntaxError { notices: tree.take_notices(), ..error }),
    }
}
