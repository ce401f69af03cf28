//! Load in, measurements out.
//!
//! [`closed`]: as many connections as asked for, each with its next page at once: the most a system serves.
//! [`offered`]: browsers that think between pages, served over a pool: response time under a given load.
//! [`open`]: queries on a schedule, whoever is answered.
//! [`queries`]: clients that ask one query after the other. [`burst`]: many queries at once. [`interference`]: a light stream of
//! statements beside a heavy one, both on a schedule, latencies counted from the scheduled start. All are
//! bounded in time and connections. [`updates`]: small updates in the background of any of them. Called by `bench`.

pub mod burst;
pub mod closed;
pub mod interference;
pub mod offered;
pub mod open;
pub mod queries;
mod session;
mod tally;
pub mod updates;

pub use session::Session;
pub use tally::{Latency, Tally};
