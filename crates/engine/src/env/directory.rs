//! Directories and files, as far as a log and checkpoints need them.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Opens directories.
pub trait Files: Debug + Send + Sync {
    /// Opens a directory, creating it (and its parents) if there is none.
    fn open_directory(&self, path: &Path) -> io::Result<Arc<dyn Directory>>;
}

/// One flat directory. Names have no separators.
///
/// A created, renamed or removed name is durable only after [`Directory::sync`]; bytes of a file only after
/// [`File::sync`]. After a sync has failed nothing is known about what it covered, and trying again would not
/// tell: the kernel may have dropped the pages. Callers stop instead.
pub trait Directory: Debug + Send + Sync {
    /// Creates an empty file; an existing one of that name is emptied.
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>>;
    /// Opens a file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Arc<dyn File>>;
    /// The names of all files, sorted.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Gives a file another name, replacing what has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes all names durable.
    fn sync(&self) -> io::Result<()>;
    /// Takes the lock file of that name for as long as the result lives; `WouldBlock` while another process
    /// has it.
    fn lock(&self, name: &str) -> io::Result<Box<dyn DirectoryLock>>;
    /// Takes the directory and all files in it away from everybody but their owner; whether others could get at any.
    /// What is created from then on is closed from the start.
    fn close_to_others(&self) -> io::Result<bool>;
    /// Where this is, for messages.
    fn describe(&self) -> String;
}

/// Releases its lock when dropped.
pub trait DirectoryLock: Debug + Send + Sync {}

/// One file. Writes say where, so that a failed one can be written again at the same place.
pub trait File: Debug + Send + Sync {
    /// Writes all bytes or fails; after a failure any part of them may be there.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Fills `bytes` from `offset`, or fails with `UnexpectedEof`.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Bytes in the file.
    fn len(&self) -> io::Result<u64>;
    /// Makes sure that `length` bytes have their place on disk: later writes there do not fail for lack of space.
    /// New bytes read as zero.
    fn allocate(&self, length: u64) -> io::Result<()>;
    /// Makes all bytes durable.
    fn sync(&self) -> io::Result<()>;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The whole file.
    fn read_all(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.len()? as usize];
        self.read_at(0, &mut bytes)?;
        Ok(bytes)
    }
}
