//! What is drawn, by a seed.

/// A sequence of numbers (SplitMix64, Steele, Lea and Flood 2014).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to a bound without it.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// The seeds that a test is kept with: lines of `seeds.txt` with its name.
pub fn seeds(test: &str) -> Vec<u64> {
    let lines = include_str!("seeds.txt").lines().filter(|line| !line.starts_with('#'));
    let of_test = lines.filter_map(|line| line.strip_prefix(test)?.trim().parse().ok());
    of_test.collect()
}
