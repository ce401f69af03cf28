//! Keys that come in ascending order, as those of a table loaded in the order of one: a key's id is the number of different
//! ones before it, and nothing need be looked up.

/// Whole numbers in ascending order, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Ascending {
    /// The last and greatest, if there is one.
    greatest: Option<i64>,
    count: u32,
}

impl Ascending {
    /// Different keys so far.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Ids of the rows' keys; `None`, and nothing changed, where one is less than the key before it.
    pub fn number(&mut self, keys: &[i64]) -> Option<Vec<u32>> {
        let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else {
            return Some(Vec::new());
        };
        if self.greatest.is_some_and(|greatest| first < greatest) || !keys.is_sorted() {
            return None;
        }
        let (mut count, mut before) = match self.greatest {
            Some(greatest) => (self.count, greatest),
            None => (1, first),
        };
        let mut ids = vec![0; keys.len()];
        for (id, &key) in ids.iter_mut().zip(keys) {
            count += u32::from(key != before);
            before = key;
            *id = count - 1;
        }
        (self.greatest, self.count) = (Some(last), count);
        Some(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_id_in_all_its_rows() {
        let mut keys = Ascending::default();
        assert_eq!(keys.number(&[-3, -3, 0, 7]), Some(vec![0, 0, 1, 2]));
        assert_eq!(keys.number(&[7, 7, 8]), Some(vec![2, 2, 3]));
        assert_eq!(keys.number(&[]), Some(vec![]));
        assert_eq!(keys.number(&[i64::MAX]), Some(vec![4]));
        assert_eq!(keys.len(), 5);
    }

    #[test]
    fn what_does_not_ascend_changes_nothing() {
        let mut keys = Ascending::default();
        assert_eq!(keys.number(&[2, 1]), None);
        assert_eq!((keys.len(), keys.number(&[1, 2])), (0, Some(vec![0, 1])));
        assert_eq!(keys.number(&[1]), None);
        assert_eq!(keys.number(&[3, 2]), None);
        assert_eq!((keys.len(), keys.number(&[2, 3])), (2, Some(vec![1, 2])));
    }
}
