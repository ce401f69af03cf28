//! A directory in memory that crashes on request.
//!
//! Every file keeps what is durable and the writes since its last sync; the directory does the same for names.
//! A crash keeps any subset of the pending writes, each torn at 512-byte sectors, and a prefix of the pending
//! changes of names (file systems journal those in order).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::{Directory, DirectoryLock, File, Files, Randomness};

const SECTOR: usize = 512;

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// EIO; a write leaves nothing, a sync leaves its writes pending.
    InputOutput,
    /// ENOSPC; syncs, reads, removals and writes into what a file has already are spared.
    NoSpace,
    /// ENOSPC after half of a write's bytes.
    ShortWrite,
}

/// Which operation fails.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The number of the first failing operation, counted from 0.
    pub operation: u64,
    /// How.
    pub kind: FaultKind,
    /// Whether all later operations fail too.
    pub forever: bool,
}

/// The directory at one moment, with what was durable and what was pending.
#[derive(Clone, Debug, Default)]
pub struct Image {
    files: BTreeMap<u64, FileImage>,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    pending_names: Vec<NameChange>,
    next_file: u64,
}

#[derive(Clone, Debug, Default)]
struct FileImage {
    durable: Arc<Vec<u8>>,
    current: Arc<Vec<u8>>,
    pending: Vec<(u64, Arc<[u8]>)>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Add(String, u64),
    Rename(String, String),
    Remove(String),
}

#[derive(Debug, Default)]
struct State {
    image: Image,
    operations: u64,
    fault: Option<Fault>,
    history: Option<Vec<Image>>,
    locks: Vec<(String, Weak<()>)>,
}

/// A directory in memory.
#[derive(Debug)]
pub struct SimulatedDirectory {
    state: Mutex<State>,
    this: Weak<SimulatedDirectory>,
}

#[derive(Debug)]
struct SimulatedFile {
    directory: Arc<SimulatedDirectory>,
    id: u64,
}

#[derive(Debug)]
struct SimulatedLock(#[expect(dead_code, reason = "its end releases the lock")] Arc<()>);

impl DirectoryLock for SimulatedLock {}

fn apply_name(names: &mut BTreeMap<String, u64>, change: &NameChange) {
    match change {
        NameChange::Add(name, id) => drop(names.insert(name.clone(), *id)),
        NameChange::Rename(from, to) => {
            if let Some(id) = names.remove(from) {
                names.insert(to.clone(), id);
            }
        }
        NameChange::Remove(name) => drop(names.remove(name)),
    }
}

fn write_into(target: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let end = offset as usize + bytes.len();
    if target.len() < end {
        target.resize(end, 0);
    }
    target[offset as usize..end].copy_from_slice(bytes);
}

impl Image {
    /// What a crash at this moment may leave on disk.
    pub fn crash(&self, randomness: &dyn Randomness) -> Image {
        let mut names = self.durable_names.clone();
        let kept = randomness.next() as usize % (self.pending_names.len() + 1);
        self.pending_names[..kept].iter().for_each(|change| apply_name(&mut names, change));
        let files = self.files.iter().map(|(id, file)| (*id, file.crash(randomness))).collect();
        let next_file = self.next_file;
        Image { files, durable_names: names.clone(), names, pending_names: Vec::new(), next_file }
    }

    /// The bytes of a file.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.names.get(name).map(|id| &**self.files[id].current)
    }

    /// The names of all files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Replaces the bytes of a file, durably: damage on disk.
    pub fn replace(&mut self, name: &str, bytes: Vec<u8>) {
        let id = self.names[name];
        let bytes = Arc::new(bytes);
        let image = FileImage { durable: bytes.clone(), current: bytes, pending: Vec::new() };
        self.files.insert(id, image);
    }
}

impl FileImage {
    fn crash(&self, randomness: &dyn Randomness) -> FileImage {
        let mut bytes = (*self.durable).clone();
        for (offset, write) in &self.pending {
            keep_some_sectors(&mut bytes, *offset, write, randomness);
        }
        let bytes = Arc::new(bytes);
        FileImage { durable: bytes.clone(), current: bytes, pending: Vec::new() }
    }
}

fn keep_some_sectors(bytes: &mut Vec<u8>, offset: u64, write: &[u8], randomness: &dyn Randomness) {
    let fate = randomness.next() % 4;
    let mut at = 0;
    while at < write.len() {
        let sector_end = SECTOR - (offset as usize + at) % SECTOR;
        let end = write.len().min(at + sector_end);
        let kept = match fate {
            0 => false,
            1 => true,
            _ => randomness.next().is_multiple_of(2),
        };
        if kept {
            write_into(bytes, offset + at as u64, &write[at..end]);
        }
        at = end;
    }
}

impl SimulatedDirectory {
    /// An empty directory.
    pub fn new() -> Arc<SimulatedDirectory> {
        SimulatedDirectory::from_image(Image::default())
    }

    /// A directory as an image shows it.
    pub fn from_image(image: Image) -> Arc<SimulatedDirectory> {
        let state = Mutex::new(State { image, ..State::default() });
        Arc::new_cyclic(|this| SimulatedDirectory { state, this: this.clone() })
    }

    /// The directory now.
    pub fn image(&self) -> Image {
        self.state.lock().image.clone()
    }

    /// Takes an image after every operation from now on.
    pub fn record(&self) {
        self.state.lock().history = Some(Vec::new());
    }

    /// The images taken so far; stops taking them.
    pub fn take_history(&self) -> Vec<Image> {
        self.state.lock().history.take().unwrap_or_default()
    }

    /// Images taken so far.
    pub fn recorded(&self) -> usize {
        self.state.lock().history.as_ref().map_or(0, Vec::len)
    }

    /// Operations done so far.
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// Sets or clears what fails.
    pub fn set_fault(&self, fault: Option<Fault>) {
        self.state.lock().fault = fault;
    }

    /// Runs one operation that changes something. `short` does what a short write leaves.
    fn operate<T>(
        &self,
        spared_by_full_disk: bool,
        short: impl FnOnce(&mut Image),
        run: impl FnOnce(&mut Image) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.state.lock();
        let number = state.operations;
        state.operations += 1;
        let fault = state.fault.filter(|fault| fault.hits(number, spared_by_full_disk));
        let result = match fault.map(|fault| fault.kind) {
            None => run(&mut state.image),
            Some(FaultKind::InputOutput) => Err(io::Error::from_raw_os_error(5)),
            Some(FaultKind::NoSpace) => Err(io::Error::from_raw_os_error(28)),
            Some(FaultKind::ShortWrite) => {
                short(&mut state.image);
                Err(io::Error::from_raw_os_error(28))
            }
        };
        let state = &mut *state;
        if let Some(history) = &mut state.history {
            history.push(state.image.clone());
        }
        result
    }

    fn change_name(&self, spared: bool, change: NameChange) -> io::Result<()> {
        self.operate(
            spared,
            |_| {},
            |image| {
                if let NameChange::Rename(name, _) | NameChange::Remove(name) = &change
                    && !image.names.contains_key(name)
                {
                    return Err(io::ErrorKind::NotFound.into());
                }
                apply_name(&mut image.names, &change);
                image.pending_names.push(change);
                Ok(())
            },
        )
    }

    fn file(&self, id: u64) -> Arc<dyn File> {
        let directory = self.this.upgrade().expect("called through an Arc");
        Arc::new(SimulatedFile { directory, id })
    }
}

impl Fault {
    fn hits(&self, operation: u64, spared_by_full_disk: bool) -> bool {
        let due = operation == self.operation || self.forever && operation > self.operation;
        due && (self.kind == FaultKind::InputOutput || !spared_by_full_disk)
    }
}

impl Files for SimulatedDirectory {
    fn open_directory(&self, _path: &Path) -> io::Result<Arc<dyn Directory>> {
        Ok(self.this.upgrade().expect("called through an Arc"))
    }
}

impl Directory for SimulatedDirectory {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let id = {
            let mut state = self.state.lock();
            state.image.next_file += 1;
            state.image.next_file
        };
        self.operate(
            false,
            |_| {},
            |image| {
                image.files.insert(id, FileImage::default());
                let change = NameChange::Add(name.into(), id);
                apply_name(&mut image.names, &change);
                image.pending_names.push(change);
                Ok(())
            },
        )?;
        Ok(self.file(id))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let id = self.state.lock().image.names.get(name).copied();
        id.map(|id| self.file(id)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state.lock().image.names.keys().cloned().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change_name(false, NameChange::Rename(from.into(), to.into()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change_name(true, NameChange::Remove(name.into()))
    }

    fn sync(&self) -> io::Result<()> {
        self.operate(
            true,
            |_| {},
            |image| {
                image.durable_names = image.names.clone();
                image.pending_names.clear();
                Ok(())
            },
        )
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn DirectoryLock>> {
        let mut state = self.state.lock();
        state.locks.retain(|(_, holder)| holder.strong_count() > 0);
        if state.locks.iter().any(|(held, _)| held == name) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let holder = Arc::new(());
        state.locks.push((name.into(), Arc::downgrade(&holder)));
        Ok(Box::new(SimulatedLock(holder)))
    }

    fn close_to_others(&self) -> io::Result<bool> {
        Ok(false)
    }

    fn describe(&self) -> String {
        "simulated".into()
    }
}

impl SimulatedFile {
    fn write(&self, image: &mut Image, offset: u64, bytes: &[u8]) {
        let file = image.files.get_mut(&self.id).expect("files are never forgotten");
        write_into(Arc::make_mut(&mut file.current), offset, bytes);
        file.pending.push((offset, bytes.into()));
    }
}

impl File for SimulatedFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let half = &bytes[..bytes.len() / 2];
        let in_place = offset + bytes.len() as u64 <= self.len()?;
        self.directory.operate(
            in_place,
            |image| self.write(image, offset, half),
            |image| {
                self.write(image, offset, bytes);
                Ok(())
            },
        )
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let state = self.directory.state.lock();
        let current = &state.image.files[&self.id].current;
        let end = offset as usize + bytes.len();
        let found = current.get(offset as usize..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.directory.state.lock().image.files[&self.id].current.len() as u64)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        let missing = length.saturating_sub(self.len()?) as usize;
        self.write_at(length - missing as u64, &vec![0; missing])
    }

    fn sync(&self) -> io::Result<()> {
        self.directory.operate(
            true,
            |_| {},
            |image| {
                let file = image.files.get_mut(&self.id).expect("files are never forgotten");
                file.durable = file.current.clone();
                file.pending.clear();
                Ok(())
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::SeededRandomness;

    #[test]
    fn synced_bytes_under_a_synced_name_survive_every_crash() {
        let directory = SimulatedDirectory::new();
        let file = directory.create("a").unwrap();
        file.write_at(0, b"durable").unwrap();
        file.sync().unwrap();
        directory.sync().unwrap();
        file.write_at(7, &[1; 4096]).unwrap();
        for seed in 0..100 {
            let crashed = directory.image().crash(&SeededRandomness::new(seed));
            assert_eq!(&crashed.bytes("a").unwrap()[..7], b"durable");
        }
    }

    #[test]
    fn unsynced_names_and_bytes_may_be_lost_or_kept() {
        let directory = SimulatedDirectory::new();
        directory.create("a").unwrap().write_at(0, &[7; 2048]).unwrap();
        let mut outcomes = std::collections::HashSet::new();
        for seed in 0..200 {
            let crashed = directory.image().crash(&SeededRandomness::new(seed));
            outcomes.insert(crashed.bytes("a").map(<[u8]>::to_vec));
        }
        assert!(outcomes.contains(&None), "the name can be lost");
        assert!(outcomes.contains(&Some(vec![7; 2048])), "everything can be kept");
        assert!(outcomes.len() > 4, "and torn in many ways");
    }

    #[test]
    fn the_kth_operation_fails_as_asked() {
        let directory = SimulatedDirectory::new();
        let file = directory.create("a").unwrap();
        let kind = FaultKind::ShortWrite;
        directory.set_fault(Some(Fault { operation: 1, kind, forever: false }));
        assert_eq!(file.write_at(0, b"abcd").unwrap_err().raw_os_error(), Some(28));
        assert_eq!(file.read_all().unwrap(), b"ab");
        file.write_at(0, b"abcd").unwrap();
        assert_eq!(file.read_all().unwrap(), b"abcd");
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let directory = SimulatedDirectory::new();
        let held = directory.lock("lock").unwrap();
        assert_eq!(directory.lock("lock").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        directory.lock("lock").unwrap();
    }
}
