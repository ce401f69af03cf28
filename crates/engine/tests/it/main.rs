//! The engine from its door: templates in, answers out.

mod boarding;
mod bookstore;
mod choices;
mod clock;
mod golden;
mod heartbeat;
mod hook;
mod hosts;
mod imports;
mod parts;
mod paths;
mod plans;
mod random_batches;
mod reference;
mod repeatable;
#[path = "../common/seeds.rs"]
mod seeds;
mod star;
mod star_schema;
#[path = "../common/waiting.rs"]
mod waiting;
