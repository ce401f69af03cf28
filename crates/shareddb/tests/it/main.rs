//! The program as a whole: killed, restarted, driven by other people's clients.

mod bench;
mod kill;
mod loading;
mod pgbench;
mod server;
