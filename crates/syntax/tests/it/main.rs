//! The crate from its door: texts in, trees and errors out.

mod bounds;
mod corpus;
mod errors;
mod folder;
mod golden;
mod postgres;
mod random;
#[path = "../../../engine/tests/common/seeds.rs"]
mod seeds;
#[path = "../../../engine/tests/common/skipping.rs"]
mod skipping;
mod statements;
