//! One client's connection, from its first byte to its last.
//!
//! A loop of our own: all complete messages in the input buffer are taken in order and answered into the output buffer,
//! which is written once when nothing is left to do. pgwire's loop awaits and flushes message by message, which
//! costs more than a statement here; of pgwire only the SCRAM exchange is used (`authentication`).
//! [`startup`] lets a client in, [`extended`] and [`simple`] run its statements, [`copy`] feeds COPY FROM STDIN. Called by
//! `listener`. Absent here: what statements mean (`sql`), bytes of messages (`message`) and of values (`value`).

mod copy;
mod copy_binary;
mod deallocate;
mod extended;
mod portal;
mod rows;
mod simple;
mod socket;
mod startup;

use std::sync::Arc;
use std::time::Duration;

use engine::types::Error;
use sql::{Session, Statement, TransactionStatus};
use tokio::net::TcpStream;

use crate::clients::Client;
use crate::listener::Shared;
use crate::message::backend;
use crate::message::fault::{self, Severity};
use crate::message::frontend::{Frame, violation};
use portal::{Named, Portal};
use socket::{OUTPUT_BYTES, Socket};
pub use startup::is_loopback;

/// How long a client may take to read the error that its connection ends with.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why the usual course ends.
#[derive(Debug)]
pub enum Stop {
    /// The statement fails; the connection goes on.
    Fault(Error),
    /// The connection ends, and the client is told.
    Fatal(Error),
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
    let mut connection = Connection::new(socket, session);
    let stop = connection.run().await;
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
    if let Stop::Fault(error) | Stop::Fatal(error) = stop {
        fault::write(&mut socket.output, Severity::Fatal, &error);
    }
    let _ = tokio::time::timeout(FAREWELL, socket.flush_last()).await;
}

/// A client that was let in.
struct Connection {
    socket: Socket,
    session: Session,
    statements: Named<Arc<Statement>>,
    portals: Named<Portal>,
    /// An extended-protocol message failed: everything up to the next Sync is discarded.
    skipping: bool,
    /// Something failed since the last Sync.
    failed: bool,
    /// A statement ran since the last Sync.
    executed: bool,
}

impl Connection {
    fn new(socket: Socket, session: Session) -> Connection {
        Connection {
            socket,
            session,
            statements: Named::default(),
            portals: Named::default(),
            skipping: false,
            failed: false,
            executed: false,
        }
    }

    fn client(&self) -> &Client {
        self.socket.client.as_deref().expect("a client that was let in is entered")
    }

    /// Serves messages until the connection ends; says why it did.
    async fn run(&mut self) -> Stop {
        loop {
            match self.step().await {
                Ok(()) => {}
                Err(Stop::Fault(error)) => self.fail(&error),
                Err(stop) => return stop,
            }
        }
    }

    /// One message, or more input.
    async fn step(&mut self) -> Result<(), Stop> {
        let Some(frame) = self.next_frame()? else {
            if self.socket.flush_due {
                self.socket.flush().await?;
            }
            return self.socket.fill().await;
        };
        if self.socket.pending_bytes() >= OUTPUT_BYTES {
            self.socket.flush().await?;
        }
        // A long pipeline must not keep the thread from other connections.
        tokio::task::coop::consume_budget().await;
        self.message(frame).await
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
        match frame.tag {
            b'Q' => self.simple_query(frame).await,
            b'P' | b'B' | b'D' | b'C' => self.prepare_step(frame),
            b'E' => self.execute(frame).await,
            b'S' => self.sync(frame).await,
            b'H' => {
                self.socket.input.consume(frame.bytes());
                self.socket.flush().await
            }
            b'X' => Err(Stop::Gone),
            // What is left of a COPY that failed: the client has not read the error yet.
            b'd' | b'c' | b'f' => {
                self.socket.input.consume(frame.bytes());
                Ok(())
            }
            b'F' => {
                self.socket.input.consume(frame.bytes());
                Err(violation("function calls by protocol message are not supported").into())
            }
            _ => Err(Stop::Fatal(violation("unexpected message"))),
        }
    }

    /// An extended-protocol message failed.
    fn fail(&mut self, error: &Error) {
        self.write_notices();
        fault::write(&mut self.socket.output, Severity::Error, error);
        self.skipping = true;
        self.failed = true;
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
            let end = self.session.end_implicit(self.failed);
            if let Err(error) = self.socket.attend(end).await? {
                fault::write(&mut self.socket.output, Severity::Error, &error);
            }
        }
        self.write_notices();
        for (name, value) in self.session.take_parameter_changes() {
            backend::parameter_status(&mut self.socket.output, &name, &value);
        }
        let status = self.session.transaction_status();
        if status == TransactionStatus::Idle {
            self.portals.clear();
        }
        backend::ready_for_query(&mut self.socket.output, status);
        self.socket.flush_due = true;
        (self.skipping, self.failed, self.executed) = (false, false, false);
        Ok(())
    }
}
