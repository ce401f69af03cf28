//! Numbers that nobody can guess, or in tests everybody.

use std::fmt::Debug;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of ids.
pub trait Randomness: Debug + Send + Sync {
    /// 64 random bits.
    fn next(&self) -> u64;
}

/// Seeded by the operating system through the standard library's hash keys.
#[derive(Debug)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn next(&self) -> u64 {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
        hasher.write_u64(CALLS.fetch_add(1, Ordering::Relaxed));
        hasher.write_u32(std::process::id());
        hasher.finish()
    }
}

/// SplitMix64: the same seed gives the same numbers.
#[derive(Debug)]
pub struct SeededRandomness {
    state: AtomicU64,
}

impl SeededRandomness {
    /// Starts from a seed.
    pub fn new(seed: u64) -> SeededRandomness {
        SeededRandomness { state: AtomicU64::new(seed) }
    }
}

impl Randomness for SeededRandomness {
    fn next(&self) -> u64 {
        const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.state.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
