//! The computations with regular expressions by their names in the catalog.

use std::cell::RefCell;

use super::find::Regexp;
use super::flags::Flags;
use super::replace::replaced;
use super::similar::similar_escape;
use super::substring::{
    Which, at_least, plain_flags, regexp_count, regexp_instr, regexp_substr, substring,
};
use crate::argument::kernels;
use crate::error::{Result, ValueError};
use crate::kernel::{Interrupt, Kernel};

/// Patterns that a thread keeps, as PostgreSQL's processes do.
const KEPT: usize = 32;

thread_local! {
    /// What was used last is last.
    static LATEST: RefCell<Vec<(Box<str>, Flags, Regexp)>> = const { RefCell::new(Vec::new()) };
}

/// Computes with a pattern, which the thread may know already.
///
/// # Errors
/// 2201B for what is no pattern.
pub(super) fn with<T>(
    pattern: &str,
    flags: Flags,
    compute: impl FnOnce(&mut Regexp) -> Result<T>,
) -> Result<T> {
    LATEST.with_borrow_mut(|latest| {
        let is_known =
            |(text, other, _): &(Box<str>, Flags, Regexp)| **text == *pattern && *other == flags;
        let entry = match latest.iter().rposition(is_known) {
            Some(at) => latest.remove(at),
            None => (pattern.into(), flags, Regexp::new(pattern, flags)?),
        };
        if latest.len() >= KEPT {
            latest.remove(0);
        }
        latest.push(entry);
        let (_, _, regexp) = latest.last_mut().expect("one was just put there");
        compute(regexp)
    })
}

fn is_match(text: &str, pattern: &str, flags: Flags, interrupt: Interrupt) -> Result<bool> {
    with(pattern, flags, |regexp| regexp.is_match(&text.chars().collect::<Vec<char>>(), interrupt))
}

pub(crate) const KERNELS: &[&[Kernel]] = &[MATCHES, SIMILAR, REPLACED, PLACES];

const MATCHES: &[Kernel] = kernels! { context;
    "textregexeq" => |a: &str, pattern: &str| is_match(a, pattern, Flags::ADVANCED, context.interrupt);
    "textregexne" => |a: &str, pattern: &str| is_match(a, pattern, Flags::ADVANCED, context.interrupt).map(|is| !is);
    "texticregexeq" => |a: &str, pattern: &str| is_match(a, pattern, Flags::ANY_CASE, context.interrupt);
    "texticregexne" => |a: &str, pattern: &str| is_match(a, pattern, Flags::ANY_CASE, context.interrupt).map(|is| !is);
    "regexp_like_no_flags" => |a: &str, pattern: &str| is_match(a, pattern, Flags::ADVANCED, context.interrupt);
    "regexp_like" => |a: &str, pattern: &str, options: &str|
        is_match(a, pattern, plain_flags(options, "regexp_like()")?, context.interrupt);
    "textregexsubstr" => |a: &str, pattern: &str| substring(a, pattern, context.interrupt);
    "\"substring\"(text,text,text)" => |a: &str, pattern: &str, escape: &str|
        substring(a, &similar_escape(pattern, escape)?, context.interrupt);
};

const SIMILAR: &[Kernel] = kernels! {
    "similar_escape" => |pattern: Option<&str>, escape: Option<&str>| match pattern {
        None => Ok(None),
        Some(pattern) => similar_escape(pattern, escape.unwrap_or("\\")).map(Some),
    };
    "similar_to_escape_1" => |pattern: &str| similar_escape(pattern, "\\");
    "similar_to_escape_2" => |pattern: &str, escape: &str| similar_escape(pattern, escape);
};

const REPLACED: &[Kernel] = kernels! { context;
    "textregexreplace_noopt" => |a: &str, pattern: &str, by: &str|
        with(pattern, Flags::ADVANCED, |regexp| replaced(regexp, a, by, 0, 1, context.interrupt));
    "textregexreplace" => |a: &str, pattern: &str, by: &str, options: &str| {
        let (flags, is_global) = flags_of_replace(options)?;
        with(pattern, flags, |regexp| replaced(regexp, a, by, 0, usize::from(!is_global), context.interrupt))
    };
    "textregexreplace_extended" =>
        |a: &str, pattern: &str, by: &str, start: i32, nth: i32, options: &str|
        replaced_from(a, pattern, by, start, Some(nth), options, context.interrupt);
    "textregexreplace_extended_no_flags" => |a: &str, pattern: &str, by: &str, start: i32, nth: i32|
        replaced_from(a, pattern, by, start, Some(nth), "", context.interrupt);
    "textregexreplace_extended_no_n" => |a: &str, pattern: &str, by: &str, start: i32|
        replaced_from(a, pattern, by, start, None, "", context.interrupt);
};

fn flags_of_replace(options: &str) -> Result<(Flags, bool)> {
    Flags::of_options(options).map_err(|error| {
        if !options.starts_with(|first: char| first.is_ascii_digit()) {
            return error;
        }
        let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.";
        ValueError { hint: Some(hint.into()), ..error }
    })
}

fn replaced_from(
    text: &str,
    pattern: &str,
    by: &str,
    start: i32,
    nth: Option<i32>,
    options: &str,
    interrupt: Interrupt,
) -> Result<String> {
    at_least(1, "start", start)?;
    at_least(0, "n", nth.unwrap_or(0))?;
    let (flags, is_global) = Flags::of_options(options)?;
    let nth = nth.map_or(usize::from(!is_global), |nth| nth as usize);
    with(pattern, flags, |regexp| replaced(regexp, text, by, start as usize - 1, nth, interrupt))
}

const PLACES: &[Kernel] = kernels! { context;
    "regexp_count_no_start" => |a: &str, pattern: &str| regexp_count(a, pattern, 1, "", context.interrupt);
    "regexp_count_no_flags" => |a: &str, pattern: &str, start: i32|
        regexp_count(a, pattern, start, "", context.interrupt);
    "regexp_count" => |a: &str, pattern: &str, start: i32, options: &str|
        regexp_count(a, pattern, start, options, context.interrupt);
    "regexp_instr_no_start" => |a: &str, pattern: &str| regexp_instr(&Which::first(a, pattern, context.interrupt), 0);
    "regexp_instr_no_n" => |a: &str, pattern: &str, start: i32|
        regexp_instr(&Which { start, ..Which::first(a, pattern, context.interrupt) }, 0);
    "regexp_instr_no_endoption" => |a: &str, pattern: &str, start: i32, nth: i32|
        regexp_instr(&Which { start, nth, ..Which::first(a, pattern, context.interrupt) }, 0);
    "regexp_instr_no_flags" => |a: &str, pattern: &str, start: i32, nth: i32, end: i32|
        regexp_instr(&Which { start, nth, ..Which::first(a, pattern, context.interrupt) }, end);
    "regexp_instr_no_subexpr" =>
        |a: &str, pattern: &str, start: i32, nth: i32, end: i32, options: &str|
        regexp_instr(&Which { start, nth, options, ..Which::first(a, pattern, context.interrupt) }, end);
    "regexp_instr" =>
        |a: &str, pattern: &str, start: i32, nth: i32, end: i32, options: &str, group: i32|
        regexp_instr(&Which { text: a, pattern, start, nth, options, group, interrupt: context.interrupt }, end);
    "regexp_substr_no_start" => |a: &str, pattern: &str| regexp_substr(&Which::first(a, pattern, context.interrupt));
    "regexp_substr_no_n" => |a: &str, pattern: &str, start: i32|
        regexp_substr(&Which { start, ..Which::first(a, pattern, context.interrupt) });
    "regexp_substr_no_flags" => |a: &str, pattern: &str, start: i32, nth: i32|
        regexp_substr(&Which { start, nth, ..Which::first(a, pattern, context.interrupt) });
    "regexp_substr_no_subexpr" => |a: &str, pattern: &str, start: i32, nth: i32, options: &str|
        regexp_substr(&Which { start, nth, options, ..Which::first(a, pattern, context.interrupt) });
    "regexp_substr" =>
        |a: &str, pattern: &str, start: i32, nth: i32, options: &str, group: i32|
        regexp_substr(&Which { text: a, pattern, start, nth, options, group, interrupt: context.interrupt });
};
