//! Statements that begin and end transactions, by their texts: every client sends the same few, each transaction two of them.
//!
//! They are no templates (the parser makes no plan of them, and they have no literals), so the template cache does not know them.
//! Called by [`super::prepared`].

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::prepared::{Plan, Prepared};
use crate::statement::transaction::TransactionStatement;

/// Texts that are kept: as many as drivers write BEGIN and COMMIT in.
const LIMIT: usize = 64;

/// Longer ones are written by hand.
const TEXT_BYTES: usize = 64;

/// What was parsed of them.
#[derive(Debug, Default)]
pub(super) struct Controls(ArcSwap<HashMap<Box<str>, Arc<Prepared>>>);

impl Controls {
    /// What a text was parsed to before.
    pub fn find(&self, text: &str) -> Option<Arc<Prepared>> {
        if text.len() > TEXT_BYTES {
            return None;
        }
        self.0.load().get(text).cloned()
    }

    /// Keeps what a text was parsed to, where that means the same to everybody and at any time.
    pub fn keep(&self, text: &str, prepared: &Arc<Prepared>) {
        if text.len() > TEXT_BYTES || !is_control(&prepared.plan) {
            return;
        }
        self.0.rcu(|known| {
            let mut known = HashMap::clone(known);
            if known.len() < LIMIT {
                known.insert(text.into(), prepared.clone());
            }
            known
        });
    }
}

fn is_control(plan: &Plan) -> bool {
    let Plan::Command(command) = plan else { return false };
    command.transaction().is_some_and(TransactionStatement::is_common)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::statement::command::Asked;

    fn prepared(text: &str) -> Arc<Prepared> {
        let plan = match Asked::of(text).expect("parses").0 {
            Asked::Command(command) => Plan::Command(*command),
            _ => Plan::Empty,
        };
        Arc::new(Prepared::utility(&Catalog::default(), plan, None))
    }

    #[test]
    fn only_what_begins_and_ends_transactions_is_kept() {
        let controls = Controls::default();
        for text in ["BEGIN", "COMMIT", "ROLLBACK", "START TRANSACTION READ ONLY"] {
            assert!(controls.find(text).is_none());
            controls.keep(text, &prepared(text));
            assert!(controls.find(text).is_some(), "{text}");
        }
        for text in ["SAVEPOINT a", "ROLLBACK TO a", "SET x = 1", "DROP TABLE t"] {
            controls.keep(text, &prepared(text));
            assert!(controls.find(text).is_none(), "{text}");
        }
    }

    #[test]
    fn few_and_short_texts_are_kept() {
        let (controls, begin) = (Controls::default(), prepared("BEGIN"));
        for i in 0..2 * LIMIT {
            controls.keep(&format!("BEGIN{}", " ".repeat(i % TEXT_BYTES)), &begin);
            controls.keep(&format!("BEGIN /* {i} */"), &begin);
        }
        assert_eq!(controls.0.load().len(), LIMIT);
        assert!(controls.0.load().keys().all(|text| text.len() <= TEXT_BYTES));
    }
}
