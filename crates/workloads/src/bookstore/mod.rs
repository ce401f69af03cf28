//! The bookstore: a TPC-W-derived workload (the benchmark itself was withdrawn; no result here is a TPC result).
//!
//! Schema and population ([`schema`], [`population`]), about 35 statements ([`statements`]), 14 web
//! interactions ([`interaction`]) drawn by three mixes ([`mix`]) on behalf of emulated browsers
//! ([`browser`]). Deviations from the published specification: interactions are drawn independently by the
//! stationary shares of the transition matrices, with session state kept per browser; no web tier, no
//! images; ids come from sequences instead of COUNT(*) + 1; customers enter new addresses as the kits do.

pub mod browser;
pub mod check;
pub mod interaction;
pub mod mix;
pub mod population;
pub mod schema;
pub mod statements;
mod text;

pub use browser::Browser;
pub use interaction::Interaction;
pub use mix::{Mix, Pages};
pub use population::Scale;
pub use text::{date_text, digit_syllables, timestamp_text};
