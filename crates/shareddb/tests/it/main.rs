//! The program as a whole: killed, restarted, driven by other people's clients.

mod bench;
mod ending;
mod kill;
mod loading;
mod memory;
mod pgbench;
mod server;
