//! Keys that are strings of small dictionaries: a row's codes make one small number, and of the rows that have the same only
//! the first is looked up.

use crate::operators::kernel::NO_ROW;
use crate::query_set::{ColumnOrigin, Tuples};

/// Most combinations of codes: their numbers stay in the core's first cache.
const MOST: usize = 4096;
/// Rows per combination from which on that pays.
const ROWS: usize = 4;

/// Rows by their keys' codes.
pub struct Combinations {
    /// Of each row, the position in `firsts`.
    numbers: Vec<u32>,
    /// The first row of each combination, ascending.
    pub firsts: Vec<u32>,
}

impl Combinations {
    /// `None` where a key has no codes, or rows are few.
    pub fn of(keys: &[usize], tuples: &Tuples) -> Option<Combinations> {
        let (mut codes, mut count) = (vec![0; tuples.rows], 1);
        for &key in keys {
            let ColumnOrigin::Source { source, column } = tuples.columns[key] else { return None };
            let source = &tuples.sources[source];
            let most = MOST.min(tuples.rows / ROWS) / count;
            let (own, length) = source.view.dictionary_codes(column, &source.locations, most)?;
            let all = codes.iter_mut().zip(own);
            all.for_each(|(code, own)| *code = *code * length as u32 + own);
            count *= length;
        }
        Some(Combinations::number(codes, count))
    }

    fn number(mut codes: Vec<u32>, count: usize) -> Combinations {
        let (mut known, mut firsts) = (vec![NO_ROW; count], Vec::new());
        for (row, code) in codes.iter_mut().enumerate() {
            let number = &mut known[*code as usize];
            if *number == NO_ROW {
                *number = firsts.len() as u32;
                firsts.push(row as u32);
            }
            *code = *number;
        }
        Combinations { numbers: codes, firsts }
    }

    /// The id of each row, from those of the first rows.
    pub fn spread(self, ids: &[u32]) -> Vec<u32> {
        let mut numbers = self.numbers;
        numbers.iter_mut().for_each(|number| *number = ids[*number as usize]);
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_combination_get_the_id_of_its_first() {
        let codes = vec![5, 2, 5, 0, 2, 5];
        let combinations = Combinations::number(codes, 6);
        assert_eq!(combinations.firsts, [0, 1, 3]);
        assert_eq!(combinations.spread(&[7, 8, 3]), [7, 8, 7, 3, 8, 7]);
    }
}
