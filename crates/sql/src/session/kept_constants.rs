//! SELECTs without FROM that came before, by their texts: `SELECT 1` of every pool that tries its connections.
//!
//! They have no literals lifted, so the template cache does not know them. Each text has one place, which the next text that hashes
//! to it takes over: no list is kept, nothing is counted, and whatever comes costs the same. Called by [`super::prepared`] and
//! [`super::constant`].

use std::hash::BuildHasher;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::prepared::{Plan, Prepared};

/// Places, a power of two.
const PLACES: usize = 512;

/// Longer texts are written by programs, for once; what is kept of a shorter one takes some kilobytes.
const TEXT_BYTES: usize = 256;

/// What was analysed of them.
#[derive(Debug)]
pub(super) struct KeptConstants {
    places: Box<[ArcSwapOption<Entry>]>,
    hasher: foldhash::fast::RandomState,
}

#[derive(Debug)]
struct Entry {
    text: Box<str>,
    prepared: Arc<Prepared>,
}

impl Default for KeptConstants {
    fn default() -> KeptConstants {
        KeptConstants {
            places: (0..PLACES).map(|_| ArcSwapOption::empty()).collect(),
            hasher: foldhash::fast::RandomState::default(),
        }
    }
}

impl KeptConstants {
    /// What a text was analysed to before, where that still `holds`.
    pub fn find(&self, text: &str, holds: impl Fn(&Prepared) -> bool) -> Option<Arc<Prepared>> {
        if text.len() > TEXT_BYTES {
            return None;
        }
        let entry = self.place(text).load();
        let found = entry.as_ref().filter(|entry| *entry.text == *text && holds(&entry.prepared));
        found.map(|entry| entry.prepared.clone())
    }

    /// Keeps what a text was analysed to, where that is short and means the same at any time.
    pub fn keep(&self, text: &str, prepared: &Arc<Prepared>) {
        let lasts =
            matches!(&prepared.plan, Plan::Constant(query) if query.lasts && !query.is_long);
        if lasts && text.len() <= TEXT_BYTES {
            let entry = Entry { text: text.into(), prepared: prepared.clone() };
            self.place(text).store(Some(Arc::new(entry)));
        }
    }

    fn place(&self, text: &str) -> &ArcSwapOption<Entry> {
        &self.places[self.hasher.hash_one(text) as usize & (PLACES - 1)]
    }
}

#[cfg(test)]
mod tests {
    use values::kernel::Context;

    use super::*;
    use crate::catalog::Catalog;
    use crate::statement::constant;

    fn prepared(text: &str) -> Arc<Prepared> {
        let query = constant::read(text, &Context::default(), &[]).expect(text).expect(text);
        Arc::new(Prepared::utility(&Catalog::default(), Plan::Constant(Box::new(query)), None))
    }

    fn is_found(constants: &KeptConstants, text: &str) -> bool {
        constants.find(text, |_| true).is_some()
    }

    #[test]
    fn what_means_the_same_at_any_time_is_kept() {
        let constants = KeptConstants::default();
        for text in ["SELECT 1", "SELECT now()", "SELECT $1::int + 1", "SELECT date '2024-01-01'"] {
            assert!(!is_found(&constants, text));
            constants.keep(text, &prepared(text));
            assert!(is_found(&constants, text), "{text}");
            assert!(constants.find(text, |_| false).is_none());
        }
        for text in [
            "SELECT 'now'::timestamp",
            "SELECT date E'\\x74oday'",
            "SELECT 'a' ~ 'b'",
            "SELECT 1e131071",
        ] {
            constants.keep(text, &prepared(text));
            assert!(!is_found(&constants, text), "{text}");
        }
    }

    #[test]
    fn few_and_short_texts_are_kept() {
        let constants = KeptConstants::default();
        let one = prepared("SELECT 1");
        let texts: Vec<String> = (0..4 * PLACES).map(|i| format!("SELECT {i}")).collect();
        texts.iter().for_each(|text| constants.keep(text, &one));
        let found = texts.iter().filter(|text| is_found(&constants, text)).count();
        assert!((1..=PLACES).contains(&found), "{found}");
        let long = format!("SELECT 1{}", " ".repeat(TEXT_BYTES));
        constants.keep(&long, &one);
        assert!(!is_found(&constants, &long));
    }
}
