//! The extended protocol: Parse, Bind, Describe, Close, Execute, Sync.

use std::pin::pin;
use std::sync::Arc;

use engine::types::{DataType, Error, Result, SqlState, Value};
use sql::{ImplicitTransaction, Outcome, Session, Statement};

use super::portal::{self, Formats, Named, Portal, PortalState, find_statement, unknown_portal};
use super::rows::Cursor;
use super::socket::guarded;
use super::{Connection, Stop, make_room_to_plan};
use crate::message::backend;
use crate::message::frontend::{Fields, Frame, frame, violation};
use crate::value::{Format, parameter};

/// Bytes of input behind an Execute after which it no longer waits to learn whether it is alone.
const LOOK_AHEAD_BYTES: usize = 256 << 10;

impl Connection {
    /// Whether the input tells if the Execute that it starts with is the only one before its Sync.
    pub(super) fn knows_what_follows(&self, execute: Frame) -> bool {
        self.executed
            || self.is_copy(execute)
            || what_follows(&self.socket.input.pending()[execute.bytes()..]).is_some()
    }

    /// COPY FROM STDIN does not wait: some clients send no Sync before they have seen CopyInResponse.
    fn is_copy(&self, execute: Frame) -> bool {
        let name = Fields::new(self.socket.input.body(execute)).string();
        let portal = name.ok().and_then(|name| self.portals.get(name));
        portal.is_some_and(|portal| starts_with_word(&portal.statement.text, "copy"))
    }

    /// Parse: a statement that is not known yet is planned while the socket is watched.
    pub(super) async fn parse(&mut self, frame: Frame) -> Result<(), Stop> {
        let taken = guarded(|| self.take_parse(frame));
        self.socket.input.consume(frame.bytes());
        let (name, parsed) = taken?;
        let statement = match parsed {
            Parsed::Known(statement) => statement,
            Parsed::Unknown(text, types) => {
                self.client().clear_cancel();
                self.socket.attend(pin!(Box::pin(self.session.prepare(&text, &types)))).await??
            }
        };
        self.write_notices();
        match &*name {
            "" => self.unnamed = Some(statement),
            name => self.session.keep_statement(name, statement)?,
        }
        backend::parse_complete(&mut self.socket.output);
        Ok(())
    }

    /// The name and the statement of a Parse message.
    fn take_parse(&self, frame: Frame) -> Result<(Box<str>, Parsed)> {
        let mut fields = Fields::new(self.socket.input.body(frame));
        let name = fields.string()?;
        let text = fields.string()?;
        let types = (0..fields.count()?).map(|_| fields.uint32()).collect::<Result<Vec<u32>>>()?;
        fields.end()?;
        if !name.is_empty() {
            self.session.check_statement_name(name)?;
        }
        let parsed = match self.session.known(text, &types) {
            Some(known) => Parsed::Known(known),
            None => {
                make_room_to_plan(text)?;
                Parsed::Unknown(text.to_owned(), types)
            }
        };
        Ok((name.into(), parsed))
    }

    /// Bind, Describe, Close: all that needs no waiting.
    pub(super) fn prepare_step(&mut self, frame: Frame) -> Result<(), Stop> {
        let Connection { socket, session, unnamed, portals, .. } = self;
        let fields = Fields::new(socket.input.body(frame));
        let out = &mut socket.output;
        let result = guarded(|| match frame.tag {
            b'B' => session.in_zone(|| bind(fields, session, unnamed, portals, out)),
            b'D' => describe(fields, session, unnamed, portals, out),
            _ => close(fields, session, unnamed, portals, out),
        });
        socket.input.consume(frame.bytes());
        result
    }

    /// Execute.
    pub(super) async fn execute(&mut self, frame: Frame) -> Result<(), Stop> {
        let implicit = self.implicit(frame);
        let taken = self.take_portal(frame);
        self.socket.input.consume(frame.bytes());
        let (taken, limit) = taken?;
        self.executed = true;
        self.client().clear_cancel();
        match taken {
            Taken::Portal(name, mut portal) => {
                let result = self.run_portal(&name, &mut portal, limit, implicit).await;
                if result.is_err() {
                    portal.state = PortalState::Done;
                }
                self.portals.put_back((name, portal));
                result
            }
            Taken::Cursor(name, formats) => self.run_cursor(&name, &formats, limit, implicit).await,
        }
    }

    fn implicit(&self, execute: Frame) -> ImplicitTransaction {
        let behind = &self.socket.input.pending()[execute.bytes()..];
        match what_follows(behind) {
            Some(Follows::Sync) if !self.executed => ImplicitTransaction::Alone,
            _ => ImplicitTransaction::Pipeline,
        }
    }

    /// Takes the portal out of its place while it runs, so that the session and the socket are free for it.
    fn take_portal(&mut self, frame: Frame) -> Result<(Taken, u64)> {
        let mut fields = Fields::new(self.socket.input.body(frame));
        let name = fields.string()?;
        let limit = fields.int32()?.max(0) as u64;
        fields.end()?;
        let taken = match self.portals.take(name) {
            Some((name, portal)) if matches!(portal.state, PortalState::Adopted) => {
                let taken = Taken::Cursor(name.clone(), portal.formats.clone());
                self.portals.put_back((name, portal));
                taken
            }
            Some((name, portal)) => Taken::Portal(name, portal),
            None if self.session.has_cursor(name) => {
                Taken::Cursor(name.into(), Formats::All(Format::Text))
            }
            None => return Err(unknown_portal(name)),
        };
        Ok((taken, limit))
    }

    /// A cursor by DECLARE is a portal, too: to execute it is to fetch so many of its rows, or all.
    async fn run_cursor(
        &mut self,
        name: &str,
        formats: &Formats,
        limit: u64,
        implicit: ImplicitTransaction,
    ) -> Result<(), Stop> {
        let count = if limit == 0 { "ALL".to_owned() } else { limit.to_string() };
        let fetch = format!("FETCH FORWARD {count} FROM \"{}\"", name.replace('"', "\"\""));
        let statement = {
            let prepare = Box::pin(self.session.prepare(&fetch, &[]));
            self.socket.attend(pin!(prepare)).await??
        };
        let outcome = {
            let run = pin!(Box::pin(self.session.execute(&statement, Vec::new(), implicit)));
            self.socket.attend(run).await??
        };
        let Outcome::Rows(rows) = outcome else { unreachable!("FETCH gives rows") };
        let mut cursor = Cursor::query(rows, formats)?;
        let (sent, _) = cursor.send(&mut self.socket, self.session.limits(), 0).await?;
        self.write_notices();
        match limit > 0 && sent == limit {
            true => backend::portal_suspended(&mut self.socket.output),
            false => backend::rows_complete(&mut self.socket.output, "SELECT", sent),
        }
        Ok(())
    }

    async fn run_portal(
        &mut self,
        name: &str,
        portal: &mut Portal,
        limit: u64,
        implicit: ImplicitTransaction,
    ) -> Result<(), Stop> {
        match std::mem::replace(&mut portal.state, PortalState::Done) {
            PortalState::Ready(parameters) => self.start(portal, parameters, limit, implicit).await,
            PortalState::Suspended(cursor) => {
                self.session.begin_statement();
                self.send_rows(portal, cursor, limit).await
            }
            PortalState::Exhausted(words) => {
                portal.state = PortalState::Exhausted(words);
                backend::rows_complete(&mut self.socket.output, words, 0);
                Ok(())
            }
            PortalState::Adopted | PortalState::Done => {
                let message = format!("portal \"{name}\" cannot be run");
                Err(Error::new(SqlState::ObjectNotInState, message).into())
            }
        }
    }

    async fn start(
        &mut self,
        portal: &mut Portal,
        parameters: Vec<Value>,
        limit: u64,
        implicit: ImplicitTransaction,
    ) -> Result<(), Stop> {
        let outcome = {
            let run = pin!(self.session.execute(&portal.statement, parameters, implicit));
            self.socket.attend(run).await??
        };
        match outcome {
            Outcome::Rows(rows) => {
                let cursor = Box::new(Cursor::query(rows, &portal.formats)?);
                self.send_rows(portal, cursor, limit).await
            }
            outcome => self.finish(outcome).await,
        }
    }

    /// Sends an outcome that is no query's.
    pub(super) async fn finish(&mut self, outcome: Outcome) -> Result<(), Stop> {
        match outcome {
            Outcome::Command(tag) => {
                self.write_notices();
                backend::command_complete(&mut self.socket.output, &tag);
                if !self.session.in_block() {
                    self.portals.clear(); // portals end with their transaction
                }
                Ok(())
            }
            Outcome::Empty => {
                backend::empty_query(&mut self.socket.output);
                Ok(())
            }
            Outcome::CopyIn(copy) => Box::pin(self.copy_in(copy)).await,
            Outcome::CopyOut(copy) => Box::pin(self.copy_out(copy)).await,
            Outcome::Rows(_) => unreachable!("the caller sends rows"),
        }
    }

    async fn send_rows(
        &mut self,
        portal: &mut Portal,
        mut cursor: Box<Cursor>,
        limit: u64,
    ) -> Result<(), Stop> {
        let (sent, more) = cursor.send(&mut self.socket, self.session.limits(), limit).await?;
        self.write_notices();
        if more {
            backend::portal_suspended(&mut self.socket.output);
            portal.state = PortalState::Suspended(cursor);
            return Ok(());
        }
        let (words, counted) = cursor.tag();
        if words == "SELECT" {
            portal.state = PortalState::Exhausted(words);
        }
        self.write_rows_tag(words, counted, sent);
        Ok(())
    }

    pub(super) fn write_rows_tag(&mut self, words: &str, counted: bool, rows: u64) {
        match counted {
            true => backend::rows_complete(&mut self.socket.output, words, rows),
            false => backend::command_complete(&mut self.socket.output, words),
        }
    }

    /// Sync: the end of a pipeline's transaction, and of skipping.
    pub(super) async fn sync(&mut self, frame: Frame) -> Result<(), Stop> {
        self.socket.input.consume(frame.bytes());
        self.ready().await
    }
}

/// What Execute runs.
enum Taken {
    /// A portal of Bind, and its name.
    Portal(Box<str>, Portal),
    /// The name of a cursor, and the formats of its columns.
    Cursor(Box<str>, Formats),
}

/// A statement as Parse brings it.
enum Parsed {
    /// It was planned before.
    Known(Arc<Statement>),
    /// A text, and the types of its parameters as far as they are told.
    Unknown(String, Vec<u32>),
}

/// What decides whether an Execute is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// Its Sync, with no other statement in between.
    Sync,
    /// Anything else.
    Others,
}

/// Looks through the messages behind an Execute; `None` where too little has arrived to know.
fn what_follows(mut input: &[u8]) -> Option<Follows> {
    let whole = input.len();
    loop {
        match frame(input) {
            Ok(Some(next)) => match next.tag {
                b'S' => return Some(Follows::Sync),
                b'P' | b'B' | b'D' | b'C' => input = &input[next.bytes()..],
                _ => return Some(Follows::Others),
            },
            Ok(None) if whole < LOOK_AHEAD_BYTES => return None,
            Ok(None) | Err(_) => return Some(Follows::Others),
        }
    }
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let head = text.trim_start().get(..word.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(word))
}

fn bind(
    mut fields: Fields<'_>,
    session: &Session,
    unnamed: &Option<Arc<Statement>>,
    portals: &mut Named<Portal>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let portal_name = fields.string()?;
    let statement_name = fields.string()?;
    let statement = find_statement(session, unnamed, statement_name)?;
    let formats = read_formats(&mut fields)?;
    let count = fields.count()?;
    check_parameters(statement, statement_name, &formats, count)?;
    let parameters = read_parameters(&mut fields, portal_name, statement, &formats)?;
    let formats = read_formats(&mut fields)?;
    fields.end()?;
    check_columns(statement, &formats)?;
    let state = PortalState::Ready(parameters);
    let portal = Portal { statement: statement.clone(), formats, state };
    portal::keep_portal(portals, session, portal_name, portal)?;
    backend::bind_complete(out);
    Ok(())
}

fn read_formats(fields: &mut Fields<'_>) -> Result<Formats> {
    match fields.count()? {
        0 => Ok(Formats::All(Format::Text)),
        1 => Ok(Formats::All(portal::format(fields.count()?)?)),
        count => {
            let formats = (0..count).map(|_| portal::format(fields.count()?));
            Ok(Formats::Each(formats.collect::<Result<_>>()?))
        }
    }
}

fn check_parameters(
    statement: &Statement,
    name: &str,
    formats: &Formats,
    count: usize,
) -> Result<()> {
    match formats {
        Formats::Each(formats) if formats.len() != count => {
            let given = formats.len();
            let message =
                format!("bind message has {given} parameter formats but {count} parameters");
            Err(violation(message))
        }
        _ if count != statement.parameters.len() => {
            let wanted = statement.parameters.len();
            let message = format!(
                "bind message supplies {count} parameters, but prepared statement \"{name}\" \
                 requires {wanted}"
            );
            Err(violation(message))
        }
        _ => Ok(()),
    }
}

fn read_parameters(
    fields: &mut Fields<'_>,
    portal: &str,
    statement: &Statement,
    formats: &Formats,
) -> Result<Vec<Value>> {
    let types: &[DataType] = &statement.parameter_types;
    let mut parameters = Vec::with_capacity(types.len());
    for (i, (wanted, type_id)) in types.iter().zip(&statement.parameters).enumerate() {
        parameters.push(match fields.value()? {
            None => Value::Null,
            Some(bytes) => parameter::read(bytes, formats.get(i), *type_id, *wanted)
                .and_then(|value| statement.check_parameter(i, &value).map(|()| value))
                .map_err(|fault| in_parameter(fault, portal, i + 1, formats.get(i), bytes))?,
        });
    }
    Ok(parameters)
}

/// Says which parameter a fault lies in; values are not shown, as PostgreSQL does not by default.
fn in_parameter(fault: Error, portal: &str, number: usize, format: Format, bytes: &[u8]) -> Error {
    let portal = match portal {
        "" => "unnamed portal".to_owned(),
        name => format!("portal \"{name}\""),
    };
    let readable = format == Format::Text && fault.state != SqlState::InvalidByteSequence;
    let value = match (readable, bytes) {
        (false, _) => "",
        (true, []) => " = ''",
        (true, _) => " = '...'",
    };
    fault.context(format!("{portal} parameter ${number}{value}"))
}

fn check_columns(statement: &Statement, formats: &Formats) -> Result<()> {
    let columns = statement.columns.as_ref().map_or(0, |columns| columns.len());
    match formats {
        Formats::Each(formats) if formats.len() != columns => {
            let given = formats.len();
            let message =
                format!("bind message has {given} result formats but query has {columns} columns");
            Err(violation(message))
        }
        _ => Ok(()),
    }
}

fn describe(
    mut fields: Fields<'_>,
    session: &Session,
    unnamed: &Option<Arc<Statement>>,
    portals: &Named<Portal>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let kind = fields.byte()?;
    let name = fields.string()?;
    fields.end()?;
    match kind {
        b'S' => {
            let statement = find_statement(session, unnamed, name)?;
            backend::parameter_description(out, &statement.parameters);
            describe_columns(out, statement, &Formats::All(Format::Text));
        }
        b'P' => {
            // A cursor by DECLARE is a portal, too.
            match (portals.get(name), session.cursor_columns(name)) {
                (Some(portal), _) => describe_columns(out, &portal.statement, &portal.formats),
                (None, Some(columns)) => backend::row_description(out, &columns, |_| Format::Text),
                (None, None) => return Err(unknown_portal(name)),
            }
        }
        _ => return Err(violation(format!("invalid DESCRIBE message subtype {kind}"))),
    }
    Ok(())
}

fn describe_columns(out: &mut Vec<u8>, statement: &Statement, formats: &Formats) {
    match &statement.columns {
        Some(columns) => backend::row_description(out, columns, |i| formats.get(i)),
        None => backend::no_data(out),
    }
}

/// Closing what does not exist is no fault.
fn close(
    mut fields: Fields<'_>,
    session: &mut Session,
    unnamed: &mut Option<Arc<Statement>>,
    portals: &mut Named<Portal>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let kind = fields.byte()?;
    let name = fields.string()?;
    fields.end()?;
    match kind {
        b'S' if name.is_empty() => *unnamed = None,
        b'S' => drop(session.forget_statement(name)),
        b'P' => {
            portals.remove(name);
            session.close_cursor(name);
        }
        _ => return Err(violation(format!("invalid CLOSE message subtype {kind}"))),
    }
    backend::close_complete(out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(tags: &[u8]) -> Vec<u8> {
        tags.iter().flat_map(|tag| [*tag, 0, 0, 0, 4]).collect()
    }

    #[test]
    fn an_execute_is_alone_when_its_sync_comes_before_any_other() {
        assert_eq!(what_follows(&messages(b"S")), Some(Follows::Sync));
        assert_eq!(what_follows(&messages(b"CPBDSE")), Some(Follows::Sync));
        assert_eq!(what_follows(&messages(b"BE")), Some(Follows::Others));
        assert_eq!(what_follows(&messages(b"H")), Some(Follows::Others));
        assert_eq!(what_follows(&messages(b"B")), None);
        assert_eq!(what_follows(&messages(b"S")[..3]), None);
        assert_eq!(what_follows(b"\0\0\0\0\0"), Some(Follows::Others));
    }

    #[test]
    fn words_are_recognised_in_any_case() {
        assert!(starts_with_word("  CoPy t FROM stdin", "copy"));
        assert!(!starts_with_word("cop", "copy"));
    }
}
