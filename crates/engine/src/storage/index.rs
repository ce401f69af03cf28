//! Keys to rows.
//!
//! Entries name logical rows and may be stale (an old version's key): [`super::TableView::probe`] and
//! [`super::TableView::range`] check visibility and key, which is what readers should call.

use crate::types::IndexSchema;

/// A hash or ordered index.
#[derive(Debug)]
pub struct Index {}

/// One end of a range over the first key columns.
#[derive(Clone, Copy, Debug)]
pub enum Bound<'a> {
    /// No limit.
    Unbounded,
    /// The limit itself is in.
    Included(&'a [crate::types::Value]),
    /// The limit itself is out.
    Excluded(&'a [crate::types::Value]),
}

impl Index {
    /// Its definition.
    pub fn schema(&self) -> &IndexSchema {
        todo!()
    }
}
