//! A client for a library that runs behind `peers/embedded.py`: parameters become literals, rows come as text.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::rows::Encoding;
use super::{Client, Failure, Parameter, Prepared, Result, Rows, no_answer};

/// What is asked; the other side's comment tells what each does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Request {
    CountRows,
    Rows,
    CreateTable,
    LoadTable,
    Version,
    Loaded,
}

impl Request {
    fn code(self) -> u8 {
        match self {
            Request::CountRows => b'q',
            Request::Rows => b'a',
            Request::CreateTable => b'c',
            Request::LoadTable => b'l',
            Request::Version => b'v',
            Request::Loaded => b'z',
        }
    }
}

/// What came back.
#[derive(Debug, Default)]
pub struct Reply {
    /// Number of rows.
    pub rows: usize,
    columns: usize,
    /// Rows, or words.
    pub text: String,
}

/// One connection: a session of the library.
pub struct EmbeddedClient {
    stream: TcpStream,
    statements: Vec<String>,
    rows: Rows,
}

impl EmbeddedClient {
    /// Connects on loopback.
    pub fn connect(address: SocketAddr) -> Result<EmbeddedClient> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(EmbeddedClient { stream, statements: Vec::new(), rows: Rows::default() })
    }

    /// An answer that does not come for so long counts as a connection that is gone.
    pub fn give_up_after(&mut self, patience: Duration) -> Result<()> {
        Ok(self.stream.set_read_timeout(Some(patience))?)
    }

    fn receive(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.stream.read_exact(bytes).map_err(|error| no_answer(error, &self.stream))
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, request: Request, text: &str) -> Result<Reply> {
        let mut message = vec![request.code()];
        message.extend_from_slice(&(text.len() as u32).to_be_bytes());
        message.extend_from_slice(text.as_bytes());
        self.stream.write_all(&message)?;
        let mut head = [0u8; 13];
        self.receive(&mut head)?;
        let number = |at: usize| {
            let bytes = head[at..at + 4].try_into().expect("four bytes");
            u32::from_be_bytes(bytes) as usize
        };
        let mut body = vec![0u8; number(9)];
        self.receive(&mut body)?;
        let text = String::from_utf8_lossy(&body).into_owned();
        match head[0] {
            b'o' => Ok(Reply { rows: number(1), columns: number(5), text }),
            // The library's own codes differ; any SQLSTATE says that the connection lives on.
            _ => Err(Failure { state: "XX000".to_owned(), ..Failure::without_state(text) }),
        }
    }
}

impl Client for EmbeddedClient {
    fn prepare(&mut self, text: &str) -> Result<Prepared> {
        self.statements.push(text.to_owned());
        Ok(Prepared(self.statements.len() - 1))
    }

    fn execute(&mut self, statement: Prepared, parameters: &[Parameter]) -> Result<&Rows> {
        let text = with_literals(&self.statements[statement.0], parameters);
        let reply = self.ask(Request::Rows, &text)?;
        self.rows.clear();
        self.rows.encodings.clear();
        self.rows.encodings.resize(reply.columns, Encoding::Text);
        self.rows.rows = reply.rows;
        for cell in reply.text.lines().flat_map(|line| line.split('\t')) {
            self.rows.push((cell != "\\N").then_some(cell.as_bytes()));
        }
        Ok(&self.rows)
    }

    fn fetch(&mut self, statement: Prepared, parameters: &[Parameter]) -> Result<usize> {
        let text = with_literals(&self.statements[statement.0], parameters);
        Ok(self.ask(Request::CountRows, &text)?.rows)
    }

    fn run(&mut self, text: &str) -> Result<()> {
        self.ask(Request::CountRows, text).map(drop)
    }
}

/// Puts literals in place of `$1`, `$2`, ...
fn with_literals(text: &str, parameters: &[Parameter]) -> String {
    let mut out = String::with_capacity(text.len() + 16 * parameters.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = rest[at + 1..at + 1 + digits].parse().expect("a number follows $");
        out.push_str(&rest[..at]);
        out.push_str(&parameters[number - 1].literal());
        rest = &rest[at + 1 + digits..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_replace_parameters() {
        let parameters = [Parameter::from(7), Parameter::from("O'Neil"), Parameter::Date(0)];
        let text = with_literals("a = $2 AND b < $1 AND c = $3 OR a = $2", &parameters);
        assert_eq!(text, "a = 'O''Neil' AND b < 7 AND c = date '1970-01-01' OR a = 'O''Neil'");
    }
}
