//! `regexp_match`, `regexp_matches`, `regexp_split_to_array` and `regexp_split_to_table`: what gives several texts.

use super::find::{Match, Search};
use super::flags::Flags;
use super::kernels::with;
use crate::error::{Result, ValueError};
use crate::kernel::Interrupt;

/// What the groups of a match took, or the whole of it where there are none.
pub type Taken = Vec<Option<String>>;

/// `regexp_match`: the first match.
///
/// # Errors
/// 2201B for what is no pattern, 22023 for options that it does not take, 54000 where the search takes too long, and why the statement is
/// to end, if it is; here and below.
pub fn first(
    text: &str,
    pattern: &str,
    options: &str,
    interrupt: Interrupt,
) -> Result<Option<Taken>> {
    let (flags, is_global) = Flags::of_options(options)?;
    if is_global {
        let hint = "Use the regexp_matches function instead.";
        return Err(ValueError { hint: Some(hint.into()), ..no_global("regexp_match()") });
    }
    with(pattern, flags, |regexp| {
        let letters: Vec<char> = text.chars().collect();
        let found = regexp.search(&letters, interrupt).find(0)?;
        Ok(found.map(|found| taken(&letters, &found)))
    })
}

/// `regexp_matches`: the first match, or all with the option `g`.
///
/// # Errors
/// As [`first`], but for `g`.
pub fn all(text: &str, pattern: &str, options: &str, interrupt: Interrupt) -> Result<Vec<Taken>> {
    let (flags, is_global) = Flags::of_options(options)?;
    with(pattern, flags, |regexp| {
        let letters: Vec<char> = text.chars().collect();
        let most = if is_global { usize::MAX } else { 1 };
        let found = found(regexp.search(&letters, interrupt), 0, most)?;
        Ok(found.iter().map(|found| taken(&letters, found)).collect())
    })
}

/// `regexp_split_to_array` and `regexp_split_to_table`: what is between the matches. An empty match at either end of the text, or just
/// behind another match, splits nothing.
///
/// # Errors
/// As [`first`]; `function` is what its message calls.
pub fn split(
    text: &str,
    pattern: &str,
    options: &str,
    function: &str,
    interrupt: Interrupt,
) -> Result<Vec<String>> {
    let (flags, is_global) = Flags::of_options(options)?;
    if is_global {
        return Err(no_global(function));
    }
    with(pattern, flags, |regexp| {
        let letters: Vec<char> = text.chars().collect();
        let (mut pieces, mut from, mut before) = (Vec::new(), 0, 0);
        for found in found(regexp.search(&letters, interrupt), 0, usize::MAX)? {
            let (begin, end) = whole(&found);
            if begin < letters.len() && end > before {
                pieces.push(letters[from..begin].iter().collect());
                from = end;
            }
            before = end;
        }
        pieces.push(letters[from..].iter().collect());
        Ok(pieces)
    })
}

/// The failure of functions that do not take the option `g`.
pub(super) fn no_global(function: &str) -> ValueError {
    ValueError::new("22023", format!("{function} does not support the \"global\" option"))
}

/// Where a match is.
pub(super) fn whole(found: &Match) -> (usize, usize) {
    found[0].expect("a match is somewhere")
}

/// Up to so many matches from a place on, one behind the other.
pub(super) fn found(mut search: Search<'_>, from: usize, most: usize) -> Result<Vec<Match>> {
    let mut all = Vec::new();
    let mut from = from;
    while all.len() < most
        && let Some(found) = search.find(from)?
    {
        let (begin, end) = whole(&found);
        from = if begin == end { end + 1 } else { end };
        all.push(found);
    }
    Ok(all)
}

fn taken(letters: &[char], found: &Match) -> Taken {
    let of = |place: &Option<(usize, usize)>| {
        place.map(|(begin, end)| letters[begin..end].iter().collect())
    };
    if found.len() == 1 { vec![of(&found[0])] } else { found[1..].iter().map(of).collect() }
}
