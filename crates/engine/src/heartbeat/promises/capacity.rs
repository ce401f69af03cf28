//! How much more could be promised.
//!
//! A statement's answers take as long as the load lets them ([`super::Response`]), so its promise bounds the load, and the load the
//! work that is done in a second. What is done now is counted; the rest is capacity. Statements that compete scale together: of a
//! place so much more of what runs there now is kept as of the statement whose promise is the tightest.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Meets, Place, Promises, Record};

/// What a place, or the whole, answers of statements with a promise, and how much more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// `None`: all of them.
    pub place: Option<Place>,
    /// The shortest promise of a statement that runs now.
    pub promise: Duration,
    /// Answers in the last second.
    pub per_second: f64,
    /// So many more would be kept.
    pub more: f64,
}

/// What is known of a place so far.
#[derive(Clone, Copy)]
struct Sum {
    promise: Duration,
    per_second: f64,
    /// So many times as much as now would be kept.
    factor: f64,
}

impl Sum {
    fn add(self, other: Sum) -> Sum {
        Sum {
            promise: self.promise.min(other.promise),
            per_second: self.per_second + other.per_second,
            factor: self.factor.min(other.factor),
        }
    }

    fn capacity(self, place: Option<Place>) -> Capacity {
        let Sum { promise, per_second, factor } = self;
        let more = (per_second * (factor - 1.0)).max(0.0);
        Capacity { place, promise, per_second, more }
    }
}

impl Promises {
    /// By place, and all together first; nothing where no statement with a promise was answered in the last second.
    pub fn capacity(&self) -> Vec<Capacity> {
        let mut places: BTreeMap<Place, Sum> = BTreeMap::new();
        for record in self.records() {
            let Some((place, sum)) = self.sum_of(&record) else { continue };
            places.entry(place).and_modify(|known| *known = known.add(sum)).or_insert(sum);
        }
        let all = places.values().copied().reduce(Sum::add);
        let all = all.map(|sum| sum.capacity(None));
        let each = places.into_iter().map(|(place, sum)| sum.capacity(Some(place)));
        all.into_iter().chain(each).collect()
    }

    fn sum_of(&self, record: &Arc<Record>) -> Option<(Place, Sum)> {
        let per_second = record.per_second();
        let Meets { place, work, response } = record.meets().filter(|_| per_second > 0.0)?;
        let promise = record.figures().promise;
        let station = match place {
            Place::Lane(_) | Place::Alone => &self.stations.queries,
            Place::Writes => &self.stations.writes,
        };
        let now = station.done_per_second() / work.max(1) as f64;
        let factor =
            response.most_per_second(promise, station.margin.deviations())? / now.max(1e-3);
        Some((place, Sum { promise, per_second, factor }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{Clock, SimulatedClock};
    use crate::heartbeat::promises::{OWN, Response};

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// A statement that takes 2 ms by itself and 8 where sixteen run.
    fn measured() -> Arc<Response> {
        let response = Response::default();
        for _ in 0..30 {
            response.note(OWN, 2 * MILLISECOND);
            response.note(16 * OWN, 8 * MILLISECOND);
        }
        Arc::new(response)
    }

    /// What is said after a second in which so many were answered of a statement with such a promise.
    fn after(answers: u64, promise: Duration) -> Vec<Capacity> {
        let clock = Arc::new(SimulatedClock::default());
        let promises = Promises::new(clock.clone() as Arc<dyn Clock>);
        let record = promises.record(&"ann".into(), &"SELECT".into());
        let meets = Meets { place: Place::Alone, work: 2_000, response: measured() };
        for _ in 0..answers {
            record.admit(promise, None, Some(meets.clone()));
            drop(promises.stations.queries.enter(2_000));
            record.answer(promise, MILLISECOND, None);
        }
        clock.put_forward(Duration::from_millis(500));
        promises.capacity()
    }

    #[test]
    fn nothing_is_said_of_what_does_not_run() {
        assert_eq!(after(0, 10 * MILLISECOND), []);
    }

    #[test]
    fn what_runs_and_what_more_of_it_would_be_kept() {
        let told = after(500, 10 * MILLISECOND);
        assert_eq!(
            told.iter().map(|one| one.place).collect::<Vec<_>>(),
            [None, Some(Place::Alone)]
        );
        assert_eq!((told[0].per_second, told[0].promise), (500.0, 10 * MILLISECOND));
        // About two thousand a second can be kept.
        assert!((1_000.0..2_200.0).contains(&told[0].more), "{told:?}");
        assert_eq!(after(500, MILLISECOND)[0].more, 0.0, "not even one can be kept");
        let busy = after(1_500, 10 * MILLISECOND)[0].more;
        assert!(busy < told[0].more - 500.0, "{busy}");
    }
}
