//! What a client has sent and nobody has understood yet.
//!
//! Bytes come in from the socket, whole messages go out by [`Input::pending`] and [`Input::consume`]. A message that there is no
//! memory for is received to its end and forgotten. Called by [`super::socket`].

use engine::env::memory::{Reservation, Share};
use engine::types::Error;

use crate::message::frontend::{self, Frame, HEAD};

/// Bytes of a fresh input buffer: an idle connection keeps no more.
const INPUT_BYTES: usize = 8 << 10;

/// Bytes that every connection may keep of what it received; what it keeps beyond them is counted.
const UNCOUNTED_BYTES: usize = 128 << 10;

/// Bytes received and not yet understood.
#[derive(Debug)]
pub struct Input {
    bytes: Vec<u8>,
    start: usize,
    held: Reservation,
    /// The message that is passed over, since there was no memory for it.
    refused: Option<Refused>,
}

/// A message that is received to its end and forgotten, so that what comes behind it is understood.
#[derive(Debug)]
struct Refused {
    tag: u8,
    /// Bytes of it that have not come yet.
    left: usize,
    error: Error,
}

impl Input {
    /// An empty buffer.
    pub fn new() -> Input {
        Input {
            bytes: Vec::with_capacity(INPUT_BYTES),
            start: 0,
            held: Reservation::new(Share::Messages),
            refused: None,
        }
    }

    /// All bytes not yet consumed.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// The body of the message that the input starts with.
    pub fn body(&self, frame: Frame) -> &[u8] {
        &self.pending()[HEAD..frame.bytes()]
    }

    /// Drops bytes that were understood.
    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.bytes.len(), "consumes what is there");
        if self.start == self.bytes.len() || self.start >= UNCOUNTED_BYTES {
            self.bytes.drain(..self.start);
            self.start = 0;
            self.bytes.shrink_to(INPUT_BYTES);
            self.held.shrink_to(self.bytes.capacity().saturating_sub(UNCOUNTED_BYTES));
        }
    }

    /// Makes room behind the pending bytes. Grows by doubling what has arrived, never by what a message declares, and where
    /// memory is missing for more of an unfinished message, that message is passed over.
    pub fn make_room(&mut self) {
        if self.start > 0 && self.bytes.capacity() - self.bytes.len() < INPUT_BYTES / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        if self.bytes.len() == self.bytes.capacity() {
            let more = self.bytes.len().max(INPUT_BYTES).min(self.missing());
            match self.hold(self.bytes.len() + more) {
                Ok(()) => self.bytes.reserve_exact(more),
                Err(error) => self.refuse(error),
            }
        }
    }

    /// Bytes that the first message lacks; without bound where it is there.
    fn missing(&self) -> usize {
        match frontend::declared(self.pending()) {
            Some(frame) if frame.bytes() > self.pending().len() => {
                (frame.bytes() - self.pending().len()).max(INPUT_BYTES)
            }
            _ => usize::MAX,
        }
    }

    fn hold(&mut self, bytes: usize) -> Result<(), Error> {
        self.held.grow_to(bytes.saturating_sub(UNCOUNTED_BYTES))
    }

    /// Passes the first message over, where it has not come to its end: what is there of it goes, the rest will not be kept.
    fn refuse(&mut self, error: Error) {
        let arrived = self.pending().len();
        match frontend::declared(self.pending()) {
            Some(frame) if frame.bytes() > arrived => {
                self.refused =
                    Some(Refused { tag: frame.tag, left: frame.bytes() - arrived, error });
                self.consume(arrived);
            }
            // What is read ahead of whole messages has a limit of its own.
            _ => self.bytes.reserve(INPUT_BYTES),
        }
    }

    /// Forgets what has come of a message that is passed over; at its end gives its kind and why.
    pub fn pass_over(&mut self) -> Option<(u8, Error)> {
        let refused = self.refused.as_mut()?;
        let come = refused.left.min(self.bytes.len() - self.start);
        refused.left -= come;
        let is_over = refused.left == 0;
        self.consume(come);
        let refused = self.refused.take_if(|_| is_over)?;
        Some((refused.tag, refused.error))
    }

    /// Whether what comes belongs to a message that is passed over.
    pub fn passes_over(&self) -> bool {
        self.refused.is_some()
    }

    /// Where what is received goes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use engine::env::memory;
    use engine::types::SqlState;

    use super::*;

    #[test]
    fn input_keeps_pending_bytes_when_it_makes_room() {
        let mut input = Input::new();
        input.bytes.extend([7; INPUT_BYTES - 10]);
        input.consume(INPUT_BYTES - 20);
        input.bytes.extend([8; 10]);
        input.make_room();
        assert_eq!(input.start, 0);
        assert_eq!(input.pending(), [[7; 10], [8; 10]].concat());
        assert!(input.bytes.capacity() > input.bytes.len());
    }

    #[test]
    fn a_message_without_memory_is_passed_over_and_the_next_one_understood() {
        let mut input = Input::new();
        input.bytes.extend([b'Q', 0, 0, 0, 104]);
        input.bytes.extend([b'x'; 60]);
        input.refuse(memory::ended());
        assert!(input.pending().is_empty());
        input.bytes.extend([b'x'; 30]);
        assert!(input.pass_over().is_none() && input.refused.is_some());
        input.bytes.extend([b'x'; 10]);
        input.bytes.extend(b"next");
        let (tag, error) = input.pass_over().expect("its end has come");
        assert_eq!((tag, error.state), (b'Q', SqlState::OutOfMemory));
        assert_eq!(input.pending(), b"next");
        assert!(input.pass_over().is_none());
    }

    #[test]
    fn a_buffer_grows_no_further_than_its_message() {
        let mut input = Input::new();
        input.bytes.extend([b'Q', 0, 2, 0, 4]);
        input.bytes.extend(vec![b'x'; 120 << 10]);
        input.bytes.shrink_to_fit();
        input.make_room();
        assert!(input.bytes.capacity() < 150 << 10);
    }

    #[test]
    fn a_large_message_leaves_no_large_buffer_behind() {
        let mut input = Input::new();
        input.bytes.extend(vec![1; 1 << 20]);
        input.consume(1 << 20);
        assert!(input.bytes.capacity() < 1 << 15);
    }
}
