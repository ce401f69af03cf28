//! Whether a statement that begins is let in.

use std::time::Duration;

use engine::heartbeat::Ahead;
use engine::heartbeat::promises::Response;
use engine::types::{Error, SqlState};

/// The least that an answer takes: nothing shorter can be promised.
const LEAST: Duration = Duration::from_micros(20);

/// The share of its promise within which a session must be expected to be answered that was refused last, or is new. Who was served
/// last has all of it: what an application does is several statements, and a share of each refused would leave few of them whole.
const NEWCOMERS_SHARE: f64 = 0.9;

/// The share of a promise within which those of a lane must be expected to be answered, and are.
const LANE_SHARE: f64 = 0.95;
/// Who is expected to be answered later than in this share of its promise has little to spare.
const TIGHT: f64 = 0.7;

/// Whoever has waited for more than this share of its promise is not alone, whatever load it meets: others take the threads.
const ALONE_WAITS: f64 = 0.25;

/// What 99 of 100 take is told where it is so much more than what they take on average.
const TOLD_FROM: f64 = 1.05;

/// Nobody is told to come back sooner.
const SOON: Duration = Duration::from_millis(1);

/// A statement that begins.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The response time that was promised.
    pub promise: Duration,
    /// How long ago its message had come, and what it had waited until it was read.
    pub waited: Duration,
    /// The session's last statement was let in.
    pub was_served: bool,
    /// What runs or waits beside it, its own work included, in units of the caller.
    pub load: u64,
    /// Its own work in the same units.
    pub own: u64,
    /// What it meets in its lane, where that was measured.
    pub ahead: Option<Ahead>,
    /// What its access paths are predicted to take, for a statement of which nothing is measured yet.
    pub predicted: Option<Duration>,
    /// So many deviations above the mean are expected of 99 of 100.
    pub deviations: f32,
    /// The engine's clock.
    pub now: Duration,
}

impl Asked {
    /// Nobody runs or waits beside it.
    fn is_alone(&self) -> bool {
        self.ahead.map_or(self.load <= self.own, |ahead| ahead.inside == 0)
    }
}

/// When a statement is expected to be answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// From its message to its answer, on average.
    pub total: Duration,
    /// Of that what is due to others: what it has waited, and what runs or waits beside it.
    pub others: Duration,
    /// The same for 99 of 100, as far as was measured.
    pub latest: Duration,
}

impl Forecast {
    /// Of a statement; `None` where neither measurements nor access paths say anything.
    pub fn of(response: &Response, asked: &Asked) -> Option<Forecast> {
        if let Some(ahead) = &asked.ahead {
            return Some(Forecast::in_lane(response, asked, ahead));
        }
        let (took, by_itself, latest) = match response.at(asked.load) {
            Some(expected) => {
                let alone = response.at(asked.own).map_or(expected.mean, |alone| alone.mean);
                (expected.mean, alone, expected.latest(asked.deviations))
            }
            None => {
                let alone = asked.predicted?;
                // As the time grows where it is known at one load only.
                let more = (asked.load.max(1) as f64 / asked.own.max(1) as f64).max(1.0).sqrt();
                (alone.mul_f64(more), alone, alone.mul_f64(more))
            }
        };
        let total = asked.waited + took.max(LEAST);
        let latest = asked.waited + latest.max(LEAST);
        Some(Forecast { total, others: total.saturating_sub(by_itself.max(LEAST)), latest })
    }

    /// What is to be learned of one that was let into a lane and took so long: whether it was late; `None` where it had much to spare.
    pub fn was_late(&self, promise: Duration, took: Duration) -> Option<bool> {
        let is_tight = self.latest > promise.mul_f64(TIGHT);
        is_tight.then(|| took > promise.mul_f64(LANE_SHARE))
    }

    /// It stays as long as those who met as many.
    fn in_lane(response: &Response, asked: &Asked, ahead: &Ahead) -> Forecast {
        let stay = ahead.stay.max(LEAST);
        let total = asked.waited + stay;
        let by_itself = response.least().unwrap_or(stay).min(stay);
        let latest = asked.waited + stay.mul_f32(ahead.factor);
        Forecast { total, others: total.saturating_sub(by_itself.max(LEAST)), latest }
    }
}

/// Lets a statement in, with its forecast, or refuses it with 53400 where it would not be answered in time.
pub fn decide(response: &Response, asked: &Asked) -> Result<Option<Forecast>, Refusal> {
    let Some(forecast) = Forecast::of(response, asked) else {
        let total = asked.waited + LEAST;
        let least = Forecast { total, others: asked.waited, latest: total };
        let is_late = least.total > asked.promise;
        return if is_late { Err(refusal(response, asked, least)) } else { Ok(None) };
    };
    // Where nobody is beside it, it is no newcomer.
    let is_alone = asked.is_alone() && asked.waited < asked.promise.mul_f64(ALONE_WAITS);
    let limit = match is_alone || asked.was_served {
        true => asked.promise,
        false => asked.promise.mul_f64(NEWCOMERS_SHARE),
    };
    let is_in_time = match &asked.ahead {
        Some(_) => forecast.latest <= limit.mul_f64(LANE_SHARE),
        None => forecast.latest <= limit,
    };
    match is_in_time || is_worth_trying(response, asked, is_alone) {
        true => Ok(Some(forecast)),
        false => Err(refusal(response, asked, forecast)),
    }
}

/// What speaks against it may be out of date: where it has taken less before and nobody is beside it, one is let in now and then.
fn is_worth_trying(response: &Response, asked: &Asked, is_alone: bool) -> bool {
    let least = response.least().or(asked.predicted);
    let was_shorter = least.is_some_and(|least| asked.waited + least.max(LEAST) <= asked.promise);
    is_alone && was_shorter && response.may_try(asked.now)
}

/// Why a statement is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refusal {
    /// When it would be answered.
    pub forecast: Forecast,
    promise: Duration,
    /// The least that could be promised for it.
    least: Duration,
}

fn refusal(response: &Response, asked: &Asked, forecast: Forecast) -> Refusal {
    let by_itself = forecast.total.saturating_sub(forecast.others);
    let least = response.least().unwrap_or(by_itself).max(LEAST);
    Refusal { forecast, promise: asked.promise, least }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        let Refusal { forecast, promise, least } = refusal;
        let message = "statement refused: it would not be answered within shareddb.response_time";
        let detail = format!("It is forecast to take {forecast}; {} are promised.", Shown(promise));
        let hint = match least > promise {
            true => format!(
                "By itself it takes {}: raise shareddb.response_time, or set it to 0.",
                Shown(least)
            ),
            false => {
                let late = forecast.latest.saturating_sub(promise);
                format!("Try again in {}.", Shown(late.max(SOON)))
            }
        };
        Error::new(SqlState::PromiseNotKept, message).detail(detail).hint(hint)
    }
}

impl std::fmt::Display for Forecast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", Shown(self.total))?;
        if self.latest > self.total.mul_f64(TOLD_FROM) {
            write!(f, " (99 of 100 at most {})", Shown(self.latest))?;
        }
        write!(f, ", of which {} are for others", Shown(self.others))
    }
}

/// A time as people read it.
pub struct Shown(pub Duration);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // By whole numbers: each refusal tells several times, and floating-point ones are dear to write.
        let (milliseconds, micros) = (self.0.as_millis(), self.0.subsec_micros() % 1_000);
        match milliseconds {
            0 => write!(f, "0.{micros:03} ms"),
            1..100 => write!(f, "{milliseconds}.{} ms", micros / 100),
            _ => write!(f, "{milliseconds} ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn asked(promise: Duration, load: u64) -> Asked {
        Asked {
            promise,
            waited: Duration::ZERO,
            was_served: true,
            load,
            own: 1_000,
            ahead: None,
            predicted: None,
            deviations: 3.0,
            now: Duration::from_secs(1),
        }
    }

    /// A statement that takes a millisecond by itself, ten at sixty-four times its load.
    fn measured() -> Response {
        let response = Response::default();
        for _ in 0..50 {
            response.note(1_000, MILLISECOND);
            response.note(64_000, 10 * MILLISECOND);
        }
        response
    }

    #[test]
    fn who_would_be_late_is_refused_and_told_when_to_come_back() {
        let response = measured();
        let admitted = decide(&response, &asked(20 * MILLISECOND, 64_000)).expect("in time");
        let forecast = admitted.expect("measured");
        assert!(forecast.total > 9 * MILLISECOND && forecast.total < 11 * MILLISECOND);
        assert!(forecast.others > 8 * MILLISECOND);
        let error =
            Error::from(decide(&response, &asked(5 * MILLISECOND, 64_000)).expect_err("late"));
        assert_eq!(error.state, SqlState::PromiseNotKept);
        let detail = error.detail.as_deref().expect("a detail");
        assert!(detail.contains("5.0 ms are promised"), "{detail}");
        assert!(error.hint.as_deref().expect("a hint").starts_with("Try again in "));
    }

    #[test]
    fn what_has_waited_already_counts() {
        let response = measured();
        let asked = asked(15 * MILLISECOND, 64_000);
        assert!(decide(&response, &asked).is_ok());
        assert!(decide(&response, &Asked { waited: 8 * MILLISECOND, ..asked }).is_err());
    }

    #[test]
    fn who_was_refused_comes_in_after_those_who_were_served() {
        let response = measured();
        let promise = 14 * MILLISECOND;
        let served = asked(promise, 64_000);
        assert!(decide(&response, &served).is_ok());
        assert!(decide(&response, &Asked { was_served: false, ..served }).is_err());
        // Also where others do not compete with it, but for threads.
        let light = Asked { load: 1_000, waited: 25 * MILLISECOND / 2, ..served };
        assert!(decide(&response, &light).is_ok());
        assert!(decide(&response, &Asked { was_served: false, ..light }).is_err());
        // Where it is by itself that makes no difference.
        let alone = Asked { was_served: false, load: 1_000, ..asked(MILLISECOND * 7 / 5, 1_000) };
        assert!(decide(&response, &alone).is_ok());
    }

    #[test]
    fn a_new_shape_has_the_forecast_of_its_access_paths() {
        let response = Response::default();
        let new = Asked { predicted: Some(MILLISECOND), ..asked(5 * MILLISECOND, 4_000) };
        let forecast = decide(&response, &new).expect("in time").expect("predicted");
        assert_eq!((forecast.total, forecast.others), (2 * MILLISECOND, MILLISECOND));
        assert!(decide(&response, &Asked { load: 400_000, ..new }).is_err());
        let unknown = Asked { predicted: None, ..new };
        assert_eq!(decide(&response, &unknown), Ok(None), "nothing speaks against it");
    }

    #[test]
    fn what_cannot_be_kept_even_alone_is_refused_with_the_least_that_can() {
        let response = measured();
        let promise = Duration::from_micros(1);
        let error = Error::from(decide(&response, &asked(promise, 1_000)).expect_err("too short"));
        assert!(error.hint.as_deref().expect("a hint").starts_with("By itself it takes 1.0"));
        let unknown = Response::default();
        assert!(decide(&unknown, &asked(promise, 1_000)).is_err());
    }

    #[test]
    fn a_stall_is_forgotten_within_a_second() {
        let response = measured();
        (0..10).for_each(|_| response.note(1_000, Duration::from_secs(1)));
        let promise = 7 * MILLISECOND;
        assert!(response.at(1_000).expect("known").mean > promise);
        let mut kept = 0;
        for tick in 0..1_000 {
            let now = Duration::from_secs(2) + tick * MILLISECOND;
            if decide(&response, &Asked { now, ..asked(promise, 1_000) }).is_ok() {
                kept += 1;
                response.note(1_000, MILLISECOND);
            }
        }
        assert!(kept > 500, "{kept} of a thousand");
        let last = Asked { now: Duration::from_secs(4), ..asked(promise, 1_000) };
        assert!(decide(&response, &last).is_ok());
    }

    /// So many stay for so long.
    fn ahead(inside: usize, stay: u32) -> Ahead {
        Ahead { inside, stay: stay * MILLISECOND, factor: 1.25 }
    }

    #[test]
    fn in_a_lane_it_stays_as_long_as_those_who_met_as_many() {
        let response = Response::default();
        let asked = |ahead| Asked { ahead: Some(ahead), ..asked(500 * MILLISECOND, 1_000_000) };
        let admitted = decide(&response, &asked(ahead(100, 376))).expect("in time");
        let forecast = admitted.expect("measured");
        assert_eq!(forecast.total, 376 * MILLISECOND);
        assert!((469..=470).contains(&forecast.latest.as_millis()));
        assert!(decide(&response, &asked(ahead(110, 384))).is_err(), "one of fifty would be late");
        let newcomer = Asked { was_served: false, ..asked(ahead(100, 376)) };
        assert!(decide(&response, &newcomer).is_err());
    }

    #[test]
    fn in_a_lane_that_rests_one_is_tried_now_and_then() {
        let response = Response::default();
        response.note(1_000, MILLISECOND);
        let asked = Asked { ahead: Some(ahead(0, 900)), ..asked(500 * MILLISECOND, 1_000) };
        assert!(decide(&response, &asked).is_ok());
        assert!(decide(&response, &asked).is_err(), "at the same time");
    }
}
