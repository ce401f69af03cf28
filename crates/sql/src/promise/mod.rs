//! Promised response times: a statement that would not be answered in time is refused at once (53400).
//!
//! In come a statement that begins, with what its session promises ([`Asked`]), and what was learned of its kind
//! (`engine::heartbeat::promises`) and of what runs beside it; out goes a [`Forecast`], or the refusal. What came of it is noted by
//! the session, in the same place (`shareddb.promises`). Called by `session`.
//!
//! The load of a station is the work of all who are inside, each by what it takes by itself; to a statement it is so many times
//! its own. How long answers take at which load is measured, whether or not anybody promises something: it holds whatever the
//! batches, parts, rings and workers make of that load, and needs no model of them. Refusing reads a few atomics, and nothing of
//! lanes and planner (docs/decisions/promise.md tells what others do).

mod admission;
#[cfg(test)]
mod overload;

pub use admission::{Asked, Forecast, Refusal, Shown, decide};
