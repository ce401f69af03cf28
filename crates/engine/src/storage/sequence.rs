//! Numbers that are handed out once.

use crate::types::{Result, SequenceSchema};

/// A sequence. Lock-free; values are reserved in the log ahead of use by `log`.
#[derive(Debug)]
pub struct Sequence {}

impl Sequence {
    /// Its definition.
    pub fn schema(&self) -> &SequenceSchema {
        todo!()
    }

    /// The next value; 2200H when there is none.
    pub fn next_value(&self) -> Result<i64> {
        todo!()
    }
}
