//! Rows on their way out: an answer's cells are encoded into the output buffer, which is sent whenever it is full.
//!
//! At most one buffer of rows waits for the client. A client that does not read holds up only this loop: the
//! engine has given the answer away long before.
//!
//! Where equal statements of several clients were run as one, whoever comes first encodes for all of them.

use std::pin::pin;
use std::sync::Arc;

use engine::env::memory;
use engine::heartbeat::{Answer, AnswerPart, Pages};
use engine::types::limit::Limit;
use engine::types::{Error, Result, ValueRef};
use futures::StreamExt;
use sql::{Limits, Rows, Sent};

use super::Stop;
use super::copy_binary::HEADER;
use super::portal::Formats;
use super::socket::{OUTPUT_BYTES, Socket};
use crate::message::backend;
use crate::value::{ColumnEncoder, Format};

/// An answer and how far it is sent.
pub struct Cursor {
    rows: Rows,
    writer: RowWriter,
    answer: Option<Answer>,
    part: usize,
    row: usize,
    /// Rows that were sent.
    sent: u64,
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
    /// CopyData in binary format, one encoder per column.
    CopyBinary {
        /// How values are written.
        encoders: Box<[ColumnEncoder]>,
        /// Whether a row was written: the first one comes behind the header.
        started: bool,
    },
}

impl RowWriter {
    #[inline]
    fn write(&mut self, out: &mut Vec<u8>, part: &AnswerPart, row: usize) -> Result<()> {
        match self {
            RowWriter::Data(encoders) => write_data_row(out, (b'D', &[]), encoders, part, row),
            // The count of values and the values are the same in both messages.
            RowWriter::CopyBinary { encoders, started } => {
                let header: &[u8] = if *started { &[] } else { HEADER };
                *started = true;
                write_data_row(out, (b'd', header), encoders, part, row)
            }
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
    (tag, header): (u8, &[u8]),
    encoders: &[ColumnEncoder],
    part: &AnswerPart,
    row: usize,
) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    out.extend_from_slice(header);
    backend::count(out, encoders.len());
    for (column, encoder) in encoders.iter().enumerate() {
        let cell = part.cell(row, column);
        let written = make_room(out, cell).and_then(|()| encoder.write(out, cell));
        if let Err(fault) = written {
            out.truncate(start);
            return Err(fault);
        }
    }
    let length = (out.len() - start - 1) as u32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Asks for the memory of a large value beside the one it is in; 53200 where there is none. A buffer that would double for it grows
/// by as much as it needs.
#[inline]
fn make_room(out: &mut Vec<u8>, cell: ValueRef<'_>) -> Result<()> {
    let bytes = match cell {
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytea(bytes) => 2 * bytes.len(),
        _ => return Ok(()),
    };
    if bytes >= OUTPUT_BYTES {
        memory::process().ask(out.len() + bytes)?;
        out.reserve_exact(bytes + OUTPUT_BYTES);
    }
    Ok(())
}

/// What tells apart how the same rows may be written.
fn form(encoders: &[ColumnEncoder]) -> Vec<u8> {
    let mut form = Vec::with_capacity(5 * encoders.len());
    encoders.iter().for_each(|encoder| encoder.write_form(&mut form));
    form
}

fn write_copy_data(out: &mut Vec<u8>, part: &AnswerPart, row: usize) {
    backend::message(out, b'd', |out| crate::value::write_line(out, part.cell(row, 0)));
}

fn encoders(rows: &Rows, formats: &Formats) -> Result<Box<[ColumnEncoder]>> {
    let columns = rows.columns.iter().enumerate();
    columns.map(|(i, column)| ColumnEncoder::new(column, formats.get(i), &rows.zone)).collect()
}

impl Cursor {
    /// A cursor over a query's rows.
    pub fn query(rows: Rows, formats: &Formats) -> Result<Cursor> {
        let encoders = encoders(&rows, formats)?;
        Ok(Cursor::new(rows, RowWriter::Data(encoders)))
    }

    /// A cursor over the rows of COPY TO in binary format.
    pub fn copy_binary(rows: Rows) -> Result<Cursor> {
        let encoders = encoders(&rows, &Formats::All(Format::Binary))?;
        Ok(Cursor::new(rows, RowWriter::CopyBinary { encoders, started: false }))
    }

    /// A cursor over the lines of COPY TO.
    pub fn copy(rows: Rows) -> Cursor {
        Cursor::new(rows, RowWriter::Copy)
    }

    fn new(rows: Rows, writer: RowWriter) -> Cursor {
        Cursor { rows, writer, answer: None, part: 0, row: 0, sent: 0 }
    }

    /// The rows that are left, and what of them was sent.
    pub fn into_rest(self) -> (Rows, Sent) {
        let Cursor { rows, answer: piece, part, row, sent, .. } = self;
        let before = piece.iter().flat_map(|piece| &piece.parts[..part]);
        let of_piece = (before.map(AnswerPart::rows).sum::<usize>() + row) as u64;
        (rows, Sent { rows: sent, piece, of_piece })
    }

    /// The tag's words, and whether a number of rows follows them.
    pub fn tag(&self) -> (&'static str, bool) {
        (self.rows.tag, self.rows.counted)
    }

    /// Sends rows, at most `limit` unless that is 0, as long as the statement may run. Gives their number and whether there
    /// may be more.
    pub async fn send(
        &mut self,
        socket: &mut Socket,
        limits: &Limits,
        limit: u64,
    ) -> Result<(u64, bool), Stop> {
        let (sent, more) = self.send_some(socket, limits, limit).await?;
        self.sent += sent;
        Ok((sent, more))
    }

    async fn send_some(
        &mut self,
        socket: &mut Socket,
        limits: &Limits,
        limit: u64,
    ) -> Result<(u64, bool), Stop> {
        let limit = if limit == 0 { u64::MAX } else { limit };
        let mut sent = 0;
        while sent < limit {
            if self.answer.is_none() && !self.next_answer(socket).await? {
                return Ok((sent, false));
            }
            if let Some(fault) = limits.fault() {
                return Err(Stop::Fault(fault));
            }
            if limit == u64::MAX
                && let Some(pages) = self.shared_pages()
            {
                sent += self.send_pages(socket, &pages).await?;
                continue;
            }
            sent += self.encode(&mut socket.output, limit - sent)?;
            if socket.pending_bytes() >= OUTPUT_BYTES {
                socket.flush_rows().await?;
            }
        }
        Ok((sent, true))
    }

    /// All rows of the present piece as bytes that others who got the same rows send, too; `None` where there is nobody
    /// else, or part of them is written already.
    fn shared_pages(&self) -> Option<Arc<Pages>> {
        let RowWriter::Data(encoders) = &self.writer else { return None };
        let answer = self.answer.as_ref()?;
        let encodings = answer.encodings.as_ref().filter(|_| (self.part, self.row) == (0, 0))?;
        let (mut part, mut row) = (0, 0);
        encodings.pages(&form(encoders), || {
            let mut page = Vec::with_capacity(OUTPUT_BYTES + OUTPUT_BYTES / 8);
            while let Some(rows) = answer.parts.get(part)
                && page.len() < OUTPUT_BYTES
            {
                if row == rows.rows() {
                    (part, row) = (part + 1, 0);
                    continue;
                }
                write_data_row(&mut page, (b'D', &[]), encoders, rows, row)?;
                row += 1;
            }
            page.shrink_to_fit();
            Ok::<_, Error>((!page.is_empty()).then_some(page))
        })
    }

    /// Sends the present piece as it was written for all. Gives the number of its rows.
    async fn send_pages(&mut self, socket: &mut Socket, pages: &Arc<Pages>) -> Result<u64, Stop> {
        let rows = self.answer.take().map_or(0, |answer| answer.rows());
        for page in 0..pages.count() {
            socket.insert(pages, page);
            if socket.pending_bytes() >= OUTPUT_BYTES {
                socket.flush_rows().await?;
            }
        }
        Ok(rows as u64)
    }

    /// Fetches the next piece; `false` at the end.
    async fn next_answer(&mut self, socket: &mut Socket) -> Result<bool, Stop> {
        match socket.attend(pin!(self.rows.pieces.next())).await? {
            None => Ok(false),
            Some(Err(fault)) => Err(Stop::Fault(fault)),
            Some(Ok(answer)) => {
                self.answer = Some(answer);
                (self.part, self.row) = (0, 0);
                Ok(true)
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
