//! Reading the log back: which records count, where it was torn, where it is damaged.
//!
//! Only one record is ever on its way to the disk, and the next one is written after its sync. So a torn record is
//! the last one and was never acknowledged: it is cut off. An intact record *behind* a place that is not intact
//! proves that the place was once synced and acknowledged: then the log is damaged and nothing may start from it. That the
//! last records themselves are all there, [`super::acknowledged`] proves.

use super::acknowledged::Acknowledged;
use super::fault::{corrupted, file_error};
use super::segment::{
    RECORD_HEADER, SEGMENT_HEADER, SegmentHeader, record_at, record_size, segment_name,
    segment_number,
};
use crate::env::Directory;
use crate::types::{Error, Result, SqlState, Version};

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The record's number; the first one ever is 1.
    pub sequence: u64,
    /// The version that it made visible.
    pub version: Version,
    /// Its operations, see [`super::Decoder::operation`].
    pub payload: Vec<u8>,
    /// The file that it came from, and where.
    pub file: String,
    /// Bytes before the record.
    pub position: u64,
}

/// Where the log goes on.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    pub header: SegmentHeader,
    /// The intact part of the last segment.
    pub bytes: Vec<u8>,
    /// Bytes in the file.
    pub length: u64,
    /// The next record's number.
    pub next_sequence: u64,
}

/// The numbers of the log segments in a directory, ascending.
pub(super) fn segments(directory: &dyn Directory) -> Result<Vec<u64>> {
    let names = directory.list().map_err(|e| file_error("list", &directory.describe(), &e))?;
    Ok(names.iter().filter_map(|name| segment_number(name)).collect())
}

/// Hands all records after number `after` to `take`, in order; gives the place where the log goes on, or `None`
/// if there is no log. `first` is the segment in which the first of those records lies; the log must reach as far as
/// it was acknowledged.
pub(super) fn read_log(
    directory: &dyn Directory,
    database: u64,
    (first, after): (u64, u64),
    acknowledged: Acknowledged,
    mut take: impl FnMut(Record) -> Result<()>,
) -> Result<Option<Tail>> {
    let numbers: Vec<u64> = segments(directory)?.into_iter().filter(|n| *n >= first).collect();
    if numbers.first().is_some_and(|n| *n != first) {
        return Err(missing(first));
    }
    let last = numbers.last().copied();
    // There is no log before the first record only: a checkpoint names a segment that was there.
    if last.is_none() && after > 0 || last.unwrap_or(first - 1) < acknowledged.segment {
        return Err(missing(last.map_or(first, |last| last + 1)));
    }
    let mut tail: Option<Tail> = None;
    let mut next = None;
    for (expected, number) in (first..).zip(numbers) {
        if number != expected {
            return Err(missing(expected));
        }
        let segment = Segment::read(directory, number, database)?;
        let end = segment.records(&mut next, after, &mut take)?;
        segment.refuse_records_behind(end, next)?;
        let length = segment.bytes.len() as u64;
        let mut bytes = segment.bytes;
        // Padding behind the last record may be missing from a file that was cut.
        bytes.resize(end, 0);
        tail = Some(Tail { header: segment.header, bytes, length, next_sequence: 0 });
    }
    let next_sequence = next.unwrap_or(after + 1);
    if next_sequence <= after {
        let name = segment_name(tail.map_or(first, |tail| tail.header.number));
        return Err(Error::new(
            SqlState::DataCorrupted,
            format!("the log ends in file \"{name}\" before the checkpoint that follows it"),
        ));
    }
    if next_sequence <= acknowledged.sequence {
        let place = tail.as_ref().map(|tail| (tail.header.number, tail.bytes.len() as u64));
        return Err(lost_tail(place.unwrap_or((first, 0)), next_sequence - 1, acknowledged));
    }
    Ok(tail.map(|tail| Tail { next_sequence, ..tail }))
}

/// The log ends at `place` with record `last`, before what it was acknowledged to have.
fn lost_tail(place: (u64, u64), last: u64, acknowledged: Acknowledged) -> Error {
    let (segment, position) = place;
    let what = format!(
        "the log ends with record {last}, but record {} was acknowledged",
        acknowledged.sequence
    );
    corrupted(&segment_name(segment), position, &what)
}

fn missing(number: u64) -> Error {
    let name = segment_name(number);
    Error::new(SqlState::DataCorrupted, format!("log file \"{name}\" is missing"))
}

struct Segment {
    name: String,
    header: SegmentHeader,
    bytes: Vec<u8>,
}

impl Segment {
    fn read(directory: &dyn Directory, number: u64, database: u64) -> Result<Segment> {
        let name = segment_name(number);
        let bytes = directory
            .open(&name)
            .and_then(|file| file.read_all())
            .map_err(|e| file_error("read", &name, &e))?;
        let header = SegmentHeader::decode(&bytes)
            .filter(|header| header.number == number && header.database == database)
            .ok_or_else(|| corrupted(&name, 0, "damaged header"))?;
        Ok(Segment { name, header, bytes })
    }

    /// Walks over the intact records; gives the position behind the last one.
    fn records(
        &self,
        next: &mut Option<u64>,
        after: u64,
        take: &mut impl FnMut(Record) -> Result<()>,
    ) -> Result<usize> {
        let mut at = SEGMENT_HEADER;
        while let Some((header, payload)) = self.record(at) {
            let follows = match *next {
                Some(next) => header.sequence == next,
                None => header.sequence <= after + 1,
            };
            if !follows {
                let what = "a record that does not follow its predecessor";
                return Err(corrupted(&self.name, at as u64, what));
            }
            *next = Some(header.sequence + 1);
            if header.sequence > after {
                take(Record {
                    sequence: header.sequence,
                    version: header.version,
                    payload: payload.to_vec(),
                    file: self.name.clone(),
                    position: at as u64,
                })?;
            }
            at += record_size(header.length as usize);
        }
        Ok(at)
    }

    fn record(&self, at: usize) -> Option<(super::segment::RecordHeader, &[u8])> {
        self.bytes.get(at..).and_then(|bytes| record_at(bytes, self.header.file))
    }

    fn refuse_records_behind(&self, end: usize, next: Option<u64>) -> Result<()> {
        let last = self.bytes.len().saturating_sub(RECORD_HEADER);
        let intact = (end..last).step_by(8).skip(1).find_map(|at| self.record(at));
        match intact {
            Some((header, _)) if next.is_none_or(|next| header.sequence >= next) => {
                Err(corrupted(&self.name, end as u64, "damaged record before intact ones"))
            }
            _ => Ok(()),
        }
    }
}
