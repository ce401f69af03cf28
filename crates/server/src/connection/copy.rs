//! The COPY sub-protocols.

use engine::types::{Error, SqlState};
use sql::{CopyIn, Rows};

use super::rows::Cursor;
use super::socket::guarded_future;
use super::{Connection, Stop};
use crate::message::backend;
use crate::message::frontend::{Fields, violation};

impl Connection {
    /// COPY FROM STDIN: feeds the client's data to the statement. After a fault the rest of the data is dropped: by
    /// skipping to Sync in the extended protocol, one message after the other in the simple one.
    pub(super) async fn copy_in(&mut self, mut copy: Box<dyn CopyIn>) -> Result<(), Stop> {
        backend::copy_response(&mut self.socket.output, b'G', copy.columns());
        self.socket.flush().await?;
        loop {
            let Some(frame) = self.socket.frame()? else {
                self.socket.fill_unless_cancelled().await?;
                continue;
            };
            match frame.tag {
                b'd' => {
                    let data = copy.data(&mut self.session, self.socket.input.body(frame));
                    let taken = guarded_future(data).await;
                    self.socket.input.consume(frame.bytes());
                    taken?;
                }
                b'c' => {
                    self.socket.input.consume(frame.bytes());
                    let done = copy.done(&mut self.session);
                    let tag = self.socket.attend(done).await??;
                    self.write_notices();
                    backend::command_complete(&mut self.socket.output, &tag);
                    return Ok(());
                }
                b'f' => {
                    let message = Fields::new(self.socket.input.body(frame)).string();
                    let message = message.unwrap_or_default().to_string();
                    self.socket.input.consume(frame.bytes());
                    self.socket.attend(copy.fail(&mut self.session, &message)).await?;
                    let message = format!("COPY from stdin failed: {message}");
                    return Err(Error::new(SqlState::QueryCanceled, message).into());
                }
                b'H' | b'S' => self.socket.input.consume(frame.bytes()),
                b'X' => return Err(Stop::Gone),
                tag => {
                    let message =
                        format!("unexpected message type 0x{tag:02X} during COPY from stdin");
                    self.socket.attend(copy.fail(&mut self.session, &message)).await?;
                    return Err(violation(message).into());
                }
            }
        }
    }

    /// COPY TO STDOUT.
    pub(super) async fn copy_out(&mut self, rows: Rows, columns: usize) -> Result<(), Stop> {
        backend::copy_response(&mut self.socket.output, b'H', columns);
        let mut cursor = Cursor::copy(rows);
        let (sent, _) = cursor.send(&mut self.socket, 0).await?;
        backend::copy_done(&mut self.socket.output);
        self.write_notices();
        let (words, counted) = cursor.tag();
        self.write_rows_tag(words, counted, sent);
        Ok(())
    }
}
