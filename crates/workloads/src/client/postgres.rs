//! A blocking client for the PostgreSQL protocol: extended protocol, binary both ways, one write and as few
//! reads as possible per statement.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;

use super::rows::Encoding;
use super::{Client, Failure, Parameter, Prepared, Result, Rows, no_answer, numeric};

/// Microseconds from 1970 to PostgreSQL's epoch, 2000-01-01.
const EPOCH_MICROSECONDS: i64 = 946_684_800_000_000;
/// Days from 1970 to PostgreSQL's epoch.
pub(super) const EPOCH_DAYS: i32 = 10_957;

/// One connection to PostgreSQL or SharedDB.
pub struct PostgresClient {
    stream: TcpStream,
    out: BytesMut,
    input: BytesMut,
    /// What one read takes.
    piece: Box<[u8]>,
    statements: Vec<StatementTypes>,
    rows: Rows,
}

/// Bytes that one read takes at most.
const PIECE_BYTES: usize = 32 << 10;

/// How long a server may take to let somebody in.
const GREETING: Duration = Duration::from_secs(60);

struct StatementTypes {
    parameters: Vec<u32>,
    columns: Vec<Encoding>,
}

impl PostgresClient {
    /// Connects without a password (loopback trust). Who does not greet within a minute counts as gone.
    pub fn connect(address: SocketAddr, user: &str, database: &str) -> Result<PostgresClient> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(GREETING))?;
        let mut client = PostgresClient {
            stream,
            out: BytesMut::with_capacity(4096),
            input: BytesMut::with_capacity(4096),
            piece: vec![0; PIECE_BYTES].into(),
            statements: Vec::new(),
            rows: Rows::default(),
        };
        let parameters = [("user", user), ("database", database), ("client_encoding", "UTF8")];
        frontend::startup_message(parameters, &mut client.out)?;
        client.flush()?;
        client.until_ready(|_, _| Ok(()))?;
        client.stream.set_read_timeout(None)?;
        Ok(client)
    }

    /// An answer that does not come for so long counts as a connection that is gone.
    pub fn give_up_after(&mut self, patience: Duration) -> Result<()> {
        Ok(self.stream.set_read_timeout(Some(patience))?)
    }

    fn flush(&mut self) -> Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    fn next_message(&mut self) -> Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.input)? {
                return Ok(message);
            }
            self.fill()?;
        }
    }

    /// By way of a piece: of thousands of connections none touches more memory than it reads.
    fn fill(&mut self) -> Result<()> {
        let read = self.stream.read(&mut self.piece);
        match read.map_err(|error| no_answer(error, &self.stream))? {
            0 => Err(Failure::without_state("the server hung up")),
            length => {
                self.input.extend_from_slice(&self.piece[..length]);
                Ok(())
            }
        }
    }

    /// Hands every message up to ReadyForQuery to `take`; an error is returned after ReadyForQuery, or when the server
    /// has hung up after it.
    fn until_ready(
        &mut self,
        mut take: impl FnMut(&mut PostgresClient, Message) -> Result<()>,
    ) -> Result<()> {
        let mut failure = None;
        loop {
            let message = match self.next_message() {
                Ok(message) => message,
                Err(gone) => return Err(failure.unwrap_or(gone)),
            };
            match message {
                Message::ReadyForQuery(_) => break,
                Message::ErrorResponse(body) => failure = Some(error(&body)),
                message => take(self, message)?,
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn queue(&mut self, statement: Prepared, parameters: &[Parameter]) -> Result<()> {
        let types = &self.statements[statement.0];
        assert_eq!(types.parameters.len(), parameters.len(), "parameters of {statement:?}");
        let values = parameters.iter().zip(&types.parameters);
        let name = name(statement);
        frontend::bind(
            "",
            &name,
            [1],
            values,
            |(parameter, oid), buffer| {
                encode(parameter, *oid, buffer);
                Ok(IsNull::No)
            },
            [1],
            &mut self.out,
        )
        .map_err(|_| Failure::without_state("a value too large"))?;
        frontend::execute("", 0, &mut self.out)?;
        frontend::sync(&mut self.out);
        Ok(())
    }

    fn take_row(&mut self, message: Message) -> Result<()> {
        match message {
            Message::DataRow(row) => {
                let mut ranges = row.ranges();
                while let Some(range) = ranges.next()? {
                    self.rows.push(range.map(|range| &row.buffer()[range]));
                }
                self.rows.rows += 1;
            }
            Message::CommandComplete(body) => {
                let tag = body.tag()?;
                let count = tag.rsplit(' ').next().and_then(|word| word.parse().ok());
                self.rows.affected = count.unwrap_or(0);
            }
            _ => {}
        }
        Ok(())
    }

    /// `COPY table FROM STDIN` with rows in text format.
    pub fn copy_in(
        &mut self,
        statement: &str,
        mut next: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<u64> {
        self.copy_in_unless(statement, |out| Ok(next(out)))
    }

    /// Like [`PostgresClient::copy_in`]; where `next` fails, the server is told why and keeps no row.
    pub fn copy_in_unless(
        &mut self,
        statement: &str,
        mut next: impl FnMut(&mut Vec<u8>) -> std::result::Result<bool, String>,
    ) -> Result<u64> {
        frontend::query(statement, &mut self.out)?;
        self.flush()?;
        self.rows.clear();
        match self.next_message()? {
            Message::CopyInResponse(_) => {}
            Message::ErrorResponse(body) => {
                let failure = error(&body);
                self.until_ready(|_, _| Ok(()))?;
                return Err(failure);
            }
            _ => return Err(Failure::without_state("no COPY")),
        }
        let mut lines = Vec::with_capacity(COPY_BYTES * 2);
        loop {
            let more = match next(&mut lines) {
                Ok(more) => more,
                Err(reason) => {
                    frontend::copy_fail(&reason, &mut self.out)?;
                    self.flush()?;
                    self.until_ready(|_, _| Ok(()))?;
                    return Err(Failure::without_state(reason));
                }
            };
            if lines.len() >= COPY_BYTES || !more {
                frontend::CopyData::new(&lines[..])?.write(&mut self.out);
                self.flush()?;
                lines.clear();
            }
            if !more {
                break;
            }
        }
        frontend::copy_done(&mut self.out);
        self.flush()?;
        self.until_ready(PostgresClient::take_row)?;
        Ok(self.rows.affected)
    }
}

/// Bytes per CopyData message: large enough to amortise the system call, small against socket buffers.
const COPY_BYTES: usize = 64 * 1024;

impl Client for PostgresClient {
    fn prepare(&mut self, text: &str) -> Result<Prepared> {
        let statement = Prepared(self.statements.len());
        let name = name(statement);
        frontend::parse(&name, text, [], &mut self.out)?;
        frontend::describe(b'S', &name, &mut self.out)?;
        frontend::sync(&mut self.out);
        self.flush()?;
        let mut types = StatementTypes { parameters: Vec::new(), columns: Vec::new() };
        self.until_ready(|_, message| {
            match message {
                Message::ParameterDescription(body) => {
                    types.parameters = body.parameters().collect()?;
                }
                Message::RowDescription(body) => {
                    types.columns = body.fields().map(|f| Ok(encoding(f.type_oid()))).collect()?;
                }
                _ => {}
            }
            Ok(())
        })?;
        self.statements.push(types);
        Ok(statement)
    }

    fn execute(&mut self, statement: Prepared, parameters: &[Parameter]) -> Result<&Rows> {
        self.queue(statement, parameters)?;
        self.flush()?;
        self.rows.clear();
        let columns = &self.statements[statement.0].columns;
        self.rows.encodings.clear();
        self.rows.encodings.extend_from_slice(columns);
        self.until_ready(PostgresClient::take_row)?;
        Ok(&self.rows)
    }

    fn fetch(&mut self, statement: Prepared, parameters: &[Parameter]) -> Result<usize> {
        self.queue(statement, parameters)?;
        self.flush()?;
        self.receive_many(1)
    }

    fn run(&mut self, text: &str) -> Result<()> {
        frontend::query(text, &mut self.out)?;
        self.flush()?;
        self.rows.clear();
        self.until_ready(|_, _| Ok(()))
    }
}

impl PostgresClient {
    /// Puts one statement into the output buffer, which [`PostgresClient::send`] writes.
    pub fn enqueue(&mut self, statement: Prepared, parameters: &[Parameter]) -> Result<()> {
        self.queue(statement, parameters)
    }

    /// Writes what is queued, without waiting for answers: lets a thread load many connections at once.
    pub fn send(&mut self) -> Result<()> {
        self.flush()
    }

    /// Reads the answers of `count` statements that were sent, returns the number of rows.
    pub fn receive_many(&mut self, count: usize) -> Result<usize> {
        let mut rows = 0;
        for _ in 0..count {
            self.until_ready(|client, message| {
                rows += usize::from(matches!(message, Message::DataRow(_))) + client.skip_rows();
                Ok(())
            })?;
        }
        Ok(rows)
    }

    /// Steps over the complete rows that the input starts with; gives their number. Taking each out of the buffer to drop
    /// it costs as much as a server needs to make it.
    fn skip_rows(&mut self) -> usize {
        let (mut at, mut rows) = (0, 0);
        while let [b'D', a, b, c, d, ..] = self.input[at..] {
            let end = at + 1 + u32::from_be_bytes([a, b, c, d]) as usize;
            if end > self.input.len() {
                break;
            }
            (at, rows) = (end, rows + 1);
        }
        self.input.advance(at);
        rows
    }
}

fn name(statement: Prepared) -> String {
    format!("s{}", statement.0)
}

fn encoding(type_id: u32) -> Encoding {
    match type_id {
        20 | 21 | 23 | 26 => Encoding::Integer,
        700 | 701 => Encoding::Float,
        18 | 19 | 25 | 705 | 1042 | 1043 => Encoding::Text,
        1082 => Encoding::Date,
        1700 => Encoding::Numeric,
        1114 | 1184 => Encoding::Timestamp,
        _ => Encoding::Opaque,
    }
}

fn encode(parameter: &Parameter, type_id: u32, buffer: &mut BytesMut) {
    match (parameter, type_id) {
        (Parameter::Integer(v), 21) => buffer.extend_from_slice(&(*v as i16).to_be_bytes()),
        (Parameter::Integer(v), 23) => buffer.extend_from_slice(&(*v as i32).to_be_bytes()),
        (Parameter::Integer(v), 20) => buffer.extend_from_slice(&v.to_be_bytes()),
        (Parameter::Integer(v), 701) => buffer.extend_from_slice(&(*v as f64).to_be_bytes()),
        (Parameter::Double(v), 700) => buffer.extend_from_slice(&(*v as f32).to_be_bytes()),
        (Parameter::Double(v), 701) => buffer.extend_from_slice(&v.to_be_bytes()),
        (Parameter::Integer(v), 1700) => numeric::encode(*v, 0, buffer),
        (Parameter::Decimal { unscaled, scale }, 1700) => {
            numeric::encode(*unscaled, *scale, buffer);
        }
        (Parameter::Decimal { unscaled, scale }, 701) => {
            let value = *unscaled as f64 / 10f64.powi(i32::from(*scale));
            buffer.extend_from_slice(&value.to_be_bytes());
        }
        (Parameter::Text(v), _) => buffer.extend_from_slice(v.as_bytes()),
        (Parameter::Date(v), 1082) => buffer.extend_from_slice(&(v - EPOCH_DAYS).to_be_bytes()),
        (Parameter::Timestamp(v), 1114 | 1184) => {
            buffer.extend_from_slice(&(v - EPOCH_MICROSECONDS).to_be_bytes());
        }
        (other, type_id) => panic!("no binary form of {other:?} for type {type_id}"),
    }
}

fn error(body: &ErrorResponseBody) -> Failure {
    let mut failure = Failure::without_state("");
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => failure.state = value,
            b'M' => failure.message = value,
            b'W' => failure.context = Some(value),
            _ => {}
        }
    }
    failure
}
