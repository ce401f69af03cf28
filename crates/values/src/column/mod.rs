//! Computations over columns: in come the values of many rows and which of them are not NULL, out goes a column of results. What is computed
//! for a row is the function that computes a single value (`int::add`, `float::compare`, `text::is_like`); here is only the loop around
//! it, which the compiler joins with it. Executors call it.

mod date;
mod text;

pub use date::extract;
pub use text::{Texts, is_like};

use crate::error::Result;

/// Bits of a word.
const WORD: usize = 64;

/// A bit for each row, beginning with the least significant of the first word. Bits behind the last row are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    rows: usize,
}

impl Bits {
    /// The bits that a function says of each row.
    #[inline]
    pub fn of(rows: usize, bit: impl Fn(usize) -> bool) -> Self {
        let word = |from: usize, count: usize| {
            (0..count).fold(0, |word, i| word | u64::from(bit(from + i)) << i)
        };
        let mut words = Vec::with_capacity(rows.div_ceil(WORD));
        for from in 0..rows / WORD {
            words.push(word(from * WORD, WORD));
        }
        if !rows.is_multiple_of(WORD) {
            words.push(word(rows - rows % WORD, rows % WORD));
        }
        Self { words, rows }
    }

    /// The bit of a row.
    pub fn get(&self, row: usize) -> bool {
        assert!(row < self.rows, "a row is in the column");
        self.words[row / WORD] >> (row % WORD) & 1 == 1
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Where both have a one. What results have no NULL, where none of the operands has.
    pub fn and(&self, other: &Self) -> Self {
        assert_eq!(self.rows, other.rows, "columns have the same rows");
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect();
        Self { words, rows: self.rows }
    }
}

/// Whether a relation holds of the values of each row. NULL is the caller's to see to: the bit of such a row means nothing.
///
/// # Panics
/// When the columns are not equally long; here and below.
#[inline]
pub fn compare<A: Copy, B: Copy>(a: &[A], b: &[B], holds: impl Fn(A, B) -> bool) -> Bits {
    assert_eq!(a.len(), b.len(), "columns have the same rows");
    let b = &b[..a.len()];
    Bits::of(a.len(), |row| holds(a[row], b[row]))
}

/// What a function computes of the value of each row.
#[inline]
pub fn map<A: Copy, R>(a: &[A], compute: impl Fn(A) -> R) -> Vec<R> {
    a.iter().map(|a| compute(*a)).collect()
}

/// What a function computes of the values of each row; of those that are not NULL, where `valid` says which.
///
/// # Errors
/// Of the first row that has one.
#[inline]
pub fn combine<A: Copy, B: Copy, R: Copy + Default>(
    a: &[A],
    b: &[B],
    valid: Option<&Bits>,
    compute: impl Fn(A, B) -> Result<R>,
) -> Result<Vec<R>> {
    assert_eq!(a.len(), b.len(), "columns have the same rows");
    let mut out = vec![R::default(); a.len()];
    let rows = out.iter_mut().zip(a.iter().zip(b));
    match valid {
        None => {
            for (out, (a, b)) in rows {
                *out = compute(*a, *b)?;
            }
        }
        Some(valid) => {
            assert_eq!(a.len(), valid.rows, "columns have the same rows");
            for (row, (out, (a, b))) in rows.enumerate() {
                if valid.get(row) {
                    *out = compute(*a, *b)?;
                }
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{float, int};

    #[test]
    fn bits_of_several_words() {
        let numbers: Vec<i64> = (0..131).collect();
        let bits = compare(&numbers, &vec![70; 131], |a, b| a < b);
        assert!((0..131).all(|row| bits.get(row) == (row < 70)));
        assert_eq!(bits.words.last(), Some(&0));
    }

    #[test]
    fn not_a_number_is_above_everything() {
        let bits = compare(&[f64::NAN, 1.0], &[f64::INFINITY, f64::NAN], |a, b| {
            float::compare(a, b).is_gt()
        });
        assert_eq!((bits.get(0), bits.get(1)), (true, false));
    }

    #[test]
    fn rows_with_null_do_not_fail() {
        let (a, b) = ([i32::MAX, 1], [1, 2]);
        let valid = Bits::of(2, |row| row == 1);
        assert_eq!(combine(&a, &b, Some(&valid), int::add), Ok(vec![0, 3]));
        assert_eq!(combine(&a, &b, None, int::add).map_err(|error| error.sqlstate), Err("22003"));
    }
}
