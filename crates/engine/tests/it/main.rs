//! The engine from its door: templates in, answers out.

mod boarding;
mod bookstore;
mod choices;
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
mod star;
mod star_schema;
