//! How many rows each table has.

/// The scale factor: 1 is about 6 million rows in the fact table. Fractions are allowed.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Scale {
    /// The scale factor.
    pub factor: f64,
}

impl Scale {
    /// 30,000 × SF.
    pub fn customers(self) -> u64 {
        self.times(30_000.0)
    }

    /// 2,000 × SF.
    pub fn suppliers(self) -> u64 {
        self.times(2_000.0)
    }

    /// 200,000 × (1 + log2 SF), the logarithm rounded down; below SF 1 proportional to it.
    pub fn parts(self) -> u64 {
        if self.factor < 1.0 {
            return self.times(200_000.0);
        }
        200_000 * (1 + self.factor.log2().floor() as u64)
    }

    /// 1,500,000 × SF, of four lines on average.
    pub fn orders(self) -> u64 {
        self.times(1_500_000.0)
    }

    fn times(self, count: f64) -> u64 {
        ((count * self.factor).round() as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn cardinalities() {
        let at = |factor| Scale { factor };
        let parts = [0.01, 0.5, 1.0, 2.0, 4.0, 10.0, 30.0].map(|factor| at(factor).parts());
        assert_eq!(parts, [2_000, 100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000]);
        assert_eq!(at(10.0).customers(), 300_000);
        assert_eq!(at(10.0).suppliers(), 20_000);
        assert_eq!(at(10.0).orders(), 15_000_000);
    }
}
