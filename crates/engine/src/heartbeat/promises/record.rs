//! What became of one role's promises for one statement.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::rate::Rate;
use super::{Response, Times};
use crate::env::Clock;
use crate::types::LaneId;

/// A forecast is near where it is within this factor of what happened, ...
const NEAR_FACTOR: f64 = 1.5;
/// ... or that close.
const NEAR: Duration = Duration::from_millis(1);

/// What became of one role's promises for one statement.
#[derive(Debug)]
pub struct Record {
    figures: Mutex<Promised>,
    /// What its last statement met.
    meets: Mutex<Option<Meets>>,
    /// Answers.
    rate: Rate,
    clock: Arc<dyn Clock>,
}

/// Where a statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a lane of the global plan.
    Lane(LaneId),
    /// Query at a time.
    Alone,
    /// In the write heartbeat.
    Writes,
}

/// What a statement meets: where it runs, what it takes of others' time there, and what is known of that.
#[derive(Clone, Debug)]
pub struct Meets {
    /// Where it runs.
    pub place: Place,
    /// Its own work, in the units of its station.
    pub work: u64,
    /// How long its answers take.
    pub response: Arc<Response>,
}

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
    /// Nothing was promised yet.
    pub fn new(clock: Arc<dyn Clock>) -> Record {
        let figures = Mutex::new(Promised::default());
        Record { figures, meets: Mutex::default(), rate: Rate::default(), clock }
    }

    /// What is known.
    pub fn figures(&self) -> Promised {
        *self.figures.lock()
    }

    /// What its last statement met; `None` where nobody competes with it.
    pub fn meets(&self) -> Option<Meets> {
        self.meets.lock().clone()
    }

    /// Answers in the last second.
    pub fn per_second(&self) -> f64 {
        self.rate.per_second(self.clock.now())
    }

    /// Lets a statement in.
    pub fn admit(&self, promise: Duration, forecast: Option<Duration>, meets: Option<Meets>) {
        *self.meets.lock() = meets;
        let mut own = self.figures.lock();
        own.promise = promise;
        own.admitted += 1;
        own.forecast = forecast.unwrap_or(own.forecast);
    }

    /// Refuses one.
    pub fn refuse(&self, promise: Duration, forecast: Duration) {
        let mut own = self.figures.lock();
        own.promise = promise;
        own.refused += 1;
        own.forecast = forecast;
    }

    /// Its answer has gone out `took` after its message had come.
    pub fn answer(&self, promise: Duration, took: Duration, forecast: Option<Duration>) {
        let mut own = self.figures.lock();
        match took <= promise {
            true => own.kept += 1,
            false => own.late += 1,
        }
        own.times.note(took);
        self.rate.note(self.clock.now(), 1);
        if let Some(forecast) = forecast {
            own.forecasts += 1;
            own.near += u64::from(is_near(forecast, took));
        }
    }

    /// It was not answered in time, and will not be.
    pub fn drop_late(&self) {
        self.figures.lock().late += 1;
    }
}

fn is_near(forecast: Duration, took: Duration) -> bool {
    let (forecast_s, took_s) = (forecast.as_secs_f64(), took.as_secs_f64());
    let is_within = forecast_s <= took_s * NEAR_FACTOR && took_s <= forecast_s * NEAR_FACTOR;
    is_within || forecast.abs_diff(took) <= NEAR
}
