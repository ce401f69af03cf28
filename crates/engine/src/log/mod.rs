//! Commits in, durable bytes and recovery out.
