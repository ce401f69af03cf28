//! `OVERLAPS` of two periods, each from one end to another in any order; ends may be NULL.

use crate::datum::Datum;

/// Whether the period of the first two arguments overlaps that of the last two; `None` where NULL leaves it open.
pub(crate) fn overlaps<T: PartialOrd + Copy>(
    arguments: &[Datum],
    take: impl Fn(&[Datum], usize) -> T,
) -> Option<bool> {
    let end = |at: usize| match arguments[at] {
        Datum::Null => None,
        _ => Some(take(arguments, at)),
    };
    let (first_start, first_end) = ordered(end(0), end(1))?;
    let (second_start, second_end) = ordered(end(2), end(3))?;
    if first_start > second_start {
        reaches(first_start, first_end, second_end)
    } else if first_start < second_start {
        reaches(second_start, second_end, first_end)
    } else {
        (first_end.is_some() && second_end.is_some()).then_some(true)
    }
}

/// The lesser end first; the one that is known, where only one is.
fn ordered<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<(T, Option<T>)> {
    match (one, other) {
        (Some(one), Some(other)) if one > other => Some((other, Some(one))),
        (Some(one), other) => Some((one, other)),
        (None, other) => Some((other?, None)),
    }
}

/// Whether the earlier period reaches the start of the later one.
fn reaches<T: PartialOrd>(start: T, end: Option<T>, earlier_end: Option<T>) -> Option<bool> {
    if start < earlier_end? {
        return Some(true);
    }
    end.map(|_| false)
}
