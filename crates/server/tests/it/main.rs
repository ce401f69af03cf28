//! The server over real sockets: raw protocol and tokio-postgres.

mod arrays;
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
mod notifications;
mod portals;
mod promises;
mod raw;
mod rights;
mod role_settings;
#[path = "../../../engine/tests/common/seeds.rs"]
mod seeds;
mod shared_rows;
mod simple;
mod startup;
mod tls;
mod types;
#[path = "../../../engine/tests/common/waiting.rs"]
mod waiting;
#[path = "../../../engine/tests/common/within.rs"]
mod within;
