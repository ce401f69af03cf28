//! Appending to the log: space first, then one write and one sync per write heartbeat.
//!
//! Segments are filled with zeros before use, so that a full disk shows when the next segment is made, before
//! anything is applied, and not in the middle of a commit; and so that a sync writes data only.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::acknowledged::{Acknowledged, AcknowledgedFile};
use super::fault::file_error;
use super::reader::Tail;
use super::segment::{
    RECORD_HEADER, SEGMENT_HEADER, SegmentHeader, finish_record, record_size, segment_name,
};
use crate::env::{Directory, File, Randomness};
use crate::types::{Error, Result, SqlState, Version};

const SPARE: &str = "spare.tmp";

/// The end of the log.
#[derive(Debug)]
pub(crate) struct LogWriter {
    directory: Arc<dyn Directory>,
    randomness: Arc<dyn Randomness>,
    file: Arc<dyn File>,
    header: SegmentHeader,
    capacity: u64,
    position: u64,
    next_sequence: u64,
    segment_size: u64,
    spare: Arc<Spare>,
    written: u64,
    acknowledged: AcknowledgedFile,
}

/// A segment made ahead, so that changing to it costs the write heartbeat no time.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    file: Mutex<Option<(Arc<dyn File>, u64)>>,
}

/// Why a record was not made durable.
#[derive(Debug)]
pub(crate) enum WriteFault {
    /// Nothing is known about what reached the disk: the process must stop.
    Fatal(Error),
    /// Nothing of it counts; the next record may succeed.
    Refused(Error),
}

impl Spare {
    /// Makes one if there is none. A failure is none: the write heartbeat will try and say so.
    pub fn prepare(&self, directory: &dyn Directory, size: u64) -> io::Result<()> {
        let mut spare = self.file.lock();
        if spare.is_none() {
            *spare = Some((create_zeroed(directory, SPARE, size)?, size));
        }
        Ok(())
    }
}

fn create_zeroed(directory: &dyn Directory, name: &str, size: u64) -> io::Result<Arc<dyn File>> {
    let file = directory.create(name)?;
    let filled = file.allocate(size).and_then(|()| file.sync());
    if let Err(error) = filled {
        // What is left of it would keep the disk full; if it cannot be removed either, recovery will.
        let _ = directory.remove(name);
        return Err(error);
    }
    Ok(file)
}

impl LogWriter {
    /// Starts the first segment of a new log.
    pub fn create(
        directory: Arc<dyn Directory>,
        randomness: Arc<dyn Randomness>,
        database: u64,
        number: u64,
        next_sequence: u64,
        segment_size: u64,
        acknowledged: AcknowledgedFile,
    ) -> Result<LogWriter> {
        let header = SegmentHeader { number, file: randomness.next(), database };
        let name = segment_name(number);
        let spare = Arc::new(Spare::default());
        let file = start_segment(&*directory, &spare, header, segment_size)
            .map_err(WriteFault::into_error)?;
        let capacity = file.len().map_err(|e| file_error("read", &name, &e))?;
        let mut writer = LogWriter {
            directory,
            randomness,
            file,
            header,
            capacity,
            position: SEGMENT_HEADER as u64,
            next_sequence,
            segment_size,
            spare,
            written: 0,
            acknowledged,
        };
        writer.acknowledge_durably().map_err(WriteFault::into_error)?;
        Ok(writer)
    }

    /// Goes on behind the last record. The last segment is written and synced once more and its torn end
    /// zeroed: after a failed sync the page cache may show bytes that never reached the disk.
    pub(super) fn resume(
        directory: Arc<dyn Directory>,
        randomness: Arc<dyn Randomness>,
        tail: Tail,
        segment_size: u64,
        acknowledged: AcknowledgedFile,
    ) -> Result<LogWriter> {
        let name = segment_name(tail.header.number);
        let file = directory.open(&name).map_err(|e| file_error("open", &name, &e))?;
        let position = tail.bytes.len() as u64;
        let mut bytes = tail.bytes;
        bytes.resize(tail.length.max(position) as usize, 0);
        file.write_at(0, &bytes)
            .and_then(|()| file.sync())
            .and_then(|()| directory.sync())
            .map_err(|e| file_error("write", &name, &e))?;
        let mut writer = LogWriter {
            directory,
            randomness,
            file,
            header: tail.header,
            capacity: tail.length,
            position,
            next_sequence: tail.next_sequence,
            segment_size,
            spare: Arc::default(),
            written: 0,
            acknowledged,
        };
        writer.acknowledge_durably().map_err(WriteFault::into_error)?;
        Ok(writer)
    }

    /// Bytes of an empty record.
    pub const EMPTY_RECORD: usize = RECORD_HEADER;

    /// An empty record to encode operations into.
    pub fn start_record(mut buffer: Vec<u8>) -> Vec<u8> {
        buffer.clear();
        buffer.resize(RECORD_HEADER, 0);
        buffer
    }

    /// Whether a record (header and payload) of `length` bytes has its place in the present segment.
    pub fn fits(&self, length: usize) -> bool {
        self.position + record_size(length - RECORD_HEADER) as u64 <= self.capacity
    }

    /// Changes to a new segment with place for a record of `length` bytes.
    pub fn make_room(&mut self, length: usize) -> Result<(), WriteFault> {
        let needed = (SEGMENT_HEADER + record_size(length - RECORD_HEADER)) as u64;
        let header = SegmentHeader {
            number: self.header.number + 1,
            file: self.randomness.next(),
            database: self.header.database,
        };
        let size = self.segment_size.max(needed.next_multiple_of(8));
        let file = start_segment(&*self.directory, &self.spare, header, size)?;
        let length = file.len().map_err(|e| {
            WriteFault::Refused(file_error("read", &segment_name(header.number), &e))
        })?;
        self.file = file;
        self.header = header;
        self.capacity = length;
        self.position = SEGMENT_HEADER as u64;
        self.acknowledge_durably()
    }

    /// Writes a record from [`Self::start_record`] and makes it durable. It must fit.
    pub fn append(&mut self, record: &mut Vec<u8>, version: Version) -> Result<(), WriteFault> {
        assert!(self.fits(record.len()), "room is made before anything is applied");
        finish_record(record, self.next_sequence, version, self.header.file);
        let name = segment_name(self.header.number);
        let durable = self.file.write_at(self.position, record).and_then(|()| self.file.sync());
        durable.map_err(|e| WriteFault::Fatal(file_error("write to log", &name, &e)))?;
        self.position += record.len() as u64;
        self.written += record.len() as u64;
        self.next_sequence += 1;
        self.acknowledge()
    }

    /// Notes the last record as durable. Whoever cannot even do that should not go on: a tail that is lost later
    /// would not be missed.
    fn acknowledge(&mut self) -> Result<(), WriteFault> {
        let place = Acknowledged { segment: self.header.number, sequence: self.last_sequence() };
        let noted = self.acknowledged.note(place);
        noted.map_err(|e| WriteFault::Fatal(AcknowledgedFile::fault(&e)))
    }

    /// The same, to outlive the machine: with a new segment, and before a clean stop.
    pub fn acknowledge_durably(&mut self) -> Result<(), WriteFault> {
        self.acknowledge()?;
        self.acknowledged.sync().map_err(|e| WriteFault::Fatal(AcknowledgedFile::fault(&e)))
    }

    /// The number of the last record.
    pub fn last_sequence(&self) -> u64 {
        self.next_sequence - 1
    }

    /// The segment that is written now.
    pub fn segment(&self) -> u64 {
        self.header.number
    }

    /// Bytes written since the start or the last call of [`Self::forget_written`].
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Starts to count [`Self::written`] anew.
    pub fn forget_written(&mut self) {
        self.written = 0;
    }

    /// Where a segment made ahead is put.
    pub fn spare(&self) -> &Arc<Spare> {
        &self.spare
    }
}

/// A segment appears under its name only when its header is durable, so a damaged header is damage.
fn start_segment(
    directory: &dyn Directory,
    spare: &Spare,
    header: SegmentHeader,
    size: u64,
) -> Result<Arc<dyn File>, WriteFault> {
    let name = segment_name(header.number);
    let refused = |e: io::Error| WriteFault::Refused(file_error("create", &name, &e));
    let fatal = |e: io::Error| WriteFault::Fatal(file_error("sync", &name, &e));
    // Held to the end: the next spare takes the same name.
    let mut spare = spare.file.lock();
    let file = match spare.take().filter(|(_, length)| *length >= size) {
        Some((file, _)) => file,
        None => create_zeroed(directory, SPARE, size).map_err(refused)?,
    };
    file.write_at(0, &header.encode()).map_err(refused)?;
    file.sync().map_err(fatal)?;
    directory.rename(SPARE, &name).map_err(refused)?;
    directory.sync().map_err(fatal)?;
    Ok(file)
}

impl WriteFault {
    /// What the client is told.
    pub fn error(&self) -> &Error {
        match self {
            WriteFault::Fatal(error) | WriteFault::Refused(error) => error,
        }
    }

    fn into_error(self) -> Error {
        match self {
            WriteFault::Fatal(error) | WriteFault::Refused(error) => error,
        }
    }
}

/// Writes must not go on after a fault that left the log in doubt.
pub(crate) fn stopped() -> Error {
    Error::new(SqlState::IoError, "the log could not be written; the server is stopping")
}
