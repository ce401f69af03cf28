//! Who is connected, what they may do, how answers travel.
//!
//! PostgreSQL's protocol comes in over TCP, encrypted where the client asks and a certificate was given; each connection talks to a session of `sql` and its answers are encoded
//! from the engine's shared tuples straight into the output buffer. Called by the program. The only crate that names
//! pgwire. Absent here: what statements mean, and anything that outlives a connection except passwords, which the
//! engine keeps.

// Every statement has the futures that it goes through moved about: what is rare in them is boxed.
#![cfg_attr(not(test), warn(clippy::large_futures))]

mod authentication;
mod clients;
mod connection;
mod door;
mod listener;
mod message;
mod tls;
mod turns;
mod value;

pub use authentication::{HostRules, password_verifier};
pub use listener::{Pressure, Server, ServerOptions};
pub use tls::TlsFiles;

/// The only database.
pub const DATABASE: &str = "shareddb";

/// The role that always exists.
pub const USER: &str = "shareddb";
