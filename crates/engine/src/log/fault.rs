//! Faults of files as errors of SQL.

use std::io;

use crate::types::{Error, SqlState};

/// What a failed file operation means to the client.
pub(crate) fn file_error(action: &str, file: &str, error: &io::Error) -> Error {
    let full = error.kind() == io::ErrorKind::StorageFull
        || error.kind() == io::ErrorKind::QuotaExceeded
        || error.raw_os_error() == Some(28);
    let state = if full { SqlState::DiskFull } else { SqlState::IoError };
    Error::new(state, format!("could not {action} file \"{file}\": {error}"))
}

/// Bytes on disk are not what was written.
pub(crate) fn corrupted(file: &str, position: u64, what: &str) -> Error {
    let message = format!("{what} in file \"{file}\" at byte {position}");
    Error::new(SqlState::DataCorrupted, message)
}
