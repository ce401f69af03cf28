//! The simple protocol: one message of text with any number of statements, one transaction.

use std::pin::pin;
use std::sync::Arc;

use engine::types::{Error, SqlState};
use sql::{ImplicitTransaction, Outcome};

use super::portal::Formats;
use super::rows::Cursor;
use super::socket::guarded;
use super::{Connection, Stop, make_room_to_plan};
use crate::message::backend;
use crate::message::frontend::{Fields, Frame};
use crate::value::Format;

impl Connection {
    /// Query: runs its statements until one fails, then says that the server is ready.
    pub(super) async fn simple_query(&mut self, frame: Frame) -> Result<(), Stop> {
        self.unnamed = None;
        self.portals.remove("");
        match self.run_script(frame).await.map_err(|stop| self.as_stopped(stop)) {
            Err(Stop::Fault(error)) => {
                self.write_notices();
                self.write_error(&error);
                self.failed = true;
            }
            result => result?,
        }
        self.ready().await
    }

    async fn run_script(&mut self, frame: Frame) -> Result<(), Stop> {
        let script = self.take_script(frame)?;
        // A request that came when the last message was done with was not meant for this one.
        self.client().clear_cancel();
        let parsed = self.session.parse_script(&script);
        let texts = self.socket.attend(pin!(parsed)).await??;
        let script = (texts.len() > 1).then_some(script);
        if texts.is_empty() {
            backend::empty_query(&mut self.socket.output);
        }
        let mut searched = 0;
        for text in &texts {
            let implicit = match texts.len() {
                1 if !self.executed => ImplicitTransaction::Alone,
                1 => ImplicitTransaction::Pipeline,
                _ => ImplicitTransaction::Script,
            };
            match self.run_text(text, implicit).await {
                Err(Stop::Fault(error)) if script.is_some() => {
                    let script = script.as_deref().unwrap_or_default();
                    return Err(Stop::Fault(shift_position(error, script, searched, text)));
                }
                result => result?,
            }
            if let Some(script) = &script {
                searched += script[searched..].find(&**text).map_or(0, |at| at + text.len());
            }
        }
        Ok(())
    }

    /// The text of a Query message.
    fn take_script(&mut self, frame: Frame) -> Result<String, Stop> {
        let input = &mut self.socket.input;
        let script = guarded(|| {
            let mut fields = Fields::new(input.body(frame));
            let script = fields.string()?;
            fields.end()?;
            make_room_to_plan(script)?;
            Ok(script.to_owned())
        });
        input.consume(frame.bytes());
        script
    }

    async fn run_text(
        &mut self,
        text: &Arc<str>,
        implicit: ImplicitTransaction,
    ) -> Result<(), Stop> {
        self.executed = true;
        self.client().clear_cancel();
        let statement = match self.session.known(text, &[]) {
            Some(known) => known,
            None => {
                let prepare = Box::pin(self.session.prepare(text, &[]));
                self.socket.attend(pin!(prepare)).await??
            }
        };
        self.write_notices();
        if !statement.parameters.is_empty() {
            let message = "there is no parameter $1";
            return Err(Error::new(SqlState::UndefinedParameter, message).into());
        }
        if let Some(used) = statement.cursor_use() {
            Box::pin(self.share_portal(used)).await?;
        }
        let outcome = {
            let run = pin!(self.session.execute(&statement, Vec::new(), implicit));
            self.socket.attend(run).await??
        };
        match outcome {
            Outcome::Rows(rows) => self.send_query(rows).await,
            outcome => self.finish(outcome).await,
        }
    }

    async fn send_query(&mut self, rows: sql::Rows) -> Result<(), Stop> {
        backend::row_description(&mut self.socket.output, &rows.columns, |_| Format::Text);
        let mut cursor = Cursor::query(rows, &Formats::All(Format::Text))?;
        let (sent, _) = cursor.send(&mut self.socket, self.session.limits(), 0).await?;
        self.write_notices();
        let (words, counted) = cursor.tag();
        self.write_rows_tag(words, counted, sent);
        Ok(())
    }
}

/// An error's position counts from the start of the whole text.
fn shift_position(error: Error, script: &str, searched: usize, text: &str) -> Error {
    let Some(position) = error.position else {
        return error;
    };
    let before = match script[searched..].find(text) {
        Some(at) => script[..searched + at].chars().count() as u32,
        None => 0,
    };
    error.position(before + position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_of_the_whole_text() {
        let script = "SELECT 'ä'; SELECT x; SELECT x";
        let error = || Error::new(SqlState::UndefinedColumn, "x").position(8);
        let first = shift_position(error(), script, 0, "SELECT x");
        assert_eq!(first.position, Some(12 + 8));
        let second = shift_position(error(), script, 21, "SELECT x");
        assert_eq!(second.position, Some(22 + 8));
    }
}
