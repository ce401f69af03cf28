//! PostgreSQL's regular expressions: in comes a pattern with options, out comes `Regexp`, which finds the leftmost match of a text with
//! its groups. The kernels of `~`, `regexp_match`, `substring`, `SIMILAR TO` and their kin call it.
//!
//! Chapter 9.7.3 of PostgreSQL's documentation is followed: whether the whole prefers its longest or its shortest match, and then each of
//! its parts within what the whole took, from left to right. A pattern is parsed (`parse`) into parts that must be told apart
//! (`tree`) over expressions (`expression`); each part's expression becomes an automaton (`automaton`), which says where a match
//! may end (`run`), and `dissect` cuts a match into its groups. What an automaton cannot know, back references, is tried there.
//!
//! Bounds: groups nest `MOST_DEPTH` deep, automata have `MOST_STATES` states, and a search visits `MOST_STEPS` of them.

mod automaton;
mod bracket;
mod class;
mod dissect;
mod escape;
mod expression;
mod fault;
mod find;
mod flags;
mod kernels;
mod lexer;
mod look;
mod matches;
mod memory;
mod parse;
mod replace;
mod run;
mod set;
mod similar;
mod substring;
mod token;
mod tree;

pub use find::{Match, Regexp, Search};
pub use flags::Flags;
pub(crate) use kernels::KERNELS;
pub use matches::{all, first, split};
pub use similar::similar_escape;

/// How deep groups nest at most.
const MOST_DEPTH: usize = 200;
/// States of a pattern's automata at most, all together.
const MOST_STATES: usize = 400_000;
/// States that one search visits at most.
const MOST_STEPS: u64 = 1 << 30;
/// Steps of a search, some nanoseconds each, before it asks whether it may go on.
const STEPS_BETWEEN_CHECKS: u64 = 1 << 16;
