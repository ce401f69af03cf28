//! Keys of any number of columns to dense ids, by tables of which each has the keys of equal topmost bits of a hash: they are
//! filled on many cores, and each alone lies in a cache.

use arrow_array::{ArrayRef, UInt32Array};

use super::codes::value_hashes;
use super::{KeyTable, NO_ID, bucket_all};
use crate::types::Slot;

/// The table, of `1 << bits`, of each row's key; `bits` is not 0.
pub fn partition_numbers(columns: &[ArrayRef], rows: usize, bits: u32) -> Vec<u32> {
    value_hashes(columns, rows)
        .into_iter()
        .map(|hash| (hash >> (u64::BITS - bits)) as u32)
        .collect()
}

/// Tables whose ids go on from one to the next.
#[derive(Debug)]
pub struct PartitionedKeys {
    tables: Vec<KeyTable>,
    /// The first id of each, and behind the last the number of all.
    firsts: Vec<u32>,
}

impl PartitionedKeys {
    /// Tables of keys that [`partition_numbers`] has told apart; two to the power of something.
    pub fn new(tables: Vec<KeyTable>) -> PartitionedKeys {
        assert!(
            tables.len() > 1 && tables.len().is_power_of_two(),
            "as many as some bits tell apart"
        );
        let mut firsts = vec![0];
        for table in &tables {
            firsts.push(firsts[firsts.len() - 1] + table.len() as u32);
        }
        PartitionedKeys { tables, firsts }
    }

    /// Distinct keys.
    pub fn len(&self) -> usize {
        self.firsts[self.tables.len()] as usize
    }

    /// Ids of the rows' keys; [`NO_ID`] for keys that are not there and for keys with a NULL.
    pub fn find(&self, columns: &[ArrayRef]) -> Vec<u32> {
        let rows = columns[0].len();
        let numbers = partition_numbers(columns, rows, self.tables.len().ilog2());
        let buckets = bucket_all(&numbers, self.tables.len());
        let places = UInt32Array::from(buckets.rows.clone());
        let take = |column| arrow_select::take::take(column, &places, None);
        let columns: Vec<ArrayRef> =
            columns.iter().map(|column| take(column).expect("rows of the columns")).collect();
        let mut ids = vec![NO_ID; rows];
        for (Slot(number), rows) in buckets.iter() {
            let (number, start) = (number as usize, buckets.offsets[number as usize] as usize);
            let own: Vec<ArrayRef> =
                columns.iter().map(|column| column.slice(start, rows.len())).collect();
            for (&row, id) in rows.iter().zip(self.tables[number].find(&own)) {
                ids[row as usize] = if id == NO_ID { NO_ID } else { id + self.firsts[number] };
            }
        }
        ids
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.tables.iter().map(KeyTable::memory).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, Int64Array, StringViewArray};

    use super::*;

    #[test]
    fn keys_have_one_id_each_and_nulls_none() {
        let names = |of: &dyn Fn(i64) -> Option<String>| -> ArrayRef {
            Arc::new(StringViewArray::from_iter((0..500).map(of)))
        };
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values((0..500).map(|i| i % 7)));
        let built = [names(&|i| (i % 50 != 3).then(|| format!("name {}", i % 90))), numbers];
        let cut = partition_numbers(&built, 500, 3);
        let tables = (0..8u32).map(|own| {
            let rows = UInt32Array::from_iter_values((0..500).filter(|&i| cut[i as usize] == own));
            let take = |column| arrow_select::take::take(column, &rows, None).expect("rows");
            let mut table = KeyTable::new([0, 0]);
            table.insert(&built.iter().map(|column| take(column)).collect::<Vec<_>>());
            table
        });
        let keys = PartitionedKeys::new(tables.collect());
        // Of the other side numbers are wider, and a third of the names are unknown.
        let wide: ArrayRef = Arc::new(Int64Array::from_iter_values((0..500).map(|i| i % 7)));
        let asked = [names(&|i| Some(format!("name {}", i % 135))), wide];
        let known: std::collections::HashSet<(i64, i64)> =
            (0..500).filter(|i| i % 50 != 3).map(|i| (i % 90, i % 7)).collect();
        let mut seen = std::collections::HashMap::new();
        for (i, id) in (0i64..).zip(keys.find(&asked)) {
            let key = (i % 135, i % 7);
            assert_eq!(id != NO_ID, known.contains(&key), "{key:?}");
            assert!(id == NO_ID || *seen.entry(key).or_insert(id) == id);
            assert!(id == NO_ID || (id as usize) < keys.len());
        }
        let distinct: std::collections::HashSet<&u32> = seen.values().collect();
        assert_eq!(distinct.len(), seen.len(), "no two keys have one id");
        let own = keys.find(&built);
        assert!((0..500).all(|i| (own[i] == NO_ID) == (i % 50 == 3)));
    }
}
