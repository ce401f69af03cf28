//! The program as a whole: killed, restarted, driven by other people's clients.

mod bench;
mod ending;
mod folders;
mod kill;
mod loading;
mod memory;
mod pgbench;
mod role_settings;
#[path = "../../../engine/tests/common/seeds.rs"]
mod seeds;
mod server;
mod turns;
#[path = "../../../engine/tests/common/waiting.rs"]
mod waiting;
