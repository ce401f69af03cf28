//! What became of promised response times: by role and statement how many were admitted, kept, late and refused, how long answers
//! took, and how near the forecasts were.
//!
//! Whoever promises ([`super::Engine::promises`]) enters outcomes; `shareddb.promises` shows them. Absent here: forecasts, and
//! who is refused.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

/// Records that are kept; what would be one more is counted under [`OTHERS`].
const RECORD_LIMIT: usize = 2_048;

/// Stands for roles and statements that there is no record left for.
const OTHERS: &str = "(others)";

/// Bytes of a statement that are shown.
const STATEMENT_BYTES: usize = 1_024;

/// A forecast is near where it is within this factor of what happened, ...
const NEAR_FACTOR: f64 = 1.5;
/// ... or that close.
const NEAR: Duration = Duration::from_millis(1);

/// All that was promised.
#[derive(Debug, Default)]
pub struct Promises(Mutex<HashMap<Key, Arc<Record>>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    role: Arc<str>,
    statement: Arc<str>,
}

impl Promises {
    /// Where a role's promises for a statement are entered. `statement` is its text with its literals lifted.
    pub fn record(&self, role: &Arc<str>, statement: &Arc<str>) -> Arc<Record> {
        let statement = match statement.len() <= STATEMENT_BYTES {
            true => statement.clone(),
            false => statement[..statement.floor_char_boundary(STATEMENT_BYTES)].into(),
        };
        let mut records = self.0.lock();
        let mut key = Key { role: role.clone(), statement };
        if records.len() >= RECORD_LIMIT && !records.contains_key(&key) {
            key = Key { role: OTHERS.into(), statement: OTHERS.into() };
        }
        records.entry(key).or_default().clone()
    }

    /// All records, by role and statement.
    pub fn all(&self) -> Vec<(Arc<str>, Arc<str>, Promised)> {
        let records = self.0.lock();
        let row = |(key, record): (&Key, &Arc<Record>)| {
            (key.role.clone(), key.statement.clone(), *record.0.lock())
        };
        let mut all: Vec<_> = records.iter().map(row).collect();
        all.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        all
    }
}

/// What became of one role's promises for one statement.
#[derive(Debug, Default)]
pub struct Record(Mutex<Promised>);

/// The same as figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Promised {
    /// What was promised last.
    pub promise: Duration,
    /// Let in.
    pub admitted: u64,
    /// Answered in time.
    pub kept: u64,
    /// Answered too late, or dropped since that was certain.
    pub late: u64,
    /// Refused at once.
    pub refused: u64,
    /// The last forecast.
    pub forecast: Duration,
    /// Answers that had been forecast, ...
    pub forecasts: u64,
    /// ... and how many of the forecasts were near.
    pub near: u64,
    /// How long answers took.
    pub times: Times,
}

impl Record {
    /// Lets a statement in.
    pub fn admit(&self, promise: Duration, forecast: Option<Duration>) {
        let mut own = self.0.lock();
        own.promise = promise;
        own.admitted += 1;
        own.forecast = forecast.unwrap_or(own.forecast);
    }

    /// Refuses one.
    pub fn refuse(&self, promise: Duration, forecast: Duration) {
        let mut own = self.0.lock();
        own.promise = promise;
        own.refused += 1;
        own.forecast = forecast;
    }

    /// Its answer has gone out `took` after its message had come.
    pub fn answer(&self, promise: Duration, took: Duration, forecast: Option<Duration>) {
        let mut own = self.0.lock();
        match took <= promise {
            true => own.kept += 1,
            false => own.late += 1,
        }
        own.times.note(took);
        if let Some(forecast) = forecast {
            own.forecasts += 1;
            own.near += u64::from(is_near(forecast, took));
        }
    }

    /// It was not answered in time, and will not be.
    pub fn drop_late(&self) {
        self.0.lock().late += 1;
    }
}

fn is_near(forecast: Duration, took: Duration) -> bool {
    let (forecast_s, took_s) = (forecast.as_secs_f64(), took.as_secs_f64());
    let is_within = forecast_s <= took_s * NEAR_FACTOR && took_s <= forecast_s * NEAR_FACTOR;
    is_within || forecast.abs_diff(took) <= NEAR
}

/// Sizes of [`Times`]: four for each power of two microseconds, up to four minutes.
const SIZES: usize = 104;

/// How often answers took how long, to a quarter of it.
#[derive(Clone, Copy, Debug)]
pub struct Times([u32; SIZES]);

impl Default for Times {
    fn default() -> Times {
        Times([0; SIZES])
    }
}

impl Times {
    fn note(&mut self, took: Duration) {
        let count = &mut self.0[size(took)];
        *count = count.saturating_add(1);
    }

    /// What a share of all took at most; `None` where there are none.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let all: u64 = self.0.iter().map(|count| u64::from(*count)).sum();
        let wanted = (all as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.0.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        found.map(upper_bound)
    }
}

fn size(took: Duration) -> usize {
    let micros = took.as_micros().max(4) as u64;
    let power = micros.ilog2();
    let quarter = (micros >> (power - 2)) & 3;
    ((power - 2) as usize * 4 + quarter as usize).min(SIZES - 1)
}

/// Where the next size begins.
fn upper_bound(size: usize) -> Duration {
    let (power, quarter) = (size / 4, size as u64 % 4);
    Duration::from_micros((quarter + 5) << power)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn only(promises: &Promises) -> Promised {
        promises.all()[0].2
    }

    #[test]
    fn outcomes_are_counted_by_role_and_statement() {
        let promises = Promises::default();
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let statement: Arc<str> = "SELECT $1".into();
        let record = promises.record(&ann, &statement);
        record.admit(10 * MILLISECOND, Some(8 * MILLISECOND));
        record.answer(10 * MILLISECOND, 9 * MILLISECOND, Some(8 * MILLISECOND));
        record.admit(10 * MILLISECOND, Some(2 * MILLISECOND));
        record.answer(10 * MILLISECOND, 11 * MILLISECOND, Some(2 * MILLISECOND));
        promises.record(&ann, &statement).refuse(10 * MILLISECOND, 20 * MILLISECOND);
        promises.record(&bob, &statement).admit(MILLISECOND, None);
        let own = only(&promises);
        assert_eq!((own.admitted, own.kept, own.late, own.refused), (2, 1, 1, 1));
        assert_eq!((own.forecasts, own.near), (2, 1));
        assert_eq!(promises.all().len(), 2);
    }

    #[test]
    fn records_are_limited_in_number_and_size() {
        let promises = Promises::default();
        let role: Arc<str> = "ann".into();
        for i in 0..3_000 {
            promises.record(&role, &format!("SELECT {i} AS {}", "é".repeat(2_000)).into());
        }
        let all = promises.all();
        assert_eq!(all.len(), RECORD_LIMIT + 1);
        assert!(all.iter().all(|(_, statement, _)| statement.len() <= STATEMENT_BYTES));
        assert_eq!(&*all[0].1, OTHERS);
    }

    #[test]
    fn quantiles_are_at_most_a_quarter_above() {
        let mut times = Times::default();
        assert_eq!(times.quantile(0.5), None);
        (1..=1_000).for_each(|i| times.note(Duration::from_micros(i * 100)));
        for (share, exact) in [(0.5, 50_000), (0.99, 99_000), (0.999, 99_900)] {
            let found = times.quantile(share).expect("some").as_micros() as f64;
            let exact = f64::from(exact);
            assert!(found >= exact && found <= exact * 1.26, "{share}: {found} for {exact}");
        }
        times.note(Duration::from_secs(100_000));
        assert!(times.quantile(1.0).expect("some") > Duration::from_secs(60));
    }
}
