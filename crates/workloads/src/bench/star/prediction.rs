//! What the server predicts of a batch, against what was measured: how many times as long its queries would take one by
//! one. Below one, running alone is the better choice: there the turning point lies.

use serde_json::{Value, json};

use crate::client::{Client, Prepared, Result};
use crate::peers::System;
use crate::report::Table;

/// Heartbeats after a certain one: the predictions of sharing and of running alone, in microseconds.
const PREDICTED: &str = "SELECT coalesce(sum(predicted_us), 0), coalesce(sum(alone_us), 0) \
     FROM shareddb.heartbeats WHERE heartbeat > $1";
const LAST: &str = "SELECT coalesce(max(heartbeat), -1) FROM shareddb.heartbeats";

/// Follows the predictions of a server.
pub struct Watch {
    client: Box<dyn Client>,
    predicted: Prepared,
    last: Prepared,
    /// Of sharing and of running alone, in microseconds.
    sums: (f64, f64),
}

impl Watch {
    /// Of nothing yet.
    pub fn new(system: &dyn System) -> Result<Watch> {
        let mut client = system.connect()?;
        let last = client.prepare(LAST)?;
        let predicted = client.prepare(PREDICTED)?;
        Ok(Watch { client, predicted, last, sums: (0.0, 0.0) })
    }

    /// Adds the heartbeats of what is asked meanwhile.
    pub fn during<T>(&mut self, ask: impl FnOnce() -> Result<T>) -> Result<T> {
        let last = self.client.execute(self.last, &[])?.integer(0, 0);
        let answer = ask()?;
        let sums = self.client.execute(self.predicted, &[last.into()])?;
        self.sums.0 += sums.float(0, 0);
        self.sums.1 += sums.float(0, 1);
        Ok(answer)
    }

    /// How many times as long the queries of those heartbeats were predicted to take one by one; `None` where there was
    /// none.
    pub fn gain(&self) -> Option<f64> {
        let (shared, alone) = self.sums;
        (shared > 0.0).then(|| alone / shared)
    }
}

/// Predicted and measured gain of sharing in one cell.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// By the server.
    pub predicted: f64,
    /// Never sharing over always sharing.
    pub measured: f64,
}

/// Gains that are no turn of the choice's worth: noise decides which side they fall on.
const EVEN: f64 = 1.1;

impl Gain {
    fn error(&self) -> f64 {
        self.predicted / self.measured
    }

    /// Whether the prediction says what was better, or it made no difference.
    fn is_right(&self) -> bool {
        let is_even = (1.0 / EVEN..=EVEN).contains(&self.measured);
        is_even || (self.predicted > 1.0) == (self.measured > 1.0)
    }
}

/// The predictions of a whole grid.
pub struct Predictions(Vec<Gain>);

impl Predictions {
    /// Of its cells.
    pub fn new(gains: impl Iterator<Item = Gain>) -> Predictions {
        Predictions(gains.collect())
    }

    fn right(&self) -> usize {
        self.0.iter().filter(|gain| gain.is_right()).count()
    }

    /// Predicted over measured gain: the least, a tenth, the median, nine tenths, the most.
    fn errors(&self) -> Vec<f64> {
        let mut errors: Vec<f64> = self.0.iter().map(Gain::error).collect();
        errors.sort_by(f64::total_cmp);
        let last = errors.len().saturating_sub(1);
        [0, 1, 5, 9, 10].iter().filter_map(|tenth| errors.get(last * tenth / 10).copied()).collect()
    }

    /// How good they were.
    pub fn print(&self) {
        let mut table = Table::new(&["gain of sharing", "least", "10 %", "median", "90 %", "most"]);
        let errors = self.errors().into_iter().map(|error| format!("{error:.2}"));
        table.row(std::iter::once("predicted over measured".to_owned()).chain(errors));
        println!("\n{table}");
        println!("the better choice was predicted in {} of {} cells", self.right(), self.0.len());
    }

    /// For the record.
    pub fn json(&self) -> Value {
        json!({"right": self.right(), "cells": self.0.len(), "predicted_over_measured": self.errors()})
    }
}

#[cfg(test)]
mod tests {
    use super::{Gain, Predictions};

    #[test]
    fn a_prediction_on_the_wrong_side_counts_where_it_matters() {
        let pairs = [(4.0, 3.0), (0.9, 3.0), (2.0, 0.5), (0.8, 1.05)];
        let gain = |(predicted, measured)| Gain { predicted, measured };
        let predictions = Predictions::new(pairs.into_iter().map(gain));
        assert_eq!(predictions.right(), 2);
        assert_eq!(predictions.errors().len(), 5);
        assert_eq!(Predictions::new(std::iter::empty()).errors(), [0.0; 0]);
    }
}
