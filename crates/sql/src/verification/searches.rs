//! The queries that find the rows of writes again, each planned once.

use std::collections::HashMap;
use std::sync::Arc;

use engine::types::DataType;
use parking_lot::Mutex;

use crate::catalog::Catalog;
use crate::session::Database;
use crate::statement::search::{self, Search};

/// Searches kept; with one more all are planned anew.
const KEPT: usize = 256;

/// Text with its literals lifted, types of its parameters, and the catalog that it was planned over.
type Shape = (Arc<str>, Vec<DataType>, u64);

/// Searches by statement; `None` for a statement that looks for no rows.
#[derive(Debug, Default)]
pub struct Searches(Mutex<HashMap<Shape, Option<Search>>>);

impl Searches {
    /// The search of a write, planned if it is new.
    pub fn find(
        &self,
        database: &Database,
        catalog: &Arc<Catalog>,
        text: &Arc<str>,
        types: &[DataType],
    ) -> Option<Search> {
        let shape = (text.clone(), types.to_vec(), catalog.version);
        if let Some(known) = self.0.lock().get(&shape) {
            return known.clone();
        }
        let planned = search::plan(database, catalog, text, types).ok();
        let mut known = self.0.lock();
        if known.len() == KEPT {
            known.clear();
        }
        known.insert(shape, planned.clone());
        planned
    }
}
