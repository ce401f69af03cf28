//! The engine from its door: templates in, answers out.

mod boarding;
mod bookstore;
mod golden;
mod heartbeat;
mod hook;
mod hosts;
mod imports;
mod parts;
mod paths;
mod plans;
mod reference;
mod shared_equals_alone;
mod star;
mod star_schema;
