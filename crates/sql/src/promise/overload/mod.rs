//! What comes of more statements than can be answered, on a simulated clock: by the law for lanes, and by the one for all else.

mod by_load;
mod in_lane;

/// What came of the statements of a second.
#[derive(Debug, Default)]
struct Tally {
    kept: f64,
    late: f64,
    refused: f64,
}

impl Tally {
    /// Of one of so many seconds.
    fn each(self, seconds: u32) -> Tally {
        let seconds = f64::from(seconds);
        let Tally { kept, late, refused } = self;
        Tally { kept: kept / seconds, late: late / seconds, refused: refused / seconds }
    }
}

/// The same numbers each time.
struct Random(u64);

impl Random {
    fn new() -> Random {
        Random(1)
    }

    /// Evenly from 0 to 1.
    fn draw(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}
