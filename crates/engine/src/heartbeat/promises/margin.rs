//! How far above the mean times are expected to lie.
//!
//! In comes whether an answer took longer than 99 of 100 were expected to; out go average deviations above the mean within which 99 of
//! 100 are. How times are distributed is not known: those of batches lie evenly between one pass and two, others have tails, and what
//! comes behind a statement belongs to what it takes. Learned of all statements that compete with each other, since one by one too few
//! are answered in a second to follow a change.

use std::sync::atomic::{AtomicU32, Ordering};

/// Before anything is known.
const FIRST: f32 = 3.0;
/// One that took longer raises it by so much, 99 that did not take that back.
const STEP: f32 = 0.1;
/// Neither less nor more.
const RANGE: (f32, f32) = (1.0, 8.0);

/// Deviations above the mean. Notes and readers may be many at once; a note that meets another may be lost.
#[derive(Debug)]
pub struct Margin(AtomicU32);

impl Default for Margin {
    fn default() -> Margin {
        Margin(AtomicU32::new(FIRST.to_bits()))
    }
}

impl Margin {
    /// So many average deviations above the mean.
    pub fn deviations(&self) -> f32 {
        f32::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Notes whether one took longer.
    pub fn note(&self, is_exceeded: bool) {
        let step = if is_exceeded { STEP } else { -STEP / 99.0 };
        let deviations = (self.deviations() + step).clamp(RANGE.0, RANGE.1);
        self.0.store(deviations.to_bits(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_is_above() {
        let margin = Margin::default();
        // Evenly from 0 to 4 deviations above the mean.
        for i in 0..100_000u32 {
            let took = (i * 37 % 1_000) as f32 / 250.0;
            margin.note(took > margin.deviations());
        }
        let learned = margin.deviations();
        assert!((3.8..4.1).contains(&learned), "{learned}");
    }

    #[test]
    fn it_keeps_within_its_range() {
        let margin = Margin::default();
        (0..1_000).for_each(|_| margin.note(true));
        assert!(margin.deviations() <= 8.0);
        (0..100_000).for_each(|_| margin.note(false));
        assert!(margin.deviations() >= 1.0);
    }
}
