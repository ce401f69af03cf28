//! One way to say how long who comes stays, and how far it is to be trusted: both are learned from what became of those who came.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Answers that are late where a batch ends raise it by so much, ...
const RAISE: f32 = 0.05;
/// ... where they are a fifth or more of those that might be; ...
const MANY: f32 = 0.2;
/// ... so few do not, ...
const FEW: f32 = 0.02;
/// ... but lower it by so much.
const LOWER: f32 = 0.005;
/// Neither less nor more.
const RANGE: (f32, f32) = (0.8, 2.5);

/// Whoever is expected later than in this share of its promise has little to spare.
const TIGHT: f64 = 0.7;
/// Of one answer in how far the law is off.
const SHARE: f32 = 1.0 / 64.0;
/// What is this far off, in logarithms, is wholly wrong.
const FARTHEST: f32 = 2.0;

/// How long others stayed, and what almost all take at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedStay {
    /// On average.
    pub stay: Duration,
    /// What almost all take at most, as a multiple of that.
    pub factor: f32,
}

/// What became of one that was let in, by the promise.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// What was left of its promise when it came.
    pub room: Duration,
    /// How long it stayed.
    pub took: Duration,
    /// It was late, or nearly so.
    pub is_late: bool,
}

/// What was learned of a law.
#[derive(Debug)]
pub struct Law {
    /// Answers of those who were let in with little to spare since a batch ended, ...
    tight: AtomicU32,
    /// ... and how many of them were late.
    late: AtomicU32,
    /// What almost all take at most, as a multiple of what is expected, as bits.
    factor: AtomicU32,
    /// How far it is off on average, in logarithms, as bits.
    error: AtomicU32,
}

impl ExpectedStay {
    /// What almost all take at most.
    pub fn latest(&self) -> Duration {
        self.stay.mul_f32(self.factor)
    }

    /// Whether one with so much left of its promise has little to spare.
    fn is_tight(&self, room: Duration) -> bool {
        self.latest() > room.mul_f64(TIGHT)
    }
}

impl Law {
    /// Before anything is known an answer may take so many times as long as expected.
    pub fn new(factor: f32) -> Law {
        let [tight, late, error] = [0.0_f32; 3].map(|zero| AtomicU32::new(zero.to_bits()));
        Law { tight, late, factor: AtomicU32::new(factor.to_bits()), error }
    }

    /// Of one that is expected to stay for so long.
    pub fn expect(&self, stay: Duration) -> ExpectedStay {
        ExpectedStay { stay, factor: f32::from_bits(self.factor.load(Ordering::Relaxed)) }
    }

    /// How far it is off on average, in logarithms.
    pub fn error(&self) -> f32 {
        f32::from_bits(self.error.load(Ordering::Relaxed))
    }

    /// What became of one. Those with much to spare say nothing: how long they stay is not what answers take under load.
    pub fn note(&self, expected: &ExpectedStay, answered: &Answered) {
        if !expected.is_tight(answered.room) {
            return;
        }
        self.tight.fetch_add(1, Ordering::Relaxed);
        self.late.fetch_add(u32::from(answered.is_late), Ordering::Relaxed);
        let ratio = answered.took.as_secs_f32() / expected.stay.as_secs_f32().max(1e-6);
        let off = ratio.max(1e-6).ln().abs().min(FARTHEST);
        // Two that come at the same time may count as one.
        let error = self.error() + (off - self.error()) * SHARE;
        self.error.store(error.to_bits(), Ordering::Relaxed);
    }

    /// A batch has ended: follows what became of those who were let in with little to spare, up fast, down slowly, once for each
    /// batch, since those of one are late together.
    pub fn adjust(&self) {
        let tight = self.tight.swap(0, Ordering::Relaxed);
        let late = self.late.swap(0, Ordering::Relaxed);
        if tight == 0 {
            return;
        }
        let share = late as f32 / tight as f32;
        let step = if share > FEW { RAISE * (share / MANY).min(1.0) } else { -LOWER };
        let factor = f32::from_bits(self.factor.load(Ordering::Relaxed));
        self.factor.store((factor + step).clamp(RANGE.0, RANGE.1).to_bits(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: f32 = 1.5;
    const MILLISECOND: Duration = Duration::from_millis(1);
    const ROOM: Duration = Duration::from_millis(100);

    fn answered(took: u32) -> Answered {
        let took = took * MILLISECOND;
        Answered { room: ROOM, took, is_late: took > ROOM }
    }

    #[test]
    fn who_is_late_makes_room_and_who_is_not_takes_some_back() {
        let law = Law::new(FIRST);
        let expected = law.expect(80 * MILLISECOND);
        let factor_after = |late: usize| {
            (0..50).for_each(|i| law.note(&expected, &answered(if i < late { 120 } else { 80 })));
            law.adjust();
            law.expect(MILLISECOND).factor
        };
        assert!(factor_after(0) < FIRST);
        assert!(factor_after(1) < FIRST, "one of fifty may be");
        assert!(factor_after(5) > FIRST);
        assert!((0..100).all(|_| factor_after(0) < FIRST + RAISE));
        let before = law.expect(MILLISECOND);
        law.note(&law.expect(10 * MILLISECOND), &answered(120));
        law.adjust();
        assert_eq!(law.expect(MILLISECOND), before, "it had much to spare");
    }

    #[test]
    fn how_far_it_is_off_is_learned() {
        let [near, far] = [(); 2].map(|()| Law::new(FIRST));
        for i in 0..200 {
            near.note(&near.expect(80 * MILLISECOND), &answered(75 + i % 10));
            far.note(&far.expect(80 * MILLISECOND), &answered(if i % 2 == 0 { 40 } else { 160 }));
        }
        assert!(near.error() < 0.1 && far.error() > 0.6, "{} {}", near.error(), far.error());
    }
}
