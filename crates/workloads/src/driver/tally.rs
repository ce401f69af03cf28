//! What was served, how fast, and at what cost.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::bookstore::Interaction;
use crate::bookstore::interaction::Effects;

/// Response times of one kind of work.
#[derive(Clone)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Latency {
        // Microseconds from 1 to 10 minutes, three significant digits.
        Latency(Histogram::new_with_bounds(1, 600_000_000, 3).expect("constant bounds are valid"))
    }
}

impl Latency {
    /// Adds one.
    pub fn record(&mut self, time: Duration) {
        self.0.saturating_record((time.as_micros() as u64).max(1));
    }

    /// Milliseconds within which a share of all answered.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64 / 1000.0
    }

    /// Mean milliseconds, 0 when nothing was recorded.
    pub fn mean_ms(&self) -> f64 {
        self.0.mean() / 1000.0
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Latency) {
        self.0.add(&other.0).expect("equal bounds");
    }
}

/// What one run of a mix gave.
#[derive(Clone, Default)]
pub struct Tally {
    /// Interactions answered within their limit.
    pub in_time: u64,
    /// Interactions answered too late.
    pub late: u64,
    /// Interactions that failed, by message.
    pub failures: BTreeMap<String, u64>,
    /// Response times by interaction.
    pub latencies: BTreeMap<Interaction, Latency>,
    /// What they did to the data.
    pub effects: Effects,
    /// Wall-clock seconds measured.
    pub seconds: f64,
    /// Server CPU seconds spent meanwhile.
    pub server_cpu: f64,
    /// Driver CPU seconds spent meanwhile.
    pub driver_cpu: f64,
    /// Connections used.
    pub connections: usize,
    /// Connections that were lost.
    pub lost: usize,
}

impl Tally {
    /// Adds an answered interaction.
    pub fn record(&mut self, interaction: Interaction, time: Duration) {
        self.latencies.entry(interaction).or_default().record(time);
        if time.as_secs() < interaction.limit_seconds() {
            self.in_time += 1;
        } else {
            self.late += 1;
        }
    }

    /// Adds a failed interaction.
    pub fn fail(&mut self, interaction: Interaction, message: &str) {
        *self.failures.entry(format!("{interaction:?}: {message}")).or_default() += 1;
    }

    /// Adds what another connection did in the same time.
    pub fn merge(&mut self, other: Tally) {
        self.in_time += other.in_time;
        self.late += other.late;
        self.lost += other.lost;
        for (message, count) in other.failures {
            *self.failures.entry(message).or_default() += count;
        }
        for (interaction, latency) in other.latencies {
            self.latencies.entry(interaction).or_default().merge(&latency);
        }
        self.effects += other.effects;
    }

    /// Interactions within their limits per second.
    pub fn throughput(&self) -> f64 {
        self.in_time as f64 / self.seconds
    }

    /// Microseconds of server CPU per answered interaction.
    pub fn server_cpu_us(&self) -> f64 {
        self.server_cpu * 1e6 / (self.in_time + self.late).max(1) as f64
    }

    /// Microseconds of driver CPU per answered interaction.
    pub fn driver_cpu_us(&self) -> f64 {
        self.driver_cpu * 1e6 / (self.in_time + self.late).max(1) as f64
    }

    /// Failed interactions.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Response times of all interactions together.
    pub fn overall(&self) -> Latency {
        let mut all = Latency::default();
        self.latencies.values().for_each(|latency| all.merge(latency));
        all
    }
}
