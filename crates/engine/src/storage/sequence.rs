//! Numbers that are handed out once.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::types::{Error, Result, SequenceSchema, SqlState};

/// A sequence; values are reserved in the log ahead of use by `log`. The lock is held for one
/// addition.
#[derive(Debug)]
pub struct Sequence {
    schema: ArcSwap<SequenceSchema>,
    /// `last_value` and `is_called`, as PostgreSQL shows them.
    state: Mutex<(i64, bool)>,
}

impl Sequence {
    /// A sequence that hands out its start first.
    pub fn new(schema: SequenceSchema) -> Sequence {
        let state = Mutex::new((schema.start, false));
        Sequence { schema: ArcSwap::from_pointee(schema), state }
    }

    /// Its definition.
    pub fn schema(&self) -> Arc<SequenceSchema> {
        self.schema.load_full()
    }

    /// Gives it another definition; what was handed out stays so.
    pub fn alter(&self, schema: SequenceSchema) {
        self.schema.store(Arc::new(schema));
    }

    /// The next value; 2200H when there is none.
    pub fn next_value(&self) -> Result<i64> {
        let mut state = self.state.lock();
        let next = match *state {
            (last, false) => last,
            (last, true) => self.successor(last)?,
        };
        *state = (next, true);
        Ok(next)
    }

    fn successor(&self, last: i64) -> Result<i64> {
        let SequenceSchema { increment, min, max, cycle, .. } = **self.schema.load();
        let next = last.checked_add(increment).filter(|next| (min..=max).contains(next));
        match next {
            Some(next) => Ok(next),
            None if cycle => Ok(if increment > 0 { min } else { max }),
            None => Err(self.limit_reached()),
        }
    }

    fn limit_reached(&self) -> Error {
        let schema = self.schema.load();
        let name = &schema.name;
        let (end, limit) = match schema.increment > 0 {
            true => ("maximum", schema.max),
            false => ("minimum", schema.min),
        };
        let message = format!("nextval: reached {end} value of sequence \"{name}\" ({limit})");
        Error::new(SqlState::SequenceLimit, message)
    }

    /// The value handed out last, and whether it was handed out (otherwise it is the next one).
    pub fn state(&self) -> (i64, bool) {
        *self.state.lock()
    }

    /// Goes on from `last` (`setval`, RESTART, recovery); `called`: it counts as handed out. 22003
    /// outside the sequence's bounds.
    pub fn set(&self, last: i64, called: bool) -> Result<()> {
        let schema = self.schema.load();
        let SequenceSchema { name, min, max, .. } = &**schema;
        if !(*min..=*max).contains(&last) {
            let message = format!(
                "setval: value {last} is out of bounds for sequence \"{name}\" ({min}..{max})"
            );
            return Err(Error::new(SqlState::NumericOutOfRange, message));
        }
        *self.state.lock() = (last, called);
        Ok(())
    }

    /// Starts over (TRUNCATE ... RESTART IDENTITY).
    pub fn restart(&self) {
        *self.state.lock() = (self.schema.load().start, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::SequenceId;

    fn sequence(start: i64, increment: i64, min: i64, max: i64, cycle: bool) -> Sequence {
        let (id, name) = (SequenceId(1), "s".into());
        Sequence::new(SequenceSchema { id, name, start, increment, min, max, cycle, owner: None })
    }

    #[test]
    fn values_end_at_the_limit() {
        let s = sequence(1, 2, 1, 4, false);
        assert_eq!((s.next_value(), s.next_value()), (Ok(1), Ok(3)));
        let error = s.next_value().expect_err("5 is above 4");
        assert_eq!(error.state.code(), "2200H");
        assert_eq!(error.message, "nextval: reached maximum value of sequence \"s\" (4)");
        assert_eq!(s.state(), (3, true));
        s.restart();
        assert_eq!(s.next_value(), Ok(1));
    }

    #[test]
    fn cycles_go_to_the_other_end() {
        let s = sequence(-1, -1, -2, 5, true);
        let values: Vec<i64> = (0..4).filter_map(|_| s.next_value().ok()).collect();
        assert_eq!(values, [-1, -2, 5, 4]);
        s.set(i64::MIN, true).expect_err("below the minimum");
        s.set(3, false).expect("inside the bounds");
        assert_eq!(s.next_value(), Ok(3));
    }
}
