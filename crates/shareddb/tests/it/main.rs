//! The program as a whole: killed, restarted, driven by other people's clients.

mod kill;
mod pgbench;
mod server;
