//! Rows by OID and by name.

use std::collections::HashMap;

use super::Oid;

/// OIDs of what PostgreSQL has by birth are below.
const FIRST_NORMAL: usize = 16_384;

/// A table with its indexes.
pub(super) struct Index<R: 'static> {
    rows: &'static [R],
    /// By OID, the row's place from 1.
    places: Vec<u16>,
    by_name: HashMap<&'static str, Vec<&'static R>>,
}

impl<R> Index<R> {
    pub fn new(rows: Vec<R>, oid: fn(&R) -> Oid, name: fn(&R) -> &'static str) -> Self {
        let rows: &'static [R] = rows.leak();
        let mut places = vec![0; FIRST_NORMAL];
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        for (place, row) in rows.iter().enumerate() {
            places[oid(row) as usize] = u16::try_from(place + 1).expect("tables are small");
            by_name.entry(name(row)).or_default().push(row);
        }
        Self { rows, places, by_name }
    }

    pub fn by_oid(&self, oid: Oid) -> Option<&'static R> {
        let place = *self.places.get(oid as usize)?;
        (place > 0).then(|| &self.rows[usize::from(place) - 1])
    }

    pub fn by_name(&self, name: &str) -> &[&'static R] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }
}
