//! COPY's binary format: a header, rows of counted values, a trailer.

use engine::types::{DataType, Error, Result, SqlState, Value};

use crate::value::{Format, parameter};

/// What a file in this format starts with.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The count of values that stands for the end.
const TRAILER: i16 = -1;
/// Flags that change the format; none is known here.
const CRITICAL_FLAGS: u32 = 0xffff_0000;

/// The header, without flags or extension.
pub const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Appends the trailer.
pub fn write_trailer(out: &mut Vec<u8>) {
    out.extend_from_slice(&TRAILER.to_be_bytes());
}

/// A row, or the trailer, and the bytes behind it.
type Cut<'a> = (Option<Vec<Value>>, &'a [u8]);

/// Cuts a client's bytes into rows. Message boundaries may split them anywhere.
#[derive(Debug)]
pub struct BinaryRows {
    types: Vec<DataType>,
    pending: Vec<u8>,
    started: bool,
    ended: bool,
}

impl BinaryRows {
    /// For rows of columns of these types.
    pub fn new(types: &[DataType]) -> BinaryRows {
        BinaryRows { types: types.to_vec(), pending: Vec::new(), started: false, ended: false }
    }

    /// The rows that are complete with these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<Vec<Value>>> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(bytes);
        let mut rest = pending.as_slice();
        let mut rows = Vec::new();
        if !self.started {
            let Some(after) = header(rest)? else {
                self.pending = pending;
                return Ok(rows);
            };
            rest = after;
            self.started = true;
        }
        while !self.ended {
            let Some((row, after)) = self.row(rest)? else { break };
            rest = after;
            match row {
                Some(row) => rows.push(row),
                None => self.ended = true,
            }
        }
        if self.ended && !rest.is_empty() {
            return Err(malformed("received copy data after EOF marker"));
        }
        self.pending = rest.to_vec();
        Ok(rows)
    }

    /// The client says that this was all.
    pub fn finish(&self) -> Result<()> {
        if !self.started {
            return Err(malformed("COPY file signature not recognized"));
        }
        if !self.pending.is_empty() {
            return Err(malformed("unexpected EOF in COPY data"));
        }
        Ok(())
    }

    /// The next row and what follows it; no row at the trailer, nothing where bytes are missing.
    fn row<'a>(&self, bytes: &'a [u8]) -> Result<Option<Cut<'a>>> {
        let Some((count, mut rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let count = i16::from_be_bytes(*count);
        if count == TRAILER {
            return Ok(Some((None, rest)));
        }
        if usize::try_from(count) != Ok(self.types.len()) {
            let wanted = self.types.len();
            let message = format!("row field count is {count}, expected {wanted}");
            return Err(malformed(message));
        }
        let mut values = Vec::with_capacity(self.types.len());
        for data_type in &self.types {
            let Some((length, after)) = rest.split_first_chunk() else { return Ok(None) };
            let length = i32::from_be_bytes(*length);
            rest = after;
            if length == -1 {
                values.push(Value::Null);
                continue;
            }
            let length = usize::try_from(length).map_err(|_| malformed("invalid field size"))?;
            let Some((bytes, after)) = rest.split_at_checked(length) else { return Ok(None) };
            rest = after;
            let type_id = sql::type_id(*data_type);
            values.push(parameter::read(bytes, Format::Binary, type_id, *data_type)?);
        }
        Ok(Some((Some(values), rest)))
    }
}

/// What follows the header, once that is complete.
fn header(bytes: &[u8]) -> Result<Option<&[u8]>> {
    let known = bytes.len().min(SIGNATURE.len());
    if bytes[..known] != SIGNATURE[..known] {
        return Err(malformed("COPY file signature not recognized"));
    }
    let Some(rest) = bytes.get(SIGNATURE.len()..) else { return Ok(None) };
    let Some((flags, rest)) = rest.split_first_chunk() else { return Ok(None) };
    if u32::from_be_bytes(*flags) & CRITICAL_FLAGS != 0 {
        return Err(malformed("unrecognized critical flags in COPY file header"));
    }
    let Some((length, rest)) = rest.split_first_chunk() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    Ok(rest.split_at_checked(length).map(|(_, rest)| rest))
}

fn malformed(message: impl Into<String>) -> Error {
    Error::new(SqlState::BadCopyFormat, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(HEADER);
        bytes.extend_from_slice(b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x02ab");
        bytes.extend_from_slice(b"\0\x02\0\0\0\x04\0\0\0\x08\xff\xff\xff\xff");
        write_trailer(&mut bytes);
        bytes
    }

    #[test]
    fn rows_come_whole_however_the_bytes_are_split() {
        let file = file();
        for size in 1..file.len() {
            let mut reader = BinaryRows::new(&[DataType::Integer, DataType::Text]);
            let pieces = file.chunks(size);
            let rows: Vec<_> =
                pieces.flat_map(|piece| reader.take(piece).expect("well formed")).collect();
            let seven = vec![Value::Integer(7), Value::Text("ab".into())];
            assert_eq!(rows, [seven, vec![Value::Integer(8), Value::Null]]);
            assert_eq!(reader.finish(), Ok(()));
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let refused = |bytes: &[u8]| {
            let mut reader = BinaryRows::new(&[DataType::Integer, DataType::Text]);
            let taken = reader.take(bytes).and_then(|_| reader.finish());
            taken.expect_err("refused").state
        };
        assert_eq!(refused(b"PGCOPX"), SqlState::BadCopyFormat);
        let file = file();
        assert_eq!(refused(&file[..30]), SqlState::BadCopyFormat);
        assert_eq!(refused(&[file.as_slice(), b"x"].concat()), SqlState::BadCopyFormat);
        let mut wide = file.clone();
        wide[20] = 3;
        assert_eq!(refused(&wide), SqlState::BadCopyFormat);
    }
}
