//! Files of the operating system.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Directory, DirectoryLock, File, Files};

/// What is stored is its owner's alone, password verifiers among it.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// The operating system's directories.
#[derive(Debug)]
pub struct SystemFiles;

impl Files for SystemFiles {
    fn open_directory(&self, path: &Path) -> io::Result<Arc<dyn Directory>> {
        fs::DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)?;
        let handle = fs::File::open(path)?;
        Ok(Arc::new(SystemDirectory { path: path.into(), handle }))
    }
}

#[derive(Debug)]
struct SystemDirectory {
    path: PathBuf,
    handle: fs::File,
}

#[derive(Debug)]
struct SystemFile(fs::File);

#[derive(Debug)]
struct SystemLock(#[expect(dead_code, reason = "closing it releases the lock")] fs::File);

impl DirectoryLock for SystemLock {}

impl SystemDirectory {
    fn options(&self) -> fs::OpenOptions {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).mode(FILE_MODE);
        options
    }
}

/// Gives a file this mode if others than its owner may do anything with it.
fn close(path: &Path, mode: u32) -> io::Result<bool> {
    let is_open = fs::metadata(path)?.permissions().mode() & 0o077 != 0;
    if is_open {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(is_open)
}

impl Directory for SystemDirectory {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = self.options().create(true).truncate(true).open(self.path.join(name))?;
        Ok(Arc::new(SystemFile(file)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(SystemFile(self.options().open(self.path.join(name))?)))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn DirectoryLock>> {
        let file = self.options().create(true).truncate(false).open(self.path.join(name))?;
        file.try_lock()?;
        Ok(Box::new(SystemLock(file)))
    }

    fn close_to_others(&self) -> io::Result<bool> {
        let mut was_open = close(&self.path, DIRECTORY_MODE)?;
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                was_open |= close(&entry.path(), FILE_MODE)?;
            }
        }
        Ok(was_open)
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
    }
}

impl File for SystemFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    /// Zeros are written rather than only reserved: a write into a reserved but unwritten extent changes the
    /// file system's metadata, and every sync would pay for its journal.
    fn allocate(&self, length: u64) -> io::Result<()> {
        let zeros = vec![0; 1 << 20];
        let mut at = self.len()?;
        while at < length {
            let piece = zeros.len().min((length - at) as usize);
            self.0.write_all_at(&zeros[..piece], at)?;
            at += piece as u64;
            // Piece by piece, so that a commit's sync never waits for all of it.
            if at.is_multiple_of(4 << 20) {
                self.0.sync_data()?;
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn what_is_created_is_its_owners_alone() {
        let place = std::env::temp_dir().join(format!("shareddb-modes-{}", std::process::id()));
        let directory = SystemFiles.open_directory(&place).expect("created");
        directory.create("a").expect("created");
        let _lock = directory.lock("lock").expect("locked");
        assert_eq!(mode(&place), 0o700);
        assert_eq!((mode(&place.join("a")), mode(&place.join("lock"))), (0o600, 0o600));
        assert!(!directory.close_to_others().expect("nothing to do"));
        for (name, mode) in [("", 0o755), ("a", 0o644)] {
            fs::set_permissions(place.join(name), fs::Permissions::from_mode(mode)).expect("owned");
        }
        assert!(directory.close_to_others().expect("closed"));
        assert_eq!((mode(&place), mode(&place.join("a"))), (0o700, 0o600));
        fs::remove_dir_all(&place).expect("removed");
    }
}
