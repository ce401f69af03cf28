//! What is stored, and how many statements run as one.
//!
//! The rooms, in the order in which data walks through them; imports go one way only, from a later
//! room to an earlier one (`tests/it/imports.rs` holds the table). No SQL text, no wire, no DataFusion:
//! expressions that the engine cannot evaluate itself cross the border as [`types::Expression`].

pub mod env;
pub mod heartbeat;
pub mod log;
pub mod operators;
pub mod plan;
pub mod query_set;
pub mod scan;
pub mod storage;
pub mod system;
pub mod transaction;
pub mod types;

#[cfg(test)]
#[path = "../tests/common/properties.rs"]
mod properties;
#[cfg(test)]
#[path = "../tests/common/seeds.rs"]
mod seeds;
#[cfg(test)]
#[path = "../tests/common/waiting.rs"]
mod waiting;
