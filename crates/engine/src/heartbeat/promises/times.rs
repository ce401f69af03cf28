//! How long answers took, so that shares of them can be told.

use std::time::Duration;

/// Sizes of [`Times`]: four for each power of two microseconds, up to four minutes.
const SIZES: usize = 104;

/// How often answers took how long, to a quarter of it.
#[derive(Clone, Copy, Debug)]
pub struct Times([u32; SIZES]);

impl Default for Times {
    fn default() -> Times {
        Times([0; SIZES])
    }
}

impl Times {
    /// Adds one.
    pub fn note(&mut self, took: Duration) {
        let count = &mut self.0[size(took)];
        *count = count.saturating_add(1);
    }

    /// What a share of all took at most; `None` where there are none.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let all: u64 = self.0.iter().map(|count| u64::from(*count)).sum();
        let wanted = (all as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.0.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        found.map(upper_bound)
    }
}

fn size(took: Duration) -> usize {
    let micros = took.as_micros().max(4) as u64;
    let power = micros.ilog2();
    let quarter = (micros >> (power - 2)) & 3;
    ((power - 2) as usize * 4 + quarter as usize).min(SIZES - 1)
}

/// Where the next size begins.
fn upper_bound(size: usize) -> Duration {
    let (power, quarter) = (size / 4, size as u64 % 4);
    Duration::from_micros((quarter + 5) << power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_quarter_above() {
        let mut times = Times::default();
        assert_eq!(times.quantile(0.5), None);
        (1..=1_000).for_each(|i| times.note(Duration::from_micros(i * 100)));
        for (share, exact) in [(0.5, 50_000), (0.99, 99_000), (0.999, 99_900)] {
            let found = times.quantile(share).expect("some").as_micros() as f64;
            let exact = f64::from(exact);
            assert!(found >= exact && found <= exact * 1.26, "{share}: {found} for {exact}");
        }
        times.note(Duration::from_secs(100_000));
        assert!(times.quantile(1.0).expect("some") > Duration::from_secs(60));
    }
}
