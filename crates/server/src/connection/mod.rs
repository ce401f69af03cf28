//! One client's connection, from its first byte to its last.
//!
//! A loop of our own: all complete messages in the input buffer are taken in order and answered into the output buffer,
//! which is written once when nothing is left to do. pgwire's loop awaits and flushes message by message, which
//! costs more than a statement here; of pgwire only the SCRAM exchange is used (`authentication`).
//! [`startup`] lets a client in, [`extended`] and [`simple`] run its statements, [`copy`] feeds COPY FROM STDIN. Called by
//! `listener`. Absent here: what statements mean (`sql`), bytes of messages (`message`) and of values (`value`).

mod adopted;
mod copy;
mod copy_binary;
mod extended;
mod input;
mod notifications;
mod portal;
mod rows;
mod simple;
mod socket;
mod startup;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use engine::env::{memory, stalls};
use engine::types::{Error, SqlState};
use sql::{Session, Statement, TransactionStatus};
use tokio::net::TcpStream;

use crate::clients::{Client, StopLevel};
use crate::listener::Shared;
use crate::message::backend;
use crate::message::fault::{self, Severity};
use crate::message::frontend::{Frame, violation};
use portal::{Named, Portal};
use socket::{OUTPUT_BYTES, Socket};
pub use startup::is_loopback;

/// How long a client may take to read the error that its connection ends with.
const FAREWELL: Duration = Duration::from_secs(2);

/// The same where the server stops, for which all wait.
const LAST_FAREWELL: Duration = Duration::from_millis(100);

/// Why the usual course ends.
#[derive(Debug)]
pub enum Stop {
    /// The statement fails; the connection goes on.
    Fault(Error),
    /// The connection ends, and the client is told.
    Fatal(Error),
    /// There was no memory for a message of that kind: it was passed over.
    Refused(u8, Error),
    /// The client has gone, or asked to end.
    Gone,
}

impl From<Error> for Stop {
    fn from(fault: Error) -> Stop {
        Stop::Fault(fault)
    }
}

/// Serves one connection to its end.
pub async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut socket = Socket::new(stream);
    let session = match startup::greet(&mut socket, &shared).await {
        Ok(session) => session,
        Err(stop) => return farewell(&mut socket, stop).await,
    };
    let client = socket.client.clone().expect("startup has entered the client");
    let _leave = Leave { shared: &shared, client };
    let usage = session.usage().clone();
    let mut connection = Connection::new(socket, session);
    let serving = stalls::watched(Box::pin(connection.run()));
    let stop = memory::counted(&usage, serving).await;
    farewell(&mut connection.socket, stop).await;
}

/// Takes the client off the list, also when its task is dropped or panics.
struct Leave<'a> {
    shared: &'a Shared,
    client: Arc<Client>,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.client.cancel();
        self.shared.clients.leave(&self.client);
    }
}

/// Sends what is left to say. A client that ends may still read, one that does not read does not want to know.
async fn farewell(socket: &mut Socket, stop: Stop) {
    if let Stop::Fault(error) | Stop::Fatal(error) | Stop::Refused(_, error) = stop {
        fault::write(&mut socket.output, Severity::Fatal, &error);
    }
    let stops = socket.client.as_ref().is_some_and(|one| one.stop_level() > StopLevel::None);
    let patience = if stops { LAST_FAREWELL } else { FAREWELL };
    let _ = tokio::time::timeout(patience, socket.flush_last()).await;
}

/// Shorter texts are planned without a question.
const SHORT_TEXT: usize = 4 << 10;

/// What parsing and planning take for a byte of a text, and for one within quotes: as was measured for lists of rows.
const PLANNED_BYTES: usize = 250;
const QUOTED_BYTES: usize = 8;

/// Asks for what it will take to plan a text; 53200 where there is no memory for it.
fn make_room_to_plan(text: &str) -> Result<(), Error> {
    if text.len() < SHORT_TEXT || !memory::process().is_limited() {
        return Ok(());
    }
    let parts = text.as_bytes().split(|byte| *byte == b'\'');
    let (mut bytes, mut is_quoted) = (0, false);
    for part in parts {
        bytes += part.len() * if is_quoted { QUOTED_BYTES } else { PLANNED_BYTES };
        is_quoted = !is_quoted;
    }
    memory::process().ask(bytes)
}

/// A client that was let in.
struct Connection {
    socket: Socket,
    session: Session,
    /// The statement of Parse without a name; the session has those with one.
    unnamed: Option<Arc<Statement>>,
    portals: Named<Portal>,
    /// An extended-protocol message failed: everything up to the next Sync is discarded.
    skipping: bool,
    /// Something failed since the last Sync.
    failed: bool,
    /// A statement ran since the last Sync.
    executed: bool,
    /// Something of the extended protocol came since the last Sync.
    is_in_pipeline: bool,
}

impl Connection {
    fn new(socket: Socket, session: Session) -> Connection {
        Connection {
            socket,
            session,
            unnamed: None,
            portals: Named::default(),
            skipping: false,
            failed: false,
            executed: false,
            is_in_pipeline: false,
        }
    }

    fn client(&self) -> &Client {
        self.socket.client.as_deref().expect("a client that was let in is entered")
    }

    /// Serves messages until the connection ends; says why it did.
    async fn run(&mut self) -> Stop {
        loop {
            match self.step().await.map_err(|stop| self.as_stopped(stop)) {
                Ok(()) => {}
                Err(Stop::Fault(error)) => self.fail(&error),
                Err(Stop::Refused(tag, error)) => {
                    if let Err(stop) = self.refuse(tag, error).await {
                        return stop;
                    }
                }
                Err(stop) => return stop,
            }
        }
    }

    /// Where the server stops, that is why a statement was cancelled.
    fn as_stopped(&self, stop: Stop) -> Stop {
        match stop {
            Stop::Fault(error)
                if error.state == SqlState::QueryCanceled
                    && self.client().stop_level() > StopLevel::None =>
            {
                Stop::Fatal(self.client().why_stopped())
            }
            stop => stop,
        }
    }

    /// One message, or more input.
    async fn step(&mut self) -> Result<(), Stop> {
        let Some(frame) = self.next_frame()? else {
            self.write_notifications_if_idle();
            if self.socket.flush_due {
                self.flush().await?;
            }
            self.client().set_rests(self.keeps_nothing());
            let waited = self.wait().await;
            self.client().set_rests(false);
            return waited;
        };
        if self.client().stop_level() > StopLevel::None {
            return Err(Stop::Fatal(self.client().why_stopped()));
        }
        if self.socket.pending_bytes() >= OUTPUT_BYTES {
            self.flush().await?;
        }
        // A long pipeline must not keep the thread from other connections.
        tokio::task::coop::consume_budget().await;
        self.message(frame).await
    }

    /// Sends all that there is for the client.
    async fn flush(&mut self) -> Result<(), Stop> {
        self.socket.flush().await?;
        self.session.answers_are_out(self.socket.take_unread());
        Ok(())
    }

    /// Whether nothing is left of its statements and messages that could be given back.
    fn keeps_nothing(&self) -> bool {
        let is_idle = self.portals.is_empty() && self.socket.input.pending().is_empty();
        is_idle && self.session.keeps_nothing()
    }

    /// The next message that can be dealt with. An Execute waits until it is known whether it is alone.
    fn next_frame(&self) -> Result<Option<Frame>, Stop> {
        let frame = self.socket.frame()?;
        Ok(frame
            .filter(|frame| frame.tag != b'E' || self.skipping || self.knows_what_follows(*frame)))
    }

    async fn message(&mut self, frame: Frame) -> Result<(), Stop> {
        if self.skipping && !matches!(frame.tag, b'S' | b'X') {
            self.socket.input.consume(frame.bytes());
            return Ok(());
        }
        self.is_in_pipeline |= matches!(frame.tag, b'P' | b'B' | b'D' | b'C' | b'E');
        // Parse runs nothing: what is promised begins with Execute.
        let runs = matches!(frame.tag, b'Q' | b'E');
        self.session.message_has_come(runs.then_some(self.socket.arrived));
        match frame.tag {
            b'Q' => self.simple_query(frame).await,
            b'P' => self.parse(frame).await,
            b'B' | b'D' | b'C' => self.prepare_step(frame),
            b'E' => self.execute(frame).await,
            b'S' => self.sync(frame).await,
            b'H' => {
                self.socket.input.consume(frame.bytes());
                self.flush().await
            }
            b'X' => Err(Stop::Gone),
            // What is left of a COPY that failed: the client has not read the error yet.
            b'd' | b'c' | b'f' => {
                self.socket.input.consume(frame.bytes());
                Ok(())
            }
            b'F' => self.refuse_call(frame).await,
            _ => Err(Stop::Fatal(violation("unexpected message"))),
        }
    }

    /// A message was passed over: what it would have done has failed.
    async fn refuse(&mut self, tag: u8, error: Error) -> Result<(), Stop> {
        match tag {
            _ if self.skipping => {}
            // What is left of a COPY that failed.
            b'd' => {}
            b'Q' => {
                self.write_error(&error);
                self.failed = true;
                return self.ready().await;
            }
            _ => self.fail(&error),
        }
        Ok(())
    }

    /// An extended-protocol message failed. The client is told as soon as its input is done with, as PostgreSQL does: it
    /// may wait for an answer before it sends Sync.
    fn fail(&mut self, error: &Error) {
        self.write_notices();
        self.write_error(error);
        self.socket.flush_due = true;
        self.skipping = true;
        self.failed = true;
    }

    /// FunctionCall is a statement of its own, with no Sync behind it.
    async fn refuse_call(&mut self, frame: Frame) -> Result<(), Stop> {
        self.socket.input.consume(frame.bytes());
        let message = "function calls by protocol message are not supported";
        self.fail(&Error::new(SqlState::FeatureNotSupported, message));
        self.ready().await
    }

    /// Tells the client what went wrong. A statement that was ended because it had most says so.
    fn write_error(&mut self, error: &Error) {
        let usage = self.session.usage();
        let ended = error.state == SqlState::QueryCanceled && usage.is_ended();
        usage.begin();
        let out = &mut self.socket.output;
        match ended {
            true => fault::write(out, Severity::Error, &memory::ended()),
            false => fault::write(out, Severity::Error, error),
        }
    }

    /// What the session has to tell beside answers.
    fn write_notices(&mut self) {
        for notice in self.session.take_notices() {
            fault::write(&mut self.socket.output, Severity::Notice, &notice);
        }
    }

    /// Ends the implicit transaction, if one was begun, and says that the server is ready.
    async fn ready(&mut self) -> Result<(), Stop> {
        if self.executed || self.failed {
            let ended = {
                let end = pin!(self.session.end_implicit(self.failed));
                self.socket.attend(end).await?
            };
            if let Err(error) = ended {
                self.write_error(&error);
            }
        }
        self.write_notices();
        self.write_notifications().await?;
        for (name, value) in self.session.take_parameter_changes() {
            backend::parameter_status(&mut self.socket.output, &name, &value);
        }
        self.session.usage().begin();
        let status = self.session.transaction_status();
        if status == TransactionStatus::Idle {
            self.portals.clear();
        }
        backend::ready_for_query(&mut self.socket.output, status);
        self.socket.flush_due = true;
        (self.skipping, self.failed, self.executed) = (false, false, false);
        self.is_in_pipeline = false;
        Ok(())
    }
}
