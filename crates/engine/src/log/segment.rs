//! The format of a log segment: a header, then records at multiples of eight bytes, then zeros.
//!
//! A record is the work of one write heartbeat: all or nothing of it counts. Its checksum covers its header and
//! its payload; its header carries the segment's random file id and the record's sequence number, so bytes of
//! another segment, of another place or of an earlier life of the disk never pass for it.

use crate::types::Version;

/// Bytes before the first record.
pub(super) const SEGMENT_HEADER: usize = 64;
/// Bytes before a record's payload.
pub(super) const RECORD_HEADER: usize = 40;

const SEGMENT_MAGIC: [u8; 8] = *b"SDB-LOG\n";
const RECORD_MAGIC: u32 = u32::from_le_bytes(*b"SREC");

/// The version of the format of all files in a data directory.
pub(crate) const FORMAT: u32 = 3;

/// What the first bytes of a segment say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub number: u64,
    pub file: u64,
    pub database: u64,
}

/// What the first bytes of a record say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub length: u32,
    pub sequence: u64,
    pub version: Version,
}

pub(super) fn segment_name(number: u64) -> String {
    format!("log-{number:016x}")
}

pub(super) fn segment_number(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix("log-").filter(|digits| digits.len() == 16)?, 16).ok()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

impl SegmentHeader {
    pub fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(&SEGMENT_MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.file.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.database.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// `None` where the bytes are no intact header of this format.
    pub fn decode(bytes: &[u8]) -> Option<SegmentHeader> {
        let bytes = bytes.get(..SEGMENT_HEADER)?;
        let intact = bytes[..8] == SEGMENT_MAGIC
            && half(bytes, 8) == FORMAT
            && half(bytes, 60) == crc32c::crc32c(&bytes[..60]);
        intact.then(|| SegmentHeader {
            number: word(bytes, 16),
            file: word(bytes, 24),
            database: word(bytes, 32),
        })
    }
}

/// Bytes that a record with a payload of `length` bytes takes.
pub(super) fn record_size(length: usize) -> usize {
    (RECORD_HEADER + length).next_multiple_of(8)
}

/// Fills in the header of a record whose payload follows `RECORD_HEADER` bytes of space, and pads it.
pub(super) fn finish_record(record: &mut Vec<u8>, sequence: u64, version: Version, file: u64) {
    let length = u32::try_from(record.len() - RECORD_HEADER).expect("batches are cut far below");
    record[..4].copy_from_slice(&RECORD_MAGIC.to_le_bytes());
    record[8..12].copy_from_slice(&length.to_le_bytes());
    record[12..16].copy_from_slice(&[0; 4]);
    record[16..24].copy_from_slice(&sequence.to_le_bytes());
    record[24..32].copy_from_slice(&version.0.to_le_bytes());
    record[32..40].copy_from_slice(&file.to_le_bytes());
    let checksum = crc32c::crc32c(&record[8..]);
    record[4..8].copy_from_slice(&checksum.to_le_bytes());
    record.resize(record_size(length as usize), 0);
}

/// The record at the start of `bytes`, if an intact one of this file is there.
pub(super) fn record_at(bytes: &[u8], file: u64) -> Option<(RecordHeader, &[u8])> {
    let header = bytes.get(..RECORD_HEADER)?;
    if half(header, 0) != RECORD_MAGIC || word(header, 32) != file {
        return None;
    }
    let length = half(header, 8);
    let checked = bytes.get(8..RECORD_HEADER + length as usize)?;
    if crc32c::crc32c(checked) != half(header, 4) {
        return None;
    }
    let (sequence, version) = (word(header, 16), Version(word(header, 24)));
    Some((RecordHeader { length, sequence, version }, &checked[RECORD_HEADER - 8..]))
}
