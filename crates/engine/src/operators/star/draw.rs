//! Random numbers that a seed repeats (SplitMix64): the seed comes from the environment.

/// The next numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Draw(u64);

impl Draw {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// All numbers below `end`, each once.
    pub fn permutation(&mut self, end: usize) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..end as u32).collect();
        for last in (1..end).rev() {
            numbers.swap(last, self.below(last + 1));
        }
        numbers
    }

    /// A number from 0 to below 1.
    #[cfg(test)]
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}
