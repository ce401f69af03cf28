//! Bytes of the PostgreSQL protocol, version 3.
//!
//! [`frontend`] turns what a client sent into fields, [`backend`] appends what the server says to an output buffer,
//! [`fault`] writes errors and notices. Called by `connection` and `authentication`. Nothing here reads a socket,
//! allocates by a declared length, or knows a session.

pub mod backend;
pub mod fault;
pub mod frontend;

/// Bytes of a start-up packet and of every message before authentication (PostgreSQL's
/// MAX_STARTUP_PACKET_LENGTH and PQ_SMALL_MESSAGE_LIMIT).
pub const SMALL_MESSAGE_LIMIT: usize = 10_000;

/// Bytes of any other message: 1 GiB - 1, as in PostgreSQL.
pub const LARGE_MESSAGE_LIMIT: usize = 0x3fff_ffff;
