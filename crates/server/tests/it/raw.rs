//! A client that sends bytes as they are told, well formed or not.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::waiting::HANG;

/// A connection.
pub struct Raw {
    stream: TcpStream,
    /// From BackendKeyData.
    pub key: (i32, u32),
    pending: Vec<u8>,
}

/// One message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub tag: u8,
    /// Without tag and length.
    pub body: Vec<u8>,
}

impl Message {
    /// A field of an ErrorResponse.
    pub fn field(&self, code: u8) -> Option<String> {
        let mut fields = self.body.split(|byte| *byte == 0);
        let field = fields.find(|field| field.first() == Some(&code))?;
        Some(String::from_utf8_lossy(&field[1..]).into_owned())
    }

    /// The values of a DataRow.
    pub fn values(&self) -> Vec<Option<&[u8]>> {
        let mut rest = &self.body[2..];
        let mut row = Vec::new();
        while let Some((length, tail)) = rest.split_first_chunk::<4>() {
            let length = i32::from_be_bytes(*length);
            let (value, tail) = tail.split_at(length.max(0) as usize);
            row.push((length >= 0).then_some(value));
            rest = tail;
        }
        row
    }

    /// The values of a DataRow as text.
    pub fn row(&self) -> Vec<Option<String>> {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        self.values().into_iter().map(|value| value.map(text)).collect()
    }

    /// The tag of CommandComplete.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim_end_matches('\0').to_string()
    }
}

/// What came up to a ReadyForQuery.
pub trait Messages {
    /// Their kinds, without ParameterStatus.
    fn tags(&self) -> String;
    /// The SQLSTATEs of the errors.
    fn states(&self) -> Vec<String>;
    /// All DataRows.
    fn rows(&self) -> Vec<Vec<Option<String>>>;
    /// All command tags.
    fn commands(&self) -> Vec<String>;
    /// The letter of the last ReadyForQuery.
    fn status(&self) -> char;
}

impl Messages for [Message] {
    fn tags(&self) -> String {
        self.iter().filter(|m| m.tag != b'S').map(|m| char::from(m.tag)).collect()
    }

    fn states(&self) -> Vec<String> {
        let errors = self.iter().filter(|m| m.tag == b'E');
        errors.map(|m| m.field(b'C').expect("has a state")).collect()
    }

    fn rows(&self) -> Vec<Vec<Option<String>>> {
        self.iter().filter(|m| m.tag == b'D').map(Message::row).collect()
    }

    fn commands(&self) -> Vec<String> {
        self.iter().filter(|m| m.tag == b'C').map(Message::text).collect()
    }

    fn status(&self) -> char {
        let ready = self.iter().rfind(|m| m.tag == b'Z').expect("ready");
        char::from(ready.body[0])
    }
}

impl Messages for Vec<Message> {
    fn tags(&self) -> String {
        self.as_slice().tags()
    }

    fn states(&self) -> Vec<String> {
        self.as_slice().states()
    }

    fn rows(&self) -> Vec<Vec<Option<String>>> {
        self.as_slice().rows()
    }

    fn commands(&self) -> Vec<String> {
        self.as_slice().commands()
    }

    fn status(&self) -> char {
        self.as_slice().status()
    }
}

impl Raw {
    /// A socket; nothing is said yet.
    pub fn open(address: SocketAddr) -> Raw {
        let stream = TcpStream::connect(address).expect("somebody listens");
        stream.set_read_timeout(Some(HANG)).expect("a socket");
        stream.set_write_timeout(Some(HANG)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Raw { stream, key: (0, 0), pending: Vec::new() }
    }

    /// Of the server.
    pub fn address(&self) -> SocketAddr {
        self.stream.peer_addr().expect("a socket")
    }

    /// A connection that was let in.
    pub fn connect(address: SocketAddr) -> Raw {
        let mut raw = Raw::open(address);
        raw.startup(&[("user", "shareddb"), ("database", "shareddb")]);
        for message in raw.until_ready() {
            assert_ne!(message.tag, b'E', "refused: {:?}", message.text());
            if message.tag == b'K' {
                let (process, secret) = message.body.split_at(4);
                raw.key = (
                    i32::from_be_bytes(process.try_into().expect("4 bytes")),
                    u32::from_be_bytes(secret.try_into().expect("4 bytes")),
                );
            }
        }
        raw
    }

    /// Sends a start-up packet of version 3.0.
    pub fn startup(&mut self, parameters: &[(&str, &str)]) {
        let mut body = 196_608u32.to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend(format!("{name}\0{value}\0").bytes());
        }
        body.push(0);
        self.packet(&body);
    }

    /// Sends bytes with their length before them.
    pub fn packet(&mut self, body: &[u8]) {
        let mut bytes = (body.len() as u32 + 4).to_be_bytes().to_vec();
        bytes.extend(body);
        self.bytes(&bytes);
    }

    /// Sends bytes as they are. The server may have closed the connection meanwhile.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Queues a message; it leaves with the next read.
    pub fn message(&mut self, tag: u8, body: &[u8]) {
        self.pending.push(tag);
        self.pending.extend((body.len() as u32 + 4).to_be_bytes());
        self.pending.extend(body);
    }

    /// Sends what is queued.
    pub fn send(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.bytes(&pending);
    }

    /// Query.
    pub fn query(&mut self, text: &str) {
        self.message(b'Q', format!("{text}\0").as_bytes());
    }

    /// Parse without types.
    pub fn parse(&mut self, name: &str, text: &str) {
        self.message(b'P', format!("{name}\0{text}\0\0\0").as_bytes());
    }

    /// Bind with text parameters and results.
    pub fn bind(&mut self, portal: &str, statement: &str, parameters: &[Option<&str>]) {
        let values: Vec<_> = parameters.iter().map(|value| value.map(str::as_bytes)).collect();
        self.bind_formats(portal, statement, &[], &values, &[]);
    }

    /// Bind with formats.
    pub fn bind_formats(
        &mut self,
        portal: &str,
        statement: &str,
        formats: &[u16],
        parameters: &[Option<&[u8]>],
        results: &[u16],
    ) {
        let mut body = format!("{portal}\0{statement}\0").into_bytes();
        let list = |codes: &[u16], body: &mut Vec<u8>| {
            body.extend((codes.len() as u16).to_be_bytes());
            codes.iter().for_each(|code| body.extend(code.to_be_bytes()));
        };
        list(formats, &mut body);
        body.extend((parameters.len() as u16).to_be_bytes());
        for parameter in parameters {
            match parameter {
                None => body.extend((-1i32).to_be_bytes()),
                Some(bytes) => {
                    body.extend((bytes.len() as u32).to_be_bytes());
                    body.extend(*bytes);
                }
            }
        }
        list(results, &mut body);
        self.message(b'B', &body);
    }

    /// Execute.
    pub fn execute(&mut self, portal: &str, limit: u32) {
        let mut body = format!("{portal}\0").into_bytes();
        body.extend(limit.to_be_bytes());
        self.message(b'E', &body);
    }

    /// Describe (`S` or `P`).
    pub fn describe(&mut self, kind: char, name: &str) {
        self.message(b'D', format!("{kind}{name}\0").as_bytes());
    }

    /// Close (`S` or `P`).
    pub fn close(&mut self, kind: char, name: &str) {
        self.message(b'C', format!("{kind}{name}\0").as_bytes());
    }

    /// Sync.
    pub fn sync(&mut self) {
        self.message(b'S', b"");
    }

    /// The next message, or `None` where the server has closed the connection.
    pub fn try_read(&mut self) -> Option<Message> {
        self.send();
        let mut head = [0; 5];
        self.fill(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.fill(&mut body)?;
        Some(Message { tag: head[0], body })
    }

    /// `None` where the connection is closed; who neither answers nor closes hangs.
    fn fill(&mut self, bytes: &mut [u8]) -> Option<()> {
        let fault = self.stream.read_exact(bytes).err();
        let hangs =
            |fault: &Error| matches!(fault.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        assert!(!fault.as_ref().is_some_and(hangs), "waited {HANG:?} in vain: the server answers");
        fault.is_none().then_some(())
    }

    /// The next message.
    pub fn read(&mut self) -> Message {
        self.try_read().expect("the server answers")
    }

    /// One byte that is no message: the answer to an encryption request.
    pub fn read_byte(&mut self) -> u8 {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).expect("the server answers");
        byte[0]
    }

    /// Passes over messages up to the first of a kind.
    pub fn pass_to(&mut self, tag: u8) {
        while self.read().tag != tag {}
    }

    /// All messages up to ReadyForQuery.
    pub fn until_ready(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            messages.push(self.read());
            if messages.last().is_some_and(|message| message.tag == b'Z') {
                return messages;
            }
        }
    }

    /// All messages until the server closes the connection.
    pub fn until_closed(&mut self) -> Vec<Message> {
        std::iter::from_fn(|| self.try_read()).collect()
    }

    /// Runs a script that must succeed.
    pub fn run(&mut self, text: &str) -> Vec<Message> {
        self.query(text);
        let messages = self.until_ready();
        assert_eq!(messages.states(), [""; 0], "{text}: {messages:?}");
        messages
    }

    /// Runs a script that must fail; gives the first SQLSTATE.
    pub fn fail(&mut self, text: &str) -> String {
        self.query(text);
        let states = self.until_ready().states();
        states.into_iter().next().unwrap_or_else(|| panic!("{text} should fail"))
    }

    /// The first column of a query's rows.
    pub fn column(&mut self, text: &str) -> Vec<String> {
        let rows = self.run(text).rows();
        rows.into_iter().map(|mut row| row.remove(0).unwrap_or_default()).collect()
    }
}
