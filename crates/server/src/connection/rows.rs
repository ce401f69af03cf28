//! Rows on their way out: an answer's cells are encoded into the output buffer, which is sent whenever it is full.
//!
//! At most one buffer of rows waits for the client. A client that does not read holds up only this loop: the
//! engine has given the answer away long before.

use engine::heartbeat::{Answer, AnswerPart};
use engine::types::Result;
use futures::StreamExt;
use sql::Rows;

use super::Stop;
use super::portal::Formats;
use super::socket::{OUTPUT_BYTES, Socket, cancelled};
use crate::message::backend;
use crate::value::ColumnEncoder;

/// An answer and how far it is sent.
pub struct Cursor {
    rows: Rows,
    writer: RowWriter,
    answer: Option<Answer>,
    part: usize,
    row: usize,
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").field("part", &self.part).field("row", &self.row).finish()
    }
}

/// Which message a row becomes.
enum RowWriter {
    /// DataRow, one encoder per column.
    Data(Box<[ColumnEncoder]>),
    /// CopyData: the row's only cell is the line.
    Copy,
}

impl RowWriter {
    #[inline]
    fn write(&self, out: &mut Vec<u8>, part: &AnswerPart, row: usize) -> Result<()> {
        match self {
            RowWriter::Data(encoders) => write_data_row(out, encoders, part, row),
            RowWriter::Copy => {
                write_copy_data(out, part, row);
                Ok(())
            }
        }
    }
}

#[inline]
fn write_data_row(
    out: &mut Vec<u8>,
    encoders: &[ColumnEncoder],
    part: &AnswerPart,
    row: usize,
) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(b"D\0\0\0\0");
    backend::count(out, encoders.len());
    for (column, encoder) in encoders.iter().enumerate() {
        if let Err(fault) = encoder.write(out, part.cell(row, column)) {
            out.truncate(start);
            return Err(fault);
        }
    }
    let length = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn write_copy_data(out: &mut Vec<u8>, part: &AnswerPart, row: usize) {
    backend::message(out, b'd', |out| crate::value::write_line(out, part.cell(row, 0)));
}

impl Cursor {
    /// A cursor over a query's rows.
    pub fn query(rows: Rows, formats: &Formats) -> Result<Cursor> {
        let columns = rows.columns.iter().enumerate();
        let encoders: Result<_> =
            columns.map(|(i, column)| ColumnEncoder::new(column, formats.get(i))).collect();
        Ok(Cursor::new(rows, RowWriter::Data(encoders?)))
    }

    /// A cursor over the lines of COPY TO.
    pub fn copy(rows: Rows) -> Cursor {
        Cursor::new(rows, RowWriter::Copy)
    }

    fn new(rows: Rows, writer: RowWriter) -> Cursor {
        Cursor { rows, writer, answer: None, part: 0, row: 0 }
    }

    /// The tag's words, and whether a number of rows follows them.
    pub fn tag(&self) -> (&'static str, bool) {
        (self.rows.tag, self.rows.counted)
    }

    /// Sends rows, at most `limit` unless that is 0. Gives their number and whether there may be more.
    pub async fn send(&mut self, socket: &mut Socket, limit: u64) -> Result<(u64, bool), Stop> {
        let limit = if limit == 0 { u64::MAX } else { limit };
        let mut sent = 0;
        while sent < limit {
            if self.answer.is_none() && !self.next_answer(socket).await? {
                return Ok((sent, false));
            }
            sent += self.encode(&mut socket.output, limit - sent)?;
            if socket.output.len() >= OUTPUT_BYTES {
                socket.flush_rows().await?;
            }
        }
        Ok((sent, true))
    }

    /// Fetches the next piece; `false` at the end.
    async fn next_answer(&mut self, socket: &mut Socket) -> Result<bool, Stop> {
        match socket.attend(self.rows.pieces.next()).await? {
            None => Ok(false),
            Some(Err(fault)) => Err(Stop::Fault(fault)),
            Some(Ok(answer)) => {
                self.answer = Some(answer);
                (self.part, self.row) = (0, 0);
                match &socket.client {
                    Some(client) if client.is_cancelled() => Err(Stop::Fault(cancelled())),
                    _ => Ok(true),
                }
            }
        }
    }

    /// Encodes rows of the present piece until the buffer is full, the piece ends or `limit` is reached.
    fn encode(&mut self, out: &mut Vec<u8>, limit: u64) -> Result<u64> {
        let answer = self.answer.as_ref().expect("the caller has fetched a piece");
        let mut written = 0;
        while let Some(part) = answer.parts.get(self.part) {
            while self.row < part.rows() {
                if written == limit || out.len() >= OUTPUT_BYTES {
                    return Ok(written);
                }
                self.writer.write(out, part, self.row)?;
                self.row += 1;
                written += 1;
            }
            self.part += 1;
            self.row = 0;
        }
        self.answer = None;
        Ok(written)
    }
}
