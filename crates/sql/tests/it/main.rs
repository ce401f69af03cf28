//! The SQL surface through sessions in this process: one binary, for linking DataFusion costs
//! minutes.

mod advisory;
#[path = "../../../engine/tests/it/choices.rs"]
mod choices;
mod connection;
mod copy;
mod correlated;
mod crash;
mod definitions;
mod equal_sub_plans;
mod estimates;
mod explain_json;
mod guards;
mod heartbeat;
mod isolation;
mod join_orders;
mod locks;
mod locks_below;
mod memory;
mod nested;
mod notifications;
mod oracle;
mod own_reads;
mod paths;
mod pipelining;
mod protocol;
mod random_batches;
mod scripts;
#[path = "../../../engine/tests/common/seeds.rs"]
mod seeds;
#[path = "../../../engine/tests/common/skipping.rs"]
mod skipping;
mod table_locks;
mod verification;
#[path = "../../../engine/tests/common/waiting.rs"]
mod waiting;
#[path = "../../../engine/tests/common/within.rs"]
mod within;
