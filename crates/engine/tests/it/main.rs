//! The engine from its door: templates in, answers out.

mod bookstore;
mod heartbeat;
