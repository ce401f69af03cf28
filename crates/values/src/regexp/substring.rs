//! `substring` with a pattern, `regexp_substr`, `regexp_instr` and `regexp_count`: places of matches.

use super::find::{Match, Regexp};
use super::flags::Flags;
use super::kernels::with;
use super::matches::{found, no_global, whole};
use crate::error::{Result, ValueError};
use crate::kernel::Interrupt;

/// `substring(text from pattern)`: what the first group of the first match took, or the whole of it where there is none.
///
/// # Errors
/// 2201B for what is no pattern, 54000 where the search takes too long; here and below.
pub(super) fn substring(text: &str, pattern: &str, interrupt: Interrupt) -> Result<Option<String>> {
    with(pattern, Flags::ADVANCED, |regexp| {
        let letters: Vec<char> = text.chars().collect();
        let found = regexp.search(&letters, interrupt).find(0)?;
        let place = found.and_then(|found| found.get(1).copied().unwrap_or(found[0]));
        Ok(place.map(|(begin, end)| letters[begin..end].iter().collect()))
    })
}

/// Which match of a text a function is about.
#[derive(Clone, Copy)]
pub(super) struct Which<'a> {
    pub(super) text: &'a str,
    pub(super) pattern: &'a str,
    /// The character from which on it is sought, from 1.
    pub(super) start: i32,
    /// The how manyth it is, from 1.
    pub(super) nth: i32,
    pub(super) options: &'a str,
    /// The group; 0 for the whole.
    pub(super) group: i32,
    pub(super) interrupt: Interrupt,
}

impl<'a> Which<'a> {
    /// The first match from the text's start, the whole of it.
    pub(super) fn first(text: &'a str, pattern: &'a str, interrupt: Interrupt) -> Self {
        Self { text, pattern, start: 1, nth: 1, options: "", group: 0, interrupt }
    }

    fn place<T>(
        &self,
        function: &str,
        result: impl FnOnce(&[char], usize, usize) -> T,
    ) -> Result<Option<T>> {
        let flags = plain_flags(self.options, function)?;
        with(self.pattern, flags, |regexp| {
            let letters: Vec<char> = self.text.chars().collect();
            let nth = self.nth as usize;
            let search = regexp.search(&letters, self.interrupt);
            let found = found(search, self.start as usize - 1, nth)?;
            let place = found.get(nth - 1).and_then(|found| group(found, self.group));
            Ok(place.map(|(begin, end)| result(&letters, begin, end)))
        })
    }
}

/// Where a group is; the only one of a pattern without groups is the whole.
fn group(found: &Match, group: i32) -> Option<(usize, usize)> {
    match (group, found.len()) {
        (0 | 1, 1) => found[0],
        _ => found.get(group as usize).copied().flatten(),
    }
}

/// Options without `g`.
pub(super) fn plain_flags(options: &str, function: &str) -> Result<Flags> {
    match Flags::of_options(options)? {
        (_, true) => Err(no_global(function)),
        (flags, false) => Ok(flags),
    }
}

/// # Errors
/// 22023 where it is less than it may be.
pub(super) fn at_least(least: i32, name: &str, value: i32) -> Result<()> {
    if value < least { Err(invalid(name, value)) } else { Ok(()) }
}

fn invalid(name: &str, value: i32) -> ValueError {
    ValueError::new("22023", format!("invalid value for parameter \"{name}\": {value}"))
}

/// `regexp_substr`: a match or its group.
pub(super) fn regexp_substr(which: &Which<'_>) -> Result<Option<String>> {
    at_least(1, "start", which.start)?;
    at_least(1, "n", which.nth)?;
    at_least(0, "subexpr", which.group)?;
    which.place("regexp_substr()", |letters, begin, end| letters[begin..end].iter().collect())
}

/// `regexp_instr`: where a match or its group begins, or the place behind its end; from 1, and 0 where there is none.
pub(super) fn regexp_instr(which: &Which<'_>, end_option: i32) -> Result<i32> {
    at_least(1, "start", which.start)?;
    at_least(1, "n", which.nth)?;
    if !(0..=1).contains(&end_option) {
        return Err(invalid("endoption", end_option));
    }
    at_least(0, "subexpr", which.group)?;
    let place = which.place("regexp_instr()", |_, begin, end| {
        let place = if end_option == 1 { end } else { begin };
        place as i32 + 1
    })?;
    Ok(place.unwrap_or(0))
}

/// `regexp_count`: how many matches begin at a character or behind it.
pub(super) fn regexp_count(
    text: &str,
    pattern: &str,
    start: i32,
    options: &str,
    interrupt: Interrupt,
) -> Result<i32> {
    at_least(1, "start", start)?;
    let flags = plain_flags(options, "regexp_count()")?;
    with(pattern, flags, |regexp| count(regexp, text, start as usize - 1, interrupt))
}

fn count(regexp: &mut Regexp, text: &str, from: usize, interrupt: Interrupt) -> Result<i32> {
    let letters: Vec<char> = text.chars().collect();
    let mut search = regexp.search(&letters, interrupt);
    let (mut from, mut count) = (from, 0);
    while let Some(found) = search.find(from)? {
        let (begin, end) = whole(&found);
        from = if begin == end { end + 1 } else { end };
        count += 1;
    }
    Ok(count)
}
