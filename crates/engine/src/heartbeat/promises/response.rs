//! How long statements of one kind take at which load, as measured.
//!
//! In come times with the load at which they began; out goes what is expected at any load. Means are kept by powers of two of the
//! load, and what lies between lies on the line between its neighbours, both in logarithms. More load never means less time, nor
//! more than its share. What was measured of a load long ago, by the number of measurements at others since, says nothing while
//! others say something: what was slow bars nobody for ever, and what was fast in an idle server lets nobody into a full one.
//! Notes and readers may be many at once; a note that meets another may be lost.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What a statement adds to the load that it meets, where loads are told as multiples of that.
pub const OWN: u64 = 8;

/// Loads are powers of two: the last is of 2^31 and more.
const SIZES: usize = 32;
/// Of a new measurement in the mean.
const SHARE: f32 = 1.0 / 4.0;
/// The same in the deviation from it.
const DEVIATION_SHARE: f32 = 1.0 / 8.0;
/// The deviation of a first measurement, as a part of it.
const FIRST_DEVIATION: f32 = 1.0 / 4.0;
/// However alike times were, the next may deviate by so much of the mean on average: else what is let in up to the limit is late with
/// the first change.
const LEAST_DEVIATION: f32 = 1.0 / 10.0;
/// Where the time is known at one load only: it grows with the root of the load, halfway between work that all share and work that
/// nobody shares.
const GROWTH: f32 = 0.5;
/// What was measured at a load says little once so much was measured since at others.
const OUTDATED: u32 = 64;
/// The least mean is forgotten slowly: by so much with each measurement.
const FORGETTING: f32 = 1.002;
/// Once in so long a statement is let in that what was measured speaks against.
const TRIED_EVERY: Duration = Duration::from_millis(10);

/// What was measured of one kind of statement.
#[derive(Debug)]
pub struct Response {
    by_load: [AtomicU64; SIZES],
    /// The least mean, in microseconds, as bits; 0 before the first.
    least: AtomicU64,
    /// Measurements so far; it may begin anew.
    notes: AtomicU32,
    /// How many there were when a size was noted last.
    noted: [AtomicU32; SIZES],
    /// When [`Self::may_try`] said yes last, in nanoseconds of the engine's clock.
    tried: AtomicU64,
}

impl Default for Response {
    fn default() -> Response {
        let nothing = [const { AtomicU64::new(0) }; SIZES];
        Response {
            by_load: nothing,
            least: AtomicU64::new(0),
            notes: AtomicU32::new(0),
            noted: [const { AtomicU32::new(0) }; SIZES],
            tried: AtomicU64::new(0),
        }
    }
}

/// What is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// On average.
    pub mean: Duration,
    /// The average deviation from that.
    pub deviation: Duration,
}

impl Expected {
    /// The same with so many deviations.
    pub fn latest(self, deviations: f32) -> Duration {
        self.mean + self.deviation.mul_f32(deviations)
    }
}

/// Microseconds at the middle of a size.
#[derive(Clone, Copy, Debug)]
struct Seen {
    mean: f32,
    deviation: f32,
}

/// What was seen of a size.
type OfSize = (usize, Seen);

impl Seen {
    fn packed(self) -> u64 {
        u64::from(self.mean.to_bits()) << 32 | u64::from(self.deviation.to_bits())
    }

    fn unpacked(bits: u64) -> Option<Seen> {
        let part = |bits: u64| f32::from_bits((bits & u64::from(u32::MAX)) as u32);
        (bits != 0).then(|| Seen { mean: part(bits >> 32), deviation: part(bits) })
    }

    fn at(self, factor: f32) -> Seen {
        Seen { mean: self.mean * factor, deviation: self.deviation * factor }
    }
}

/// Where a load lies among the sizes: whole numbers are their middles.
fn place(load: u64) -> f32 {
    (load.max(1) as f32).log2() - 0.5
}

fn size(load: u64) -> usize {
    (load.max(1).ilog2() as usize).min(SIZES - 1)
}

impl Response {
    /// What is expected at a load, own work included; `None` where nothing was measured.
    pub fn at(&self, load: u64) -> Option<Expected> {
        let seen = self.seen(place(load))?;
        let duration = |micros: f32| Duration::from_secs_f32(micros / 1e6);
        let deviation = seen.deviation.max(seen.mean * LEAST_DEVIATION);
        Some(Expected { mean: duration(seen.mean), deviation: duration(deviation) })
    }

    /// Notes what one took that began at a load.
    pub fn note(&self, load: u64, took: Duration) {
        let (size, place) = (size(load), place(load));
        // As it would have been in the middle of its size.
        let to_middle = (self.growth_around(size) * (size as f32 - place)).exp2();
        let took = took.as_secs_f32() * 1e6 * to_middle;
        let new = match self.telling(size).map(|(_, seen)| seen) {
            None => Seen { mean: took, deviation: took * FIRST_DEVIATION },
            Some(old) => Seen {
                mean: old.mean + (took - old.mean) * SHARE,
                deviation: old.deviation
                    + ((took - old.mean).abs() - old.deviation) * DEVIATION_SHARE,
            },
        };
        self.by_load[size].store(new.packed(), Ordering::Relaxed);
        let notes = self.notes.fetch_add(1, Ordering::Relaxed);
        self.noted[size].store(notes, Ordering::Relaxed);
        let least = f32::from_bits(self.least.load(Ordering::Relaxed) as u32);
        let mean = new.mean / to_middle;
        let least = if least > 0.0 { mean.min(least * FORGETTING) } else { mean };
        self.least.store(u64::from(least.to_bits()), Ordering::Relaxed);
    }

    /// The least that it took on average at any load.
    pub fn least(&self) -> Option<Duration> {
        let least = f32::from_bits(self.least.load(Ordering::Relaxed) as u32);
        (least > 0.0).then(|| Duration::from_secs_f32(least / 1e6))
    }

    /// How many of its kind, answered within `promise`, can be answered in a second, by what was measured at loads in units of
    /// [`OWN`]; `None` where nothing was. Loads that are much higher than any that was met are not guessed at.
    pub fn most_per_second(&self, promise: Duration, deviations: f32) -> Option<f64> {
        let highest = (0..SIZES).rev().find(|size| self.known(*size).is_some())?;
        let loads = (2 * OWN.ilog2()..=2 * (highest as u32 + 1)).map(|half| {
            let power = 1u64 << (half / 2);
            if half % 2 == 0 { power } else { power + power / 2 }
        });
        let most = loads.filter_map(|load| {
            let expected = self.at(load)?;
            let is_kept = expected.latest(deviations) <= promise;
            is_kept.then(|| load as f64 / OWN as f64 / expected.mean.as_secs_f64().max(1e-6))
        });
        Some(most.fold(0.0, f64::max))
    }

    /// Whether one may be let in although what was measured speaks against it: else nothing new would be measured.
    pub fn may_try(&self, now: Duration) -> bool {
        let (now, before) = (now.as_nanos() as u64, self.tried.load(Ordering::Relaxed));
        let is_due = before == 0 || now.saturating_sub(before) >= TRIED_EVERY.as_nanos() as u64;
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        is_due && self.tried.compare_exchange(before, now.max(1), success, failure).is_ok()
    }

    fn known(&self, size: usize) -> Option<Seen> {
        Seen::unpacked(self.by_load[size].load(Ordering::Relaxed))
    }

    /// Whether so much was measured at other loads since that it says little of now. Where it was slow, nobody is let in who would
    /// find out that it no longer is.
    fn is_outdated(&self, size: usize) -> bool {
        let notes = self.notes.load(Ordering::Relaxed);
        notes.wrapping_sub(self.noted[size].load(Ordering::Relaxed)) > OUTDATED
    }

    /// What was measured of a size, if it says something of now. What was noted last always does.
    fn telling(&self, size: usize) -> Option<OfSize> {
        let seen = self.known(size).filter(|_| !self.is_outdated(size))?;
        Some((size, seen))
    }

    /// The next size below that says something of now.
    fn below(&self, size: usize) -> Option<OfSize> {
        (0..size).rev().find_map(|size| self.telling(size))
    }

    /// The same from a size upwards.
    fn from(&self, size: usize) -> Option<OfSize> {
        (size..SIZES).find_map(|size| self.telling(size))
    }

    fn seen(&self, place: f32) -> Option<Seen> {
        let next = (place.floor() + 1.0).clamp(0.0, SIZES as f32) as usize;
        match (self.below(next), self.from(next)) {
            // What is not slow at a higher load is not slow at a lower one, whatever it took there before.
            (Some((_, lower)), Some((_, upper))) if upper.mean < lower.mean => Some(upper),
            (Some((at, lower)), upper) => {
                let growth = upper.map_or(GROWTH, |upper| growth((at, lower), upper));
                Some(lower.at((growth * (place - at as f32)).exp2()))
            }
            (None, Some((at, upper))) => Some(upper.at((GROWTH * (place - at as f32)).exp2())),
            (None, None) => None,
        }
    }

    /// How fast the time grows around a size.
    fn growth_around(&self, size: usize) -> f32 {
        let own = self.telling(size);
        let (lower, upper) = (self.below(size), self.from(size + 1));
        match (lower.or(own), own.filter(|_| upper.is_none()).or(upper)) {
            (Some(from), Some(to)) if from.0 < to.0 => growth(from, to),
            _ => GROWTH,
        }
    }
}

/// How fast the time grows between two sizes: the power of the load.
fn growth(from: OfSize, to: OfSize) -> f32 {
    let growth = (to.1.mean / from.1.mean).log2() / (to.0 - from.0) as f32;
    if growth.is_finite() { growth.clamp(0.0, 1.0) } else { GROWTH }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn mean(response: &Response, load: u64) -> f64 {
        response.at(load).expect("known").mean.as_secs_f64() * 1e3
    }

    fn learn(response: &Response, load: u64, took: Duration) {
        (0..20).for_each(|_| response.note(load, took));
    }

    #[test]
    fn nothing_is_expected_before_something_was_measured() {
        let response = Response::default();
        assert_eq!(response.at(100), None);
        assert_eq!(response.least(), None);
        response.note(100, 3 * MILLISECOND);
        assert!((mean(&response, 100) - 3.0).abs() < 0.01);
    }

    #[test]
    fn times_lie_between_those_of_the_loads_beside() {
        let response = Response::default();
        learn(&response, 1_000, MILLISECOND);
        learn(&response, 64_000, 8 * MILLISECOND);
        assert!((mean(&response, 1_000) - 1.0).abs() < 0.1);
        assert!((mean(&response, 64_000) - 8.0).abs() < 0.8);
        // The root of the load: eight times for sixty-four.
        assert!((mean(&response, 8_000) - 2.83).abs() < 0.3, "{}", mean(&response, 8_000));
        assert!(mean(&response, 256_000) > 12.0);
        assert!(mean(&response, 10) < 0.3);
    }

    #[test]
    fn what_was_slow_long_ago_at_a_high_load_is_no_obstacle() {
        let response = Response::default();
        learn(&response, 1 << 10, MILLISECOND);
        learn(&response, 1 << 11, 1_000 * MILLISECOND);
        assert!(mean(&response, 1 << 11) < 3.0, "twice the load, twice the time");
        // What took long ago at a lower load is none either, where more load takes no time.
        learn(&response, 1 << 13, MILLISECOND);
        assert!(mean(&response, 3 << 10) < 2.0, "{}", mean(&response, 3 << 10));
        assert!(mean(&response, 1 << 14) > 0.9);
    }

    #[test]
    fn a_change_is_followed_and_the_deviation_says_how_far_times_lie_apart() {
        let response = Response::default();
        learn(&response, 500, MILLISECOND);
        learn(&response, 500, 4 * MILLISECOND);
        assert!((mean(&response, 500) - 4.0).abs() < 0.05);
        (0..100).for_each(|i| response.note(500, (3 + 2 * (i % 2)) * MILLISECOND));
        let deviation = response.at(500).expect("known").deviation.as_secs_f64() * 1e3;
        assert!((0.8..1.3).contains(&deviation), "{deviation}");
    }

    #[test]
    fn what_was_slow_is_met_again_once_enough_was_measured_elsewhere() {
        let response = Response::default();
        learn(&response, 1 << 8, MILLISECOND);
        learn(&response, 1 << 12, 1_000 * MILLISECOND);
        assert!(mean(&response, 1 << 12) > 10.0);
        (0..5).for_each(|_| learn(&response, 1 << 8, MILLISECOND));
        // As the root of the load: four times for sixteen.
        assert!((3.5..5.0).contains(&mean(&response, 1 << 12)), "{}", mean(&response, 1 << 12));
        learn(&response, 1 << 12, 2 * MILLISECOND);
        assert!((1.5..2.5).contains(&mean(&response, 1 << 12)), "{}", mean(&response, 1 << 12));
    }

    #[test]
    fn what_was_fast_in_an_idle_server_says_nothing_of_a_full_one() {
        let response = Response::default();
        learn(&response, 1 << 11, 10 * MILLISECOND);
        (0..5).for_each(|_| learn(&response, 1 << 12, 600 * MILLISECOND));
        // As the root of the load.
        assert!((400.0..450.0).contains(&mean(&response, 1 << 11)), "{}", mean(&response, 1 << 11));
        let expected = response.at(1 << 12).expect("known");
        assert!(expected.deviation >= expected.mean / 11, "times may change");
    }

    #[test]
    fn the_least_is_remembered_for_a_while() {
        let response = Response::default();
        learn(&response, 500, MILLISECOND);
        learn(&response, 500, 40 * MILLISECOND);
        let least = response.least().expect("known");
        assert!(least < 2 * MILLISECOND, "{least:?}");
    }

    #[test]
    fn one_is_tried_now_and_then() {
        let response = Response::default();
        assert!(response.may_try(MILLISECOND));
        assert!(!response.may_try(2 * MILLISECOND));
        assert!(!response.may_try(10 * MILLISECOND));
        assert!(response.may_try(11 * MILLISECOND));
    }

    #[test]
    fn any_load_and_time_is_taken() {
        let response = Response::default();
        for load in [0, 1, u64::MAX] {
            response.note(load, Duration::ZERO);
            response.note(load, Duration::from_secs(1 << 20));
            assert!(response.at(load).is_some());
        }
    }

    #[test]
    fn what_can_be_answered_in_a_second_grows_with_what_is_promised() {
        let response = Response::default();
        assert_eq!(response.most_per_second(MILLISECOND, 3.0), None);
        // One by itself takes 2 ms, sixteen at once 8: two thousand a second, beside each other.
        learn(&response, OWN, 2 * MILLISECOND);
        learn(&response, 16 * OWN, 8 * MILLISECOND);
        assert_eq!(response.most_per_second(MILLISECOND, 3.0), Some(0.0));
        let short = response.most_per_second(3 * MILLISECOND, 3.0).expect("known");
        assert!((300.0..900.0).contains(&short), "{short}");
        let long = response.most_per_second(10 * MILLISECOND, 3.0).expect("known");
        assert!((1_500.0..2_700.0).contains(&long), "{long}");
    }
}
