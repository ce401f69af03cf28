//! A client that asks a server to describe statements.

use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// An output column as the server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub type_oid: u32,
    pub typmod: i32,
}

/// What is said of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Described {
    /// Types of its parameters, and its columns.
    Fine { parameters: Vec<u32>, columns: Vec<Column> },
    /// Why it has no meaning.
    Fault { sqlstate: String, message: String, position: Option<usize> },
}

/// A connection.
pub struct Client {
    input: BufReader<UnixStream>,
    output: BufWriter<UnixStream>,
}

impl Client {
    pub fn connect(socket: &Path, database: &str) -> Client {
        let stream = UnixStream::connect(socket).expect("the server listens");
        let input = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut client = Client { input, output: BufWriter::new(stream) };
        let mut body = 196_608_u32.to_be_bytes().to_vec();
        for text in ["user", "postgres", "database", database, "client_encoding", "UTF8"] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        let length = u32::try_from(body.len() + 4).expect("it is short");
        client.output.write_all(&length.to_be_bytes()).expect("the server reads");
        client.output.write_all(&body).expect("the server reads");
        client.output.flush().expect("the server reads");
        while client.message().0 != b'Z' {}
        client
    }

    fn send(&mut self, kind: u8, body: &[u8]) {
        let length = u32::try_from(body.len() + 4).expect("texts are short");
        self.output.write_all(&[kind]).expect("the server reads");
        self.output.write_all(&length.to_be_bytes()).expect("the server reads");
        self.output.write_all(body).expect("the server reads");
    }

    fn message(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.input.read_exact(&mut head).expect("the server answers");
        let length = u32::from_be_bytes(head[1..].try_into().expect("four bytes"));
        let mut body = vec![0; length as usize - 4];
        self.input.read_exact(&mut body).expect("the server answers");
        (head[0], body)
    }

    /// Runs a script; the rows of its queries, or the first fault.
    pub fn run(&mut self, text: &str) -> Result<Vec<Vec<String>>, String> {
        self.send(b'Q', &[text.as_bytes(), &[0]].concat());
        self.output.flush().expect("the server reads");
        let (mut rows, mut fault) = (Vec::new(), None);
        loop {
            match self.message() {
                (b'D', body) => rows.push(fields(&body)),
                (b'E', body) => fault = Some(format!("{:?}", read_fault(&body))),
                // COPY wants data: there is none.
                (b'G', _) => self.send(b'f', b"no data\0"),
                (b'Z', _) => return fault.map_or(Ok(rows), Err),
                _ => {}
            }
            self.output.flush().expect("the server reads");
        }
    }

    /// What the server says of a statement without running it.
    pub fn describe(&mut self, text: &str) -> Described {
        self.send(b'P', &[&[0], text.as_bytes(), &[0, 0, 0]].concat());
        self.send(b'D', b"S\0");
        self.send(b'S', b"");
        self.output.flush().expect("the server reads");
        let (mut parameters, mut columns, mut fault) = (Vec::new(), Vec::new(), None);
        loop {
            match self.message() {
                (b't', body) => {
                    parameters = body[2..].chunks(4).map(|oid| number(oid) as u32).collect();
                }
                (b'T', body) => columns = read_columns(&body),
                (b'E', body) => fault = Some(read_fault(&body)),
                (b'Z', _) => return fault.unwrap_or(Described::Fine { parameters, columns }),
                _ => {}
            }
        }
    }
}

fn number(bytes: &[u8]) -> i32 {
    i32::from_be_bytes(bytes[..4].try_into().expect("four bytes"))
}

/// A text up to its end, and what follows.
fn text(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).expect("texts end");
    (String::from_utf8_lossy(&bytes[..end]).into_owned(), &bytes[end + 1..])
}

fn read_columns(body: &[u8]) -> Vec<Column> {
    let count = u16::from_be_bytes([body[0], body[1]]);
    let mut rest = &body[2..];
    let mut columns = Vec::new();
    for _ in 0..count {
        let (name, tail) = text(rest);
        columns.push(Column {
            name,
            type_oid: number(&tail[6..]) as u32,
            typmod: number(&tail[12..]),
        });
        rest = &tail[18..];
    }
    columns
}

fn read_fault(body: &[u8]) -> Described {
    let (mut sqlstate, mut message, mut position) = (String::new(), String::new(), None);
    let mut rest = body;
    while rest[0] != 0 {
        let (value, tail) = text(&rest[1..]);
        match rest[0] {
            b'C' => sqlstate = value,
            b'M' => message = value,
            b'P' => position = value.parse().ok(),
            _ => {}
        }
        rest = tail;
    }
    Described::Fault { sqlstate, message, position }
}

/// The fields of a row; NULL is empty.
fn fields(body: &[u8]) -> Vec<String> {
    let count = u16::from_be_bytes([body[0], body[1]]);
    let mut rest = &body[2..];
    let mut fields = Vec::new();
    for _ in 0..count {
        let length = usize::try_from(number(rest)).unwrap_or(0);
        fields.push(String::from_utf8_lossy(&rest[4..4 + length]).into_owned());
        rest = &rest[4 + length..];
    }
    fields
}
