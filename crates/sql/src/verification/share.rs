//! A share of all activations.

use engine::env::Randomness;

/// A share of all activations, as a threshold for 64 random bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u64);

impl Share {
    /// None.
    pub const NONE: Share = Share(0);

    /// All.
    pub const ALL: Share = Share(u64::MAX);

    /// From 0 to 1; `None` for anything else.
    pub fn new(share: f64) -> Option<Share> {
        // The largest share below 1 is still one that leaves some out.
        (0.0..=1.0).contains(&share).then_some(match share {
            1.0 => Share::ALL,
            below => Share((below * u64::MAX as f64) as u64),
        })
    }

    /// The share as a number from 0 to 1.
    pub fn part(self) -> f64 {
        self.0 as f64 / u64::MAX as f64
    }

    /// Whether one activation is of it. Asks for random bits only where that is open.
    pub fn draws(self, randomness: &dyn Randomness) -> bool {
        match self {
            Share::NONE => false,
            Share::ALL => true,
            Share(threshold) => randomness.next() < threshold,
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::env::SeededRandomness;

    use super::*;

    #[test]
    fn a_share_of_all_is_drawn_and_the_same_with_the_same_seed() {
        let drawn = |share: f64| {
            let (share, randomness) =
                (Share::new(share).expect("a share"), SeededRandomness::new(7));
            (0..10_000).filter(|_| share.draws(&randomness)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(0.0).len(), 0);
        assert_eq!(drawn(1.0).len(), 10_000);
        assert!((900..1_100).contains(&drawn(0.1).len()));
        assert_eq!(drawn(0.1), drawn(0.1));
    }

    #[test]
    fn only_numbers_from_0_to_1_are_shares() {
        assert!([-0.1, 1.1, f64::NAN].into_iter().all(|share| Share::new(share).is_none()));
        assert!((Share::new(0.25).expect("a share").part() - 0.25).abs() < 1e-9);
    }
}
