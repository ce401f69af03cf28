//! The SQL surface through sessions in this process: one binary, for linking DataFusion costs
//! minutes.

mod connection;
mod copy;
mod oracle;
mod protocol;
mod scripts;
