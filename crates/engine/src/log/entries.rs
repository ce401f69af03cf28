//! The catalog's key-value part, kept for the crates above.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

/// Keys and values that only the crates above understand.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    values: RwLock<BTreeMap<String, Arc<[u8]>>>,
}

impl Entries {
    /// A value.
    pub fn get(&self, key: &str) -> Option<Arc<[u8]>> {
        self.values.read().get(key).cloned()
    }

    /// Sets a value; `None` removes it.
    pub fn put(&self, key: &str, value: Option<&[u8]>) {
        let mut values = self.values.write();
        match value {
            Some(value) => drop(values.insert(key.into(), value.into())),
            None => drop(values.remove(key)),
        }
    }

    /// All keys with a prefix and their values, ascending.
    pub fn with_prefix(&self, prefix: &str) -> Vec<(String, Arc<[u8]>)> {
        let values = self.values.read();
        let from = values.range(prefix.to_owned()..);
        let matching = from.take_while(|(key, _)| key.starts_with(prefix));
        matching.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}
