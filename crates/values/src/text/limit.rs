//! Declared lengths: `character(n)` and `character varying(n)`.

use super::{MAX_BYTES, length, part, too_long};
use crate::error::{Result, ValueError};

/// What PostgreSQL adds to a type modifier.
const TYPMOD_OFFSET: i32 = 4;

/// As a `character varying(n)` holds it; `typmod` is the length plus 4, negative for none. An explicit cast cuts silently.
///
/// # Errors
/// 22001 where more than spaces would be cut.
pub fn varying(text: &str, typmod: i32, is_explicit: bool) -> Result<&str> {
    match usize::try_from(typmod.saturating_sub(TYPMOD_OFFSET)) {
        Ok(limit) => cut(text, limit, is_explicit, "character varying"),
        Err(_) => Ok(text),
    }
}

/// As a `character(n)` holds it, padded with spaces; `typmod` is the length plus 4, negative for none. An explicit cast cuts silently.
///
/// # Errors
/// 22001 where more than spaces would be cut; 54000 for what is too long.
pub fn character(text: &str, typmod: i32, is_explicit: bool) -> Result<String> {
    let Ok(limit) = usize::try_from(typmod.saturating_sub(TYPMOD_OFFSET)) else {
        return Ok(text.to_owned());
    };
    let kept = cut(text, limit, is_explicit, "character")?;
    let missing = limit - length(kept);
    if kept.len() + missing > MAX_BYTES {
        return Err(too_long());
    }
    Ok(kept.to_owned() + &" ".repeat(missing))
}

fn cut<'a>(text: &'a str, limit: usize, is_explicit: bool, name: &str) -> Result<&'a str> {
    // A character has at least one byte.
    if text.len() <= limit {
        return Ok(text);
    }
    let kept = part::of_text(text, part::Span { start: 0, end: Some(limit) });
    let rest = &text[kept.len()..];
    if !is_explicit && rest.bytes().any(|byte| byte != b' ') {
        let message = format!("value too long for type {name}({limit})");
        return Err(ValueError::new("22001", message));
    }
    Ok(kept)
}
