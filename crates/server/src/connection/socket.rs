//! The buffers of a connection, and waiting: for input, for room to send, for a statement.
//!
//! Whole messages are appended to `output`; nothing is sent before [`Socket::flush`], so that all answers of a
//! pipeline leave in one write. A page that several connections send is not copied: it is sent from where it is, between
//! the messages before and behind it. While a statement runs the socket is watched: a client that hangs up ends its statement
//! as a cancel does, and what it pipelines meanwhile is read ahead up to a limit; behind that the socket itself is asked
//! ([`Watch`]).

use std::future::{Future, poll_fn};
use std::io::IoSlice;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use engine::env::memory;
use engine::heartbeat::Pages;
use engine::types::{Error, SqlState};
use futures::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWrite, Interest};
use tokio::net::TcpStream;
use tokio::task::coop::unconstrained;
use tokio::time::Interval;

use super::Stop;
use super::input::Input;
use crate::clients::{Client, StopLevel};
use crate::message::frontend::{self, Frame};
use crate::tls::{Stream, Tls};

/// Bytes after which answers are sent while more of them are being made.
pub const OUTPUT_BYTES: usize = 64 << 10;

/// Bytes that are read ahead while a statement runs.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// How often a client whose input nobody reads is asked whether it is still there.
const LOOK: Duration = Duration::from_millis(20);

/// A page that others send as well, and what of the output comes before it.
#[derive(Debug)]
struct Inset {
    at: usize,
    pages: Arc<Pages>,
    page: usize,
}

/// A client's connection.
#[derive(Debug)]
pub struct Socket {
    stream: Stream,
    /// What the client sent.
    pub input: Input,
    /// What it will get.
    pub output: Vec<u8>,
    inset: Option<Inset>,
    /// Of the output and the page in it.
    sent: usize,
    /// The client waits for what `output` holds.
    pub flush_due: bool,
    /// When the first message of the input came, or what makes it whole.
    pub arrived: Instant,
    /// Since when the client does not read what is sent.
    blocked: Option<Instant>,
    /// How long it has not read, since somebody asked last.
    unread: Duration,
    /// How others reach this connection; `None` before the client was let in.
    pub client: Option<Arc<Client>>,
}

impl Socket {
    /// Wraps a stream.
    pub fn new(stream: TcpStream) -> Socket {
        Socket {
            stream: Stream::Plain(stream),
            input: Input::new(),
            output: Vec::with_capacity(1 << 10),
            inset: None,
            sent: 0,
            flush_due: false,
            arrived: Instant::now(),
            blocked: None,
            unread: Duration::ZERO,
            client: None,
        }
    }

    /// Where the client is.
    pub fn peer(&self) -> Option<IpAddr> {
        self.stream.socket()?.peer_addr().ok().map(|address| address.ip())
    }

    /// Whether the handshake is done.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Encrypted(_))
    }

    /// The handshake that the client asked for. What it has sent in the clear behind its request is nothing that a
    /// client says: somebody else might have put it there.
    pub async fn encrypt(&mut self, tls: &Tls) -> Result<(), Stop> {
        if !self.input.pending().is_empty() {
            let message = "received unencrypted data after SSL request";
            return Err(Stop::Fatal(Error::new(SqlState::ProtocolViolation, message)));
        }
        let Stream::Plain(stream) = std::mem::replace(&mut self.stream, Stream::Closed) else {
            return Err(Stop::Gone);
        };
        match tls.accept(stream).await {
            Ok(stream) => {
                self.stream = Stream::Encrypted(Box::new(stream));
                Ok(())
            }
            Err(error) => {
                tracing::debug!(%error, "a TLS handshake failed");
                Err(Stop::Gone)
            }
        }
    }

    /// The message that the input starts with. A broken head ends the connection.
    pub fn frame(&self) -> Result<Option<Frame>, Stop> {
        frontend::frame(self.input.pending()).map_err(Stop::Fatal)
    }

    /// Waits for more input. A message that there was no memory for has come to its end: [`Stop::Refused`].
    pub async fn fill(&mut self) -> Result<(), Stop> {
        self.fill_until(|| false).await
    }

    /// The same, at most until something `has_come` of which the client's task is told.
    pub async fn fill_until(&mut self, has_come: impl Fn() -> bool) -> Result<(), Stop> {
        poll_fn(|context| {
            if let Some(stop) = self.ending(context) {
                return Poll::Ready(Err(stop));
            }
            if has_come() {
                return Poll::Ready(Ok(()));
            }
            loop {
                ready!(self.poll_read(context))?;
                match self.input.pass_over() {
                    Some((tag, error)) => return Poll::Ready(Err(Stop::Refused(tag, error))),
                    None if self.input.passes_over() => {}
                    None => return Poll::Ready(Ok(())),
                }
            }
        })
        .await
    }

    /// Why a client that says nothing has to go.
    fn ending(&self, context: &Context<'_>) -> Option<Stop> {
        let stops = self.stop_level(context) > StopLevel::None;
        let client = self.client.as_ref()?;
        // It holds most of all without a statement that could be ended.
        let holds = || client.usage().is_ended() && !client.rests();
        match stops {
            true => Some(Stop::Fatal(client.why_stopped())),
            false => holds().then(|| Stop::Fatal(memory::ended())),
        }
    }

    /// Waits for more data of a COPY; a cancel request ends the wait with 57014.
    pub async fn fill_unless_cancelled(&mut self) -> Result<(), Stop> {
        let client = self.client.clone();
        let mut fill = pin!(self.fill());
        poll_fn(|context| match &client {
            Some(client) if client.is_cancelled() => Poll::Ready(Err(Stop::Fault(cancelled()))),
            _ => fill.as_mut().poll(context),
        })
        .await
    }

    fn stop_level(&self, context: &Context<'_>) -> StopLevel {
        self.client.as_ref().map_or(StopLevel::None, |client| {
            client.wake_on_request(context);
            client.stop_level()
        })
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Stop>> {
        let has_message = matches!(self.frame(), Ok(Some(_)));
        self.input.make_room();
        // Reading through the stream, not by `try_read`, tells the runtime when the socket is drained: that saves
        // the call that would only say so.
        match ready!(pin!(self.stream.read_buf(self.input.buffer())).poll(context)) {
            Ok(1..) => {
                // What comes behind a message counts as having come with it.
                if !has_message {
                    self.arrived = Instant::now();
                }
                Poll::Ready(Ok(()))
            }
            Ok(0) | Err(_) => Poll::Ready(Err(Stop::Gone)),
        }
    }

    /// How long the client has not read what was sent, since this was asked last.
    pub fn take_unread(&mut self) -> Duration {
        std::mem::take(&mut self.unread)
    }

    /// Appends a page that others send as well; it is copied where there is one already.
    pub fn insert(&mut self, pages: &Arc<Pages>, page: usize) {
        match self.inset {
            None => self.inset = Some(Inset { at: self.output.len(), pages: pages.clone(), page }),
            Some(_) => self.output.extend_from_slice(pages.page(page)),
        }
    }

    /// Bytes that are not sent yet, or together with others that are not.
    pub fn pending_bytes(&self) -> usize {
        parts(&self.output, self.inset.as_ref()).iter().map(|part| part.len()).sum()
    }

    /// Sends all that `output` holds.
    pub async fn flush(&mut self) -> Result<(), Stop> {
        poll_fn(|context| {
            if self.stop_level(context) == StopLevel::Now {
                return Poll::Ready(Err(Stop::Gone));
            }
            self.poll_flush(context)
        })
        .await
    }

    /// Sends all that `output` holds, also while the server stops.
    pub async fn flush_last(&mut self) -> Result<(), Stop> {
        poll_fn(|context| self.poll_flush(context)).await
    }

    /// Sends all that `output` holds, unless the statement is cancelled while the client does not read: then 57014, and
    /// what is not sent yet goes out before the error.
    pub async fn flush_rows(&mut self) -> Result<(), Stop> {
        poll_fn(|context| {
            if self.stop_level(context) == StopLevel::Now {
                return Poll::Ready(Err(Stop::Gone));
            }
            if self.client.as_ref().is_some_and(|client| client.is_cancelled()) {
                return Poll::Ready(Err(Stop::Fault(cancelled())));
            }
            self.poll_flush(context)
        })
        .await
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Stop>> {
        let polled = self.poll_send(context);
        match polled.is_pending() {
            true => _ = self.blocked.get_or_insert_with(Instant::now),
            false => self.unread += self.blocked.take().map_or(Duration::ZERO, |at| at.elapsed()),
        }
        polled
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Stop>> {
        while self.sent < self.pending_bytes() {
            let stream = Pin::new(&mut self.stream);
            let written = match &self.inset {
                None => stream.poll_write(context, &self.output[self.sent..]),
                inset => {
                    let rest = rest(parts(&self.output, inset.as_ref()), self.sent);
                    stream.poll_write_vectored(context, &rest)
                }
            };
            match ready!(written) {
                Ok(written @ 1..) => self.sent += written,
                Ok(0) | Err(_) => return Poll::Ready(Err(Stop::Gone)),
            }
        }
        // What is encrypted has a buffer of its own.
        if ready!(Pin::new(&mut self.stream).poll_flush(context)).is_err() {
            return Poll::Ready(Err(Stop::Gone));
        }
        (self.sent, self.inset) = (0, None);
        self.output.clear();
        self.output.shrink_to(2 * OUTPUT_BYTES);
        self.flush_due = false;
        Poll::Ready(Ok(()))
    }

    /// Runs `future` while watching the socket and for a cancel request, after which it is polled once more. Where the client
    /// goes, it is cancelled and runs on until it ends: a definition that is under way is not left half made. A panic inside
    /// ends this connection and nothing else.
    pub async fn attend<T>(
        &mut self,
        mut future: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, Stop> {
        let (mut is_told, mut watch) = (false, Watch::default());
        let mut gone: Option<Stop> = None;
        poll_fn(|context| {
            self.client.iter().for_each(|client| client.heed_stop(gone.is_some()));
            let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
            match polled {
                Ok(Poll::Ready(value)) => return Poll::Ready(gone.take().map_or(Ok(value), Err)),
                Ok(Poll::Pending) => {}
                Err(_) => return Poll::Ready(Err(Stop::Fatal(panicked()))),
            }
            if gone.is_none() {
                match self.look_meanwhile(context, &mut watch) {
                    Ok(()) => self.tell_of_cancel(context, &mut is_told),
                    Err(stop) => {
                        self.client.iter().for_each(|client| client.cancel());
                        context.waker().wake_by_ref();
                        gone = Some(stop);
                    }
                }
            }
            Poll::Pending
        })
        .await
    }

    /// What a future may do that reads the input.
    pub fn watched(&self) -> Watched<'_> {
        Watched { stream: &self.stream, client: self.client.as_deref() }
    }

    /// Wakes the task where a cancel request has come or comes, once: a statement that cannot end would keep it spinning.
    fn tell_of_cancel(&self, context: &Context<'_>, is_told: &mut bool) {
        let Some(client) = self.client.as_ref().filter(|_| !*is_told) else { return };
        client.wake_on_request(context);
        if client.is_cancelled() {
            *is_told = true;
            context.waker().wake_by_ref();
        }
    }

    /// The same as below however busy the statement keeps its task: a socket is never ready for one that has used up its turn.
    fn look_meanwhile(&mut self, context: &mut Context<'_>, watch: &mut Watch) -> Result<(), Stop> {
        let look = poll_fn(|context| Poll::Ready(self.poll_meanwhile(context, watch)));
        match pin!(unconstrained(look)).poll(context) {
            Poll::Ready(looked) => looked,
            Poll::Pending => Ok(()),
        }
    }

    /// Sends what the client waits for and reads ahead; `Err` when the client has gone.
    fn poll_meanwhile(&mut self, context: &mut Context<'_>, watch: &mut Watch) -> Result<(), Stop> {
        if self.flush_due
            && let Poll::Ready(Err(stop)) = self.poll_flush(context)
        {
            return Err(stop);
        }
        while self.input.pending().len() < READ_AHEAD_BYTES && !self.input.passes_over() {
            match self.poll_read(context) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(stop)) => return Err(stop),
                Poll::Pending => return Ok(()),
            }
        }
        match watch.sees_leave(&self.stream, context) {
            true => Err(Stop::Gone),
            false => Ok(()),
        }
    }
}

/// Asks a socket again and again whether the client has hung up, where nothing is read from it that would tell. That reaches as far
/// as the system has taken what the client has sent: behind more than its buffer holds an end has not come.
#[derive(Default)]
struct Watch(Option<Interval>);

impl Watch {
    /// Whether it has; else the task is woken to ask again.
    fn sees_leave(&mut self, stream: &Stream, context: &mut Context<'_>) -> bool {
        let looks = self.0.get_or_insert_with(|| tokio::time::interval(LOOK));
        while looks.poll_tick(context).is_ready() {
            if has_left(stream) {
                return true;
            }
        }
        false
    }
}

/// Whether the client has hung up, perhaps behind input that nobody has read.
fn has_left(stream: &Stream) -> bool {
    let Some(socket) = stream.socket() else { return true };
    let ready = unconstrained(socket.ready(Interest::READABLE)).now_or_never();
    match ready {
        Some(Ok(ready)) => ready.is_read_closed(),
        Some(Err(_)) => true,
        None => false,
    }
}

/// What is to be sent, in order.
fn parts<'a>(output: &'a [u8], inset: Option<&'a Inset>) -> [&'a [u8]; 3] {
    let (before, behind) = output.split_at(inset.map_or(output.len(), |inset| inset.at));
    [before, inset.map_or(&[], |inset| inset.pages.page(inset.page)), behind]
}

/// What is left of it after so many bytes.
fn rest(parts: [&[u8]; 3], mut sent: usize) -> [IoSlice<'_>; 3] {
    parts.map(|part| {
        let gone = sent.min(part.len());
        sent -= gone;
        IoSlice::new(&part[gone..])
    })
}

/// Runs code that a broken invariant may end, as [`Socket::attend`] does for futures.
pub fn guarded<T>(run: impl FnOnce() -> engine::types::Result<T>) -> Result<T, Stop> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(Stop::Fault),
        Err(_) => Err(Stop::Fatal(panicked())),
    }
}

/// A connection while something reads its input.
pub struct Watched<'a> {
    stream: &'a Stream,
    client: Option<&'a Client>,
}

impl Watched<'_> {
    /// Runs a future that borrows the input. Where it waits for somebody, and the client goes meanwhile, it is cancelled as in
    /// [`Socket::attend`].
    pub async fn run<T>(
        self,
        future: impl Future<Output = engine::types::Result<T>>,
    ) -> Result<T, Stop> {
        let mut future = pin!(future);
        let (mut watch, mut is_gone) = (Watch::default(), false);
        poll_fn(|context| {
            self.client.iter().for_each(|client| client.heed_stop(is_gone));
            match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
                Ok(Poll::Ready(_)) if is_gone => return Poll::Ready(Err(Stop::Gone)),
                Ok(Poll::Ready(outcome)) => return Poll::Ready(outcome.map_err(Stop::Fault)),
                Ok(Poll::Pending) => {}
                Err(_) => return Poll::Ready(Err(Stop::Fatal(panicked()))),
            }
            if !is_gone && watch.sees_leave(self.stream, context) {
                is_gone = true;
                self.client.iter().for_each(|client| client.cancel());
                context.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await
    }
}

/// The client asked for it.
pub fn cancelled() -> Error {
    Error::new(SqlState::QueryCanceled, "canceling statement due to user request")
}

/// A broken invariant. What it left behind in the session is unknown, so the connection does not go on.
fn panicked() -> Error {
    tracing::error!("a statement broke an invariant; its connection is closed");
    Error::new(SqlState::InternalError, "internal error: a broken invariant ended this statement")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_of_the_parts_is_left_out() {
        let left = |sent| rest([b"ab", b"cde", b"f"], sent).map(|part| part.to_vec());
        assert_eq!(left(0), [&b"ab"[..], b"cde", b"f"]);
        assert_eq!(left(1), [&b"b"[..], b"cde", b"f"]);
        assert_eq!(left(4), [&b""[..], b"e", b"f"]);
        assert_eq!(left(6), [b"", b"", b""]);
    }
}
