//! A pinned point in the order of commits.

use crate::types::Version;

/// While it lives, row versions that it sees are not reclaimed. Cloning pins once more.
#[derive(Clone, Debug)]
pub struct Snapshot {}

impl Snapshot {
    /// The newest version that it sees.
    pub fn version(&self) -> Version {
        todo!()
    }
}
