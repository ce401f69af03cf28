//! Statement text in, templates out: literals lifted, planned once, found again by text.
//!
//! [`lex`] and [`TemplateCache`] find a known statement in microseconds; [`lift`] makes a new one shareable;
//! [`Planner`] has DataFusion plan it, with parameters, and hands the optimized plan to `compile`. Called by
//! `session` and `statement`. Absent here: running anything (`alone`, the engine).

pub mod lex;
mod lift;
mod names;
mod parse;

pub use lift::{LiftedLiteral, Lifted, Source, lift};
pub use names::{fold, output_name, visible_name};
pub use parse::{characters, parse};
