//! `regexp_replace`.

use super::find::{Match, Regexp};
use crate::error::Result;
use crate::kernel::Interrupt;

/// A text with the `nth` match replaced that begins at a place or behind it, or all of them for 0. `\1` to `\9` in the replacement are
/// groups, `\&` is the match.
///
/// # Errors
/// Of the search.
pub(super) fn replaced(
    regexp: &mut Regexp,
    text: &str,
    replacement: &str,
    from: usize,
    nth: usize,
    interrupt: Interrupt,
) -> Result<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut search = regexp.search(&letters, interrupt);
    let mut out = String::with_capacity(text.len());
    let (mut copied, mut from, mut count) = (0, from, 0);
    while from <= letters.len()
        && let Some(found) = search.find(from)?
    {
        let (begin, end) = found[0].expect("a match is somewhere");
        count += 1;
        from = if begin == end { end + 1 } else { end };
        if nth > 0 && count != nth {
            continue;
        }
        out.extend(&letters[copied..begin]);
        push(&mut out, replacement, &letters, &found);
        copied = end;
        if nth > 0 {
            break;
        }
    }
    out.extend(&letters[copied..]);
    Ok(out)
}

fn push(out: &mut String, replacement: &str, letters: &[char], found: &Match) {
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let next = rest.chars().next();
        let group = match next {
            Some('&') => 0,
            Some(digit @ '1'..='9') => digit as usize - '0' as usize,
            Some('\\') => {
                out.push('\\');
                rest = &rest[1..];
                continue;
            }
            _ => {
                out.push('\\');
                continue;
            }
        };
        rest = &rest[1..];
        if let Some((begin, end)) = found.get(group).copied().flatten() {
            out.extend(&letters[begin..end]);
        }
    }
    out.push_str(rest);
}
