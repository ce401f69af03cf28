//! What a statement means; also the query-at-a-time path, which is the oracle.
//!
//! SQL text comes in through a [`Session`]; out go activations and writes for the engine, or answers of the
//! query-at-a-time path. The only crate that names DataFusion. Called by `server` and by the program.

// Every statement has the futures that it goes through moved about: what is rare in them is boxed.
#![cfg_attr(not(test), warn(clippy::large_futures))]

pub mod alone;
mod analysis;
mod bounded;
pub mod catalog;
pub mod compile;
mod dialect;
mod evaluation;
pub mod explain;
pub mod notification;
mod promise;
pub mod rights;
pub mod session;
pub mod statement;
pub mod template;
pub mod text;
pub mod verification;

pub use alone::Limits;
pub use catalog::types::{from_id as type_of, id_of as type_id};
pub use session::now;
pub use session::{
    ColumnDescription, CopyIn, CopyOut, CursorUse, Database, DatabaseOptions, ImplicitTransaction,
    Outcome, Rows, Sent, Session, Statement, TransactionStatus,
};

#[cfg(test)]
#[path = "../../engine/tests/common/properties.rs"]
mod properties;
#[cfg(test)]
#[path = "../../engine/tests/common/seeds.rs"]
mod seeds;
#[cfg(test)]
#[path = "../../engine/tests/common/waiting.rs"]
mod waiting;
