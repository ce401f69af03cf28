//! Promised response times: a statement that would not be answered in time is refused at once (53400).
//!
//! In come a statement that begins, with what its session promises ([`Asked`]), and what was learned of its kind
//! (`engine::heartbeat::promises`) and of what runs beside it; out goes a [`Forecast`], or the refusal. What came of it is noted by
//! the session, in the same place (`shareddb.promises`). Called by `session`.
//!
//! In a lane it stays as long as others did that met as many (`engine::heartbeat::Course`). Elsewhere the load says how long: the work
//! of all who are at a station, each by what it takes by itself; to a statement it is so many times its own. How long answers take at
//! which load is measured, whether or not anybody promises something. Refusing reads a few atomics, looks at what its lane is doing,
//! and asks nothing of the planner (docs/decisions/promise.md tells what others do).

mod admission;
#[cfg(test)]
mod overload;

pub use admission::{Asked, Forecast, Refusal, Shown, decide};
