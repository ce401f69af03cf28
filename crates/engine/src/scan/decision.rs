//! Probe or ride: how a batch reaches a table, and why. What EXPLAIN prints.

use std::fmt;

/// Nanoseconds that a shared scan takes per row, whoever asks.
const SHARED_ROW: f64 = 4.0;
/// Nanoseconds per row of an activation's own result inside a shared scan.
const RIDER_ROW: f64 = 10.0;
/// Nanoseconds per table row by which one more rider makes the scan's indexes slower.
const RIDER_SHARE: f64 = 0.02;

/// An activation that could do either.
#[derive(Clone, Copy, Debug)]
pub struct Undecided {
    /// Nanoseconds by index probes.
    pub probe_cost: f64,
    /// Nanoseconds by a scan of its own.
    pub scan_cost: f64,
    /// Rows that it is going to get.
    pub rows: f64,
}

/// How a batch reaches a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Activations that probe because they are point statements.
    pub points: usize,
    /// Further activations that probe because it is cheaper.
    pub probing: usize,
    /// Activations that ride the scan.
    pub riding: usize,
    /// Of those, the ones without a usable index.
    pub unindexed: usize,
    /// Nanoseconds estimated for probing all that could.
    pub probe_cost: f64,
    /// Nanoseconds estimated for the scan.
    pub scan_cost: f64,
    /// Chunks that the scan visits.
    pub chunks: usize,
    /// Chunks of the table.
    pub all_chunks: usize,
    /// The predicate indexes of the scan, in the order of their use.
    pub indexes: Vec<String>,
}

/// Which undecided activations ride, given that `unindexed` others must.
pub fn decide(undecided: &[Undecided], unindexed: usize, table_rows: f64) -> Vec<bool> {
    if unindexed > 0 {
        // The scan is paid for: riding costs little more than one's own rows.
        let rides = |one: &Undecided| one.probe_cost > riding_cost(one, table_rows);
        return undecided.iter().map(rides).collect();
    }
    let probing: f64 = undecided.iter().map(|one| one.probe_cost).sum();
    let scanning = match undecided {
        [one] => one.scan_cost,
        _ => scan_cost(undecided, table_rows),
    };
    vec![scanning < probing; undecided.len()]
}

fn riding_cost(one: &Undecided, table_rows: f64) -> f64 {
    one.rows * RIDER_ROW + table_rows * RIDER_SHARE
}

/// Nanoseconds of one shared scan for all of them.
pub fn scan_cost(riders: &[Undecided], table_rows: f64) -> f64 {
    let own: f64 = riders.iter().map(|one| riding_cost(one, table_rows)).sum();
    table_rows * SHARED_ROW + own
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if self.points > 0 {
            write!(f, "index probes ({} point statements)", self.points)?;
            separator = ", ";
        }
        if self.probing > 0 {
            write!(f, "{separator}index probes ({} activations: ", self.probing)?;
            write!(f, "{} against {} by scan)", Time(self.probe_cost), Time(self.scan_cost))?;
            separator = ", ";
        }
        if self.riding > 0 {
            let kind = if self.chunks < self.all_chunks { "pruned scan" } else { "clock scan" };
            write!(f, "{separator}{kind} ({} of {} chunks", self.chunks, self.all_chunks)?;
            write!(f, ", {} activations, {} without an index)", self.riding, self.unindexed)?;
            separator = "; ";
        }
        for index in &self.indexes {
            write!(f, "{separator}{index}")?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("nothing to read") } else { Ok(()) }
    }
}

/// Nanoseconds for people.
struct Time(f64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            nanos if !nanos.is_finite() => f.write_str("never"),
            nanos if nanos < 1e6 => write!(f, "{:.1} us", nanos / 1e3),
            nanos => write!(f, "{:.1} ms", nanos / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranges_ride_and_few_probe() {
        let one = Undecided { probe_cost: 400_000.0, scan_cost: 1_000_000.0, rows: 10_000.0 };
        assert_eq!(decide(&[one], 0, 1e6), [false]);
        assert!(decide(&[one; 200], 0, 1e6).iter().all(|rides| *rides));
        let cheap = Undecided { probe_cost: 500.0, scan_cost: 1_000_000.0, rows: 10.0 };
        assert_eq!(decide(&[cheap, one], 3, 1e6), [false, true]);
    }

    #[test]
    fn decisions_read_well() {
        let decision = Decision {
            points: 3,
            riding: 2,
            unindexed: 1,
            chunks: 4,
            all_chunks: 9,
            indexes: vec!["i_subject by dictionary table (2 activations, gain 1.9)".into()],
            ..Decision::default()
        };
        assert_eq!(
            decision.to_string(),
            "index probes (3 point statements), pruned scan (4 of 9 chunks, 2 activations, 1 without \
             an index); i_subject by dictionary table (2 activations, gain 1.9)"
        );
        assert_eq!(Decision::default().to_string(), "nothing to read");
    }
}
