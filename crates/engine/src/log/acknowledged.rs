//! How far the log has been acknowledged, known apart from the log: so that a lost tail is told from a clean end.
//!
//! A torn record at the end of the log looks like a record that was acknowledged and damaged since, and a segment that is
//! gone looks like one that never was. So the number of the last record that was made durable stands in a file of its own:
//! written after the record's own sync, never before, so it never claims what the disk does not have. It is synced with
//! each new segment and at a clean stop; between those an unsynced write into bytes that are there already survives the
//! process's death, and a machine's crash can only make it older. Recovery refuses to start where the log ends before it.
//!
//! Two slots in sectors of their own take turns: a torn write leaves the other one.

use std::io;
use std::sync::Arc;

use super::fault::{corrupted, file_error};
use super::segment::FORMAT;
use crate::env::{Directory, File};
use crate::types::Result;

const MAGIC: [u8; 8] = *b"SDB-ACK\n";
const SLOT: usize = 48;
/// Far enough apart to lie in different sectors of any disk.
const SLOT_DISTANCE: u64 = 4096;

/// The last place of the log that is known to be durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Acknowledged {
    /// The newest segment; 0 before there is any.
    pub segment: u64,
    /// The last record; 0 before there is any.
    pub sequence: u64,
}

/// The file that says so.
#[derive(Debug)]
pub(crate) struct AcknowledgedFile {
    file: Arc<dyn File>,
    database: u64,
    /// The slot that is written next: not the one that says the newest.
    next_slot: u64,
}

impl AcknowledgedFile {
    /// Its name.
    pub const NAME: &str = "acknowledged";

    /// Makes the file of a new database. Its name is durable after the directory's next sync.
    pub fn create(directory: &dyn Directory, database: u64) -> io::Result<()> {
        let file = directory.create(Self::NAME)?;
        file.allocate(SLOT_DISTANCE + SLOT as u64)?;
        for slot in 0..2 {
            file.write_at(slot * SLOT_DISTANCE, &encode(Acknowledged::default(), database))?;
        }
        file.sync()
    }

    /// Opens it; what it says.
    pub fn open(
        directory: &dyn Directory,
        database: u64,
    ) -> Result<(AcknowledgedFile, Acknowledged)> {
        let file = directory.open(Self::NAME).map_err(|e| file_error("open", Self::NAME, &e))?;
        let slots = [0, 1].map(|slot| read(&*file, slot, database));
        let newest = slots.iter().flatten().max().copied();
        let Some(newest) = newest else {
            return Err(corrupted(Self::NAME, 0, "both of its slots are damaged"));
        };
        let next_slot = u64::from(slots[0] == Some(newest));
        Ok((AcknowledgedFile { file, database, next_slot }, newest))
    }

    /// Notes what is durable by now, without a sync of its own.
    pub fn note(&mut self, place: Acknowledged) -> io::Result<()> {
        let at = self.next_slot * SLOT_DISTANCE;
        self.next_slot = 1 - self.next_slot;
        self.file.write_at(at, &encode(place, self.database))
    }

    /// Makes the last note durable.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// The fault of an operation on it.
    pub fn fault(error: &io::Error) -> crate::types::Error {
        file_error("write", Self::NAME, error)
    }
}

fn encode(place: Acknowledged, database: u64) -> [u8; SLOT] {
    let mut bytes = [0; SLOT];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[16..24].copy_from_slice(&database.to_le_bytes());
    bytes[24..32].copy_from_slice(&place.segment.to_le_bytes());
    bytes[32..40].copy_from_slice(&place.sequence.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..44]);
    bytes[44..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn read(file: &dyn File, slot: u64, database: u64) -> Option<Acknowledged> {
    let mut bytes = [0; SLOT];
    file.read_at(slot * SLOT_DISTANCE, &mut bytes).ok()?;
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let place = Acknowledged { segment: word(24), sequence: word(32) };
    (encode(place, database) == bytes).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::SimulatedDirectory;

    const DATABASE: u64 = 7;

    fn place(segment: u64, sequence: u64) -> Acknowledged {
        Acknowledged { segment, sequence }
    }

    fn written() -> Arc<SimulatedDirectory> {
        let directory = SimulatedDirectory::new();
        AcknowledgedFile::create(&*directory, DATABASE).unwrap();
        let (mut file, first) = AcknowledgedFile::open(&*directory, DATABASE).unwrap();
        assert_eq!(first, place(0, 0));
        file.note(place(1, 5)).unwrap();
        file.note(place(1, 6)).unwrap();
        directory
    }

    #[test]
    fn the_newest_note_counts_also_after_opening_again() {
        let directory = written();
        let (mut file, newest) = AcknowledgedFile::open(&*directory, DATABASE).unwrap();
        assert_eq!(newest, place(1, 6));
        file.note(place(2, 6)).unwrap();
        let (_, newest) = AcknowledgedFile::open(&*directory, DATABASE).unwrap();
        assert_eq!(newest, place(2, 6));
    }

    #[test]
    fn a_torn_note_leaves_the_one_before_and_other_damage_is_told() {
        let image = written().image();
        let bytes = image.bytes(AcknowledgedFile::NAME).unwrap();
        let open = |bytes: Vec<u8>| {
            let mut damaged = image.clone();
            damaged.replace(AcknowledgedFile::NAME, bytes);
            AcknowledgedFile::open(&*SimulatedDirectory::from_image(damaged), DATABASE)
        };
        for at in 0..bytes.len() {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 4;
            let (_, found) = open(flipped).unwrap();
            assert!([place(1, 5), place(1, 6)].contains(&found), "{found:?} at {at}");
        }
        assert!(open(Vec::new()).is_err());
        let other = AcknowledgedFile::open(&*SimulatedDirectory::from_image(image.clone()), 8);
        assert!(other.is_err(), "another database's file");
    }
}
