//! The COPY sub-protocols.

use std::pin::pin;

use engine::types::{Error, SqlState};
use sql::{CopyIn, CopyOut};

use super::copy_binary::{self, BinaryRows};
use super::rows::Cursor;
use super::socket::guarded;
use super::{Connection, Stop};
use crate::message::backend;
use crate::message::frontend::{Fields, Frame, violation};

impl Connection {
    /// COPY FROM STDIN: feeds the client's data to the statement. After a fault the rest of the data is dropped: by
    /// skipping to Sync in the extended protocol, one message after the other in the simple one.
    pub(super) async fn copy_in(&mut self, mut copy: Box<dyn CopyIn>) -> Result<(), Stop> {
        let width = copy.columns().len();
        backend::copy_response(&mut self.socket.output, b'G', width, copy.is_binary());
        let mut binary = copy.is_binary().then(|| BinaryRows::new(copy.columns()));
        self.socket.flush().await?;
        loop {
            let Some(frame) = self.socket.frame()? else {
                match self.socket.fill_unless_cancelled().await {
                    Err(Stop::Refused(_, error)) => return Err(Stop::Fault(error)),
                    filled => filled?,
                }
                continue;
            };
            match frame.tag {
                b'd' => {
                    let taken = self.copy_data(&mut copy, binary.as_mut(), frame).await;
                    self.socket.input.consume(frame.bytes());
                    taken?;
                }
                b'c' => {
                    self.socket.input.consume(frame.bytes());
                    if let Some(Err(error)) = binary.as_ref().map(BinaryRows::finish) {
                        copy.fail(&mut self.session, "").await;
                        return Err(error.into());
                    }
                    let done = copy.done(&mut self.session);
                    let tag = self.socket.attend(pin!(done)).await??;
                    self.write_notices();
                    backend::command_complete(&mut self.socket.output, &tag);
                    return Ok(());
                }
                b'f' => {
                    let message = Fields::new(self.socket.input.body(frame)).string();
                    let message = message.unwrap_or_default().to_string();
                    self.socket.input.consume(frame.bytes());
                    self.socket.attend(pin!(copy.fail(&mut self.session, &message))).await?;
                    let message = format!("COPY from stdin failed: {message}");
                    return Err(Error::new(SqlState::QueryCanceled, message).into());
                }
                b'H' | b'S' => self.socket.input.consume(frame.bytes()),
                b'X' => return Err(Stop::Gone),
                tag => {
                    let message =
                        format!("unexpected message type 0x{tag:02X} during COPY from stdin");
                    self.socket.attend(pin!(copy.fail(&mut self.session, &message))).await?;
                    return Err(violation(message).into());
                }
            }
        }
    }

    /// Data of a COPY FROM STDIN: lines, or rows in binary format.
    async fn copy_data(
        &mut self,
        copy: &mut Box<dyn CopyIn>,
        binary: Option<&mut BinaryRows>,
        frame: Frame,
    ) -> Result<(), Stop> {
        let body = self.socket.input.body(frame);
        let Some(binary) = binary else {
            return self.socket.watched().run(copy.data(&mut self.session, body)).await;
        };
        match guarded(|| binary.take(body)) {
            Ok(rows) => self.socket.watched().run(copy.rows(&mut self.session, rows)).await,
            Err(error) => {
                copy.fail(&mut self.session, "").await;
                Err(error)
            }
        }
    }

    /// COPY TO STDOUT.
    pub(super) async fn copy_out(&mut self, copy: CopyOut) -> Result<(), Stop> {
        let binary = copy.binary;
        backend::copy_response(&mut self.socket.output, b'H', copy.columns, binary);
        let mut cursor = match binary {
            true => Cursor::copy_binary(copy.rows)?,
            false => Cursor::copy(copy.rows),
        };
        let (sent, _) = cursor.send(&mut self.socket, self.session.limits(), 0).await?;
        if binary {
            // The header is in the first row's message, or in this one, as clients expect.
            let header: &[u8] = if sent == 0 { copy_binary::HEADER } else { &[] };
            backend::message(&mut self.socket.output, b'd', |out| {
                out.extend_from_slice(header);
                copy_binary::write_trailer(out);
            });
        }
        backend::copy_done(&mut self.socket.output);
        self.write_notices();
        let (words, counted) = cursor.tag();
        self.write_rows_tag(words, counted, sent);
        Ok(())
    }
}
