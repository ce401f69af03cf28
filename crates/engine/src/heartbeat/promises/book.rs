//! All that was promised, by role and statement.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Promised, Record, Response, Stations, Turns};
use crate::env::Clock;

/// Records that are kept; what would be one more is counted under [`OTHERS`].
const RECORD_LIMIT: usize = 2_048;

/// Stands for roles and statements that there is no record left for.
const OTHERS: &str = "(others)";

/// Bytes of a statement that are shown.
const STATEMENT_BYTES: usize = 1_024;

/// All that was promised.
#[derive(Debug)]
pub struct Promises {
    /// What runs or waits now.
    pub stations: Stations,
    /// How long connections wait for their turn on a thread.
    pub turns: Turns,
    /// How long texts take to be planned.
    pub planning: Response,
    pub(super) clock: Arc<dyn Clock>,
    records: Mutex<HashMap<Key, Arc<Record>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    role: Arc<str>,
    statement: Arc<str>,
}

impl Promises {
    /// Nothing was promised yet.
    pub fn new(clock: Arc<dyn Clock>) -> Promises {
        Promises {
            stations: Stations::new(&clock),
            turns: Turns::default(),
            planning: Response::default(),
            clock,
            records: Mutex::default(),
        }
    }

    /// Where a role's promises for a statement are entered. `statement` is its text with its literals lifted.
    pub fn record(&self, role: &Arc<str>, statement: &Arc<str>) -> Arc<Record> {
        let statement = match statement.len() <= STATEMENT_BYTES {
            true => statement.clone(),
            false => statement[..statement.floor_char_boundary(STATEMENT_BYTES)].into(),
        };
        let mut records = self.records.lock();
        let mut key = Key { role: role.clone(), statement };
        if records.len() >= RECORD_LIMIT && !records.contains_key(&key) {
            key = Key { role: OTHERS.into(), statement: OTHERS.into() };
        }
        let new = || Arc::new(Record::new(self.clock.clone()));
        records.entry(key).or_insert_with(new).clone()
    }

    /// All records, by role and statement.
    pub fn all(&self) -> Vec<(Arc<str>, Arc<str>, Promised)> {
        let records = self.records.lock();
        let row = |(key, record): (&Key, &Arc<Record>)| {
            (key.role.clone(), key.statement.clone(), record.figures())
        };
        let mut all: Vec<_> = records.iter().map(row).collect();
        all.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        all
    }

    pub(super) fn records(&self) -> Vec<Arc<Record>> {
        self.records.lock().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::env::Environment;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn promises() -> Promises {
        Promises::new(Environment::system().clock)
    }

    fn only(promises: &Promises) -> Promised {
        promises.all()[0].2
    }

    #[test]
    fn outcomes_are_counted_by_role_and_statement() {
        let promises = promises();
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let statement: Arc<str> = "SELECT $1".into();
        let record = promises.record(&ann, &statement);
        record.admit(10 * MILLISECOND, Some(8 * MILLISECOND), None);
        record.answer(10 * MILLISECOND, 9 * MILLISECOND, Some(8 * MILLISECOND));
        record.admit(10 * MILLISECOND, Some(2 * MILLISECOND), None);
        record.answer(10 * MILLISECOND, 11 * MILLISECOND, Some(2 * MILLISECOND));
        promises.record(&ann, &statement).refuse(10 * MILLISECOND, 20 * MILLISECOND);
        promises.record(&bob, &statement).admit(MILLISECOND, None, None);
        let own = only(&promises);
        assert_eq!((own.admitted, own.kept, own.late, own.refused), (2, 1, 1, 1));
        assert_eq!((own.forecasts, own.near), (2, 1));
        assert_eq!(promises.all().len(), 2);
    }

    #[test]
    fn records_are_limited_in_number_and_size() {
        let promises = promises();
        let role: Arc<str> = "ann".into();
        for i in 0..3_000 {
            promises.record(&role, &format!("SELECT {i} AS {}", "é".repeat(2_000)).into());
        }
        let all = promises.all();
        assert_eq!(all.len(), RECORD_LIMIT + 1);
        assert!(all.iter().all(|(_, statement, _)| statement.len() <= STATEMENT_BYTES));
        assert_eq!(&*all[0].1, OTHERS);
    }
}
