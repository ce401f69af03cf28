//! What the server says: each function appends one message to an output buffer.

use sql::{ColumnDescription, TransactionStatus};

use crate::value::Format;

/// Appends a message whose body `write` appends; the length is filled in afterwards.
#[inline]
pub fn message(out: &mut Vec<u8>, tag: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    write(out);
    let length = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

/// Appends a string and the zero byte that ends it.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn int16(out: &mut Vec<u8>, value: i16) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn int32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// A count of columns, formats or parameters: 16 bits without a sign on the wire.
pub fn count(out: &mut Vec<u8>, count: usize) {
    debug_assert!(count <= usize::from(u16::MAX), "the planner limits columns and parameters");
    out.extend_from_slice(&(count as u16).to_be_bytes());
}

/// ParseComplete.
pub fn parse_complete(out: &mut Vec<u8>) {
    out.extend_from_slice(b"1\0\0\0\x04");
}

/// BindComplete.
pub fn bind_complete(out: &mut Vec<u8>) {
    out.extend_from_slice(b"2\0\0\0\x04");
}

/// CloseComplete.
pub fn close_complete(out: &mut Vec<u8>) {
    out.extend_from_slice(b"3\0\0\0\x04");
}

/// NoData: the statement gives no rows.
pub fn no_data(out: &mut Vec<u8>) {
    out.extend_from_slice(b"n\0\0\0\x04");
}

/// PortalSuspended: there may be more rows.
pub fn portal_suspended(out: &mut Vec<u8>) {
    out.extend_from_slice(b"s\0\0\0\x04");
}

/// EmptyQueryResponse.
pub fn empty_query(out: &mut Vec<u8>) {
    out.extend_from_slice(b"I\0\0\0\x04");
}

/// CopyDone: all rows of COPY TO are sent.
pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"c\0\0\0\x04");
}

/// ReadyForQuery.
pub fn ready_for_query(out: &mut Vec<u8>, status: TransactionStatus) {
    let letter = match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::Open => b'T',
        TransactionStatus::Failed => b'E',
    };
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, letter]);
}

/// CommandComplete with a tag that is complete.
pub fn command_complete(out: &mut Vec<u8>, tag: &str) {
    message(out, b'C', |out| string(out, tag));
}

/// CommandComplete with the number of rows behind the tag's words.
pub fn rows_complete(out: &mut Vec<u8>, words: &str, rows: u64) {
    message(out, b'C', |out| {
        out.extend_from_slice(words.as_bytes());
        out.push(b' ');
        crate::value::write_unsigned(out, rows);
        out.push(0);
    });
}

/// ParameterDescription: the types of a statement's parameters.
pub fn parameter_description(out: &mut Vec<u8>, types: &[u32]) {
    message(out, b't', |out| {
        count(out, types.len());
        for type_id in types {
            out.extend_from_slice(&type_id.to_be_bytes());
        }
    });
}

/// RowDescription; `format` gives each column's format.
pub fn row_description(
    out: &mut Vec<u8>,
    columns: &[ColumnDescription],
    format: impl Fn(usize) -> Format,
) {
    message(out, b'T', |out| {
        count(out, columns.len());
        for (i, column) in columns.iter().enumerate() {
            string(out, &column.name);
            out.extend_from_slice(&column.table.to_be_bytes());
            int16(out, column.column);
            out.extend_from_slice(&column.type_id.to_be_bytes());
            int16(out, column.type_size);
            int32(out, column.type_modifier);
            int16(out, format(i) as i16);
        }
    });
}

/// CopyInResponse (`G`) or CopyOutResponse (`H`): text, that many columns.
pub fn copy_response(out: &mut Vec<u8>, tag: u8, columns: usize, binary: bool) {
    message(out, tag, |out| {
        out.push(u8::from(binary));
        count(out, columns);
        for _ in 0..columns {
            int16(out, i16::from(binary));
        }
    });
}

/// ParameterStatus: a setting that the client must know.
pub fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |out| {
        string(out, name);
        string(out, value);
    });
}

/// BackendKeyData: what a cancel request must show.
pub fn backend_key(out: &mut Vec<u8>, process: i32, secret: u32) {
    message(out, b'K', |out| {
        int32(out, process);
        out.extend_from_slice(&secret.to_be_bytes());
    });
}

/// NotificationResponse: what the session with that number has said on a channel.
pub fn notification(out: &mut Vec<u8>, process: i32, channel: &str, payload: &str) {
    message(out, b'A', |out| {
        int32(out, process);
        string(out, channel);
        string(out, payload);
    });
}

/// An authentication request or its end, with the data that belongs to it.
pub fn authentication(out: &mut Vec<u8>, code: i32, data: &[u8]) {
    message(out, b'R', |out| {
        int32(out, code);
        out.extend_from_slice(data);
    });
}

/// NegotiateProtocolVersion: we speak 3.0, and these options are unknown.
pub fn negotiate_version(out: &mut Vec<u8>, options: &[&str]) {
    message(out, b'v', |out| {
        int32(out, 3 << 16);
        int32(out, options.len() as i32);
        for option in options {
            string(out, option);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_themselves_but_not_the_tag() {
        let mut out = Vec::new();
        command_complete(&mut out, "BEGIN");
        assert_eq!(out, b"C\0\0\0\x0aBEGIN\0");
        out.clear();
        rows_complete(&mut out, "INSERT 0", 12);
        assert_eq!(out, b"C\0\0\0\x10INSERT 0 12\0");
        out.clear();
        ready_for_query(&mut out, TransactionStatus::Failed);
        assert_eq!(out, b"Z\0\0\0\x05E");
        out.clear();
        notification(&mut out, 7, "c", "");
        assert_eq!(out, b"A\0\0\0\x0b\0\0\0\x07c\0\0");
    }

    #[test]
    fn a_row_description_names_widths_and_origins() {
        let column = ColumnDescription {
            name: "a".into(),
            type_id: 23,
            type_size: 4,
            type_modifier: -1,
            table: 7,
            column: 1,
        };
        let mut out = Vec::new();
        row_description(&mut out, &[column], |_| Format::Binary);
        let body = b"\0\x01a\0\0\0\0\x07\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
        assert_eq!(&out[5..], body);
    }
}
