//! The data directory: one server at a time, one format, one database.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::acknowledged::AcknowledgedFile;
use super::fault::{corrupted, file_error};
use super::segment::FORMAT;
use crate::env::{Directory, DirectoryLock, Environment};
use crate::types::{Error, Result, SqlState};

const LOCK: &str = "lock";
const FORMAT_FILE: &str = "format";

/// A locked data directory.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    /// Its files.
    pub directory: Arc<dyn Directory>,
    /// The database's id: files of another database are damage.
    pub database: u64,
    _lock: Box<dyn DirectoryLock>,
}

impl DataDirectory {
    /// Locks the directory and checks its format; an empty one becomes a data directory.
    pub fn open(environment: &Environment, path: &Path) -> Result<DataDirectory> {
        let shown = path.display().to_string();
        let directory = environment.files.open_directory(path).map_err(|e| {
            Error::new(SqlState::IoError, format!("could not open data directory \"{shown}\": {e}"))
        })?;
        let lock = lock(&*directory, &shown)?;
        remove_unfinished(&*directory)?;
        let database = match directory.open(FORMAT_FILE) {
            Ok(file) => {
                let bytes = file.read_all().map_err(|e| file_error("read", FORMAT_FILE, &e))?;
                parse_format(&bytes)?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                refuse_foreign_files(&*directory, &shown)?;
                initialize(&*directory, environment.randomness.next())?
            }
            Err(error) => return Err(file_error("open", FORMAT_FILE, &error)),
        };
        close_to_others(&*directory, &shown)?;
        Ok(DataDirectory { directory, database, _lock: lock })
    }
}

/// The files hold password verifiers. Only what is known to be a database of ours is closed; what belongs to somebody else is
/// refused.
fn close_to_others(directory: &dyn Directory, shown: &str) -> Result<()> {
    match directory.close_to_others() {
        Ok(false) => Ok(()),
        Ok(true) => {
            tracing::warn!(
                directory = shown,
                "the data directory was open to other users of this machine, who may have read password verifiers; it is \
                 closed now"
            );
            Ok(())
        }
        Err(error) => {
            let message = format!("data directory \"{shown}\" has invalid permissions");
            let detail =
                format!("Permissions should be u=rwx (0700), and could not be made so: {error}.");
            Err(Error::new(SqlState::IoError, message).detail(detail))
        }
    }
}

fn lock(directory: &dyn Directory, shown: &str) -> Result<Box<dyn DirectoryLock>> {
    directory.lock(LOCK).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => Error::new(
            SqlState::ObjectInUse,
            format!("data directory \"{shown}\" is in use by another server"),
        ),
        _ => file_error("lock", &format!("{shown}/{LOCK}"), &error),
    })
}

fn names(directory: &dyn Directory) -> Result<Vec<String>> {
    directory.list().map_err(|e| file_error("list", &directory.describe(), &e))
}

fn remove_unfinished(directory: &dyn Directory) -> Result<()> {
    for name in names(directory)?.iter().filter(|name| name.ends_with(".tmp")) {
        directory.remove(name).map_err(|e| file_error("remove", name, &e))?;
    }
    Ok(())
}

/// What an initialization that a crash cut short may have left, and `lost+found`, which a fresh file system has.
const OWN_OR_EMPTY: [&str; 3] = [LOCK, AcknowledgedFile::NAME, "lost+found"];

fn refuse_foreign_files(directory: &dyn Directory, shown: &str) -> Result<()> {
    match names(directory)?.iter().find(|name| !OWN_OR_EMPTY.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::new(
            SqlState::ObjectNotInState,
            format!("\"{shown}\" is no data directory and not empty: it contains \"{name}\""),
        )),
    }
}

fn initialize(directory: &dyn Directory, database: u64) -> Result<u64> {
    let text = format!("shareddb\nformat {FORMAT}\ndatabase {database:016x}\n");
    let unfinished = format!("{FORMAT_FILE}.tmp");
    // The format's name comes last: a directory that has it has all that belongs to a data directory.
    AcknowledgedFile::create(directory, database)
        .and_then(|()| directory.sync())
        .and_then(|()| directory.create(&unfinished))
        .and_then(|file| file.write_at(0, text.as_bytes()).and_then(|()| file.sync()))
        .and_then(|()| directory.rename(&unfinished, FORMAT_FILE))
        .and_then(|()| directory.sync())
        .map_err(|e| file_error("create", FORMAT_FILE, &e))?;
    Ok(database)
}

fn parse_format(bytes: &[u8]) -> Result<u64> {
    let damaged = || corrupted(FORMAT_FILE, 0, "no format version");
    let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
    let mut lines = text.lines();
    let line = |line: Option<&str>, word: &str| {
        line.and_then(|line| line.strip_prefix(word)).map(str::to_owned).ok_or_else(damaged)
    };
    line(lines.next(), "shareddb")?;
    let format: u32 = line(lines.next(), "format ")?.parse().map_err(|_| damaged())?;
    if format != FORMAT {
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("the data directory has format {format}, this server reads format {FORMAT}"),
        )
        .hint("Use the version of the server that wrote it; to move on, write its tables out with COPY there and load them here."));
    }
    u64::from_str_radix(&line(lines.next(), "database ")?, 16).map_err(|_| damaged())
}
