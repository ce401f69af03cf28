//! Values that differ from the defaults, and those that RESET returns to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{DEFINITIONS, IDENTITY};

/// Values that differ from the default, by canonical name. Every statement takes them along, so a copy costs nothing.
#[derive(Clone, Debug, Default)]
pub struct ChangedSettings(Arc<Values>);

#[derive(Clone, Debug, Default)]
struct Values {
    now: BTreeMap<String, String>,
    /// What RESET returns to where that is not the default.
    first: BTreeMap<String, String>,
}

/// A setting as SHOW ALL and `pg_settings` have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSetting {
    /// Its canonical name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What RESET makes of it.
    pub reset_value: String,
}

impl ChangedSettings {
    /// All settings, by name.
    pub fn all(&self) -> Vec<ShownSetting> {
        let mut all: Vec<ShownSetting> = DEFINITIONS.iter().map(|d| self.shown(d)).collect();
        all.sort_by_key(|setting| setting.name.to_lowercase());
        all
    }

    fn shown(&self, definition: &super::Definition) -> ShownSetting {
        let or_default = |value: Option<&String>| match value {
            Some(value) => value.clone(),
            None => definition.default.to_owned(),
        };
        // Who the session is stays where it is.
        let first = if IDENTITY.contains(&definition.name) { &self.0.now } else { &self.0.first };
        ShownSetting {
            name: definition.name,
            value: or_default(self.get(definition.name)),
            reset_value: or_default(first.get(definition.name)),
        }
    }

    /// A value that differs from the default.
    pub fn get(&self, name: &str) -> Option<&String> {
        self.0.now.get(name)
    }

    /// What RESET returns to; `None` for the default.
    pub fn first(&self, name: &str) -> Option<String> {
        self.0.first.get(name).cloned()
    }

    /// The settings that RESET ALL changes.
    pub fn since_first(&self) -> BTreeSet<String> {
        let Values { now, first } = &*self.0;
        let names = now.keys().chain(first.keys());
        let names = names.filter(|name| !IDENTITY.contains(&name.as_str()));
        names.filter(|name| now.get(*name) != first.get(*name)).cloned().collect()
    }

    /// RESET returns to the values of now.
    pub fn settle(&mut self) {
        let values = Arc::make_mut(&mut self.0);
        values.first = values.now.clone();
        values.first.retain(|name, _| !IDENTITY.contains(&name.as_str()));
    }

    /// Puts a value; `None` for the default.
    pub fn put(&mut self, name: &str, value: Option<String>) {
        let values = Arc::make_mut(&mut self.0);
        match value {
            Some(value) => values.now.insert(name.to_owned(), value),
            None => values.now.remove(name),
        };
    }
}
