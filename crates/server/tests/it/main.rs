//! The server over real sockets: raw protocol and tokio-postgres.

mod authentication;
mod cancel;
mod copy;
mod extended;
mod faults;
mod fixture;
mod fuzz;
mod hostile;
mod leaving;
mod limits;
mod moving;
mod portals;
mod raw;
mod rights;
mod shared_rows;
mod simple;
mod startup;
mod tls;
mod types;
