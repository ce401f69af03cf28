//! Statements in, rows out: the lean, blocking clients that drive every system alike.
//!
//! One connection per [`Client`], prepared statements, binary values, no threads of their own: the driver's
//! CPU must stay small beside the server's. Called by `driver` and `bookstore`.

mod copy_line;
mod embedded;
#[cfg(feature = "mariadb")]
mod mysql;
mod numeric;
mod postgres;
mod rows;

use std::fmt;
use std::net::TcpStream;

pub use self::copy_line::CopyLine;
pub use self::embedded::{EmbeddedClient, Reply, Request};
#[cfg(feature = "mariadb")]
pub use self::mysql::MysqlClient;
pub use self::postgres::PostgresClient;
pub use self::rows::Rows;

/// A value sent with a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// Any integer type.
    Integer(i64),
    /// `double precision`, `real`
    Double(f64),
    /// Any string type.
    Text(String),
    /// A decimal number: `unscaled` over ten to the power `scale`.
    Decimal {
        /// All digits.
        unscaled: i64,
        /// Digits after the point.
        scale: u8,
    },
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01 00:00.
    Timestamp(i64),
}

impl Parameter {
    /// As a literal of SQL.
    pub fn literal(&self) -> String {
        match self {
            Parameter::Integer(value) => value.to_string(),
            Parameter::Double(value) => format!("{value:?}"),
            Parameter::Text(value) => format!("'{}'", value.replace('\'', "''")),
            Parameter::Decimal { unscaled, scale } => decimal_text(*unscaled, *scale),
            Parameter::Date(days) => format!("date '{}'", crate::bookstore::date_text(*days)),
            Parameter::Timestamp(microseconds) => {
                format!("timestamp '{}'", crate::bookstore::timestamp_text(*microseconds))
            }
        }
    }
}

fn decimal_text(unscaled: i64, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let point = if scale == 0 { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

impl From<i64> for Parameter {
    fn from(value: i64) -> Parameter {
        Parameter::Integer(value)
    }
}

impl From<f64> for Parameter {
    fn from(value: f64) -> Parameter {
        Parameter::Double(value)
    }
}

impl From<&str> for Parameter {
    fn from(value: &str) -> Parameter {
        Parameter::Text(value.to_owned())
    }
}

impl From<String> for Parameter {
    fn from(value: String) -> Parameter {
        Parameter::Text(value)
    }
}

/// What a server or the network answered instead of rows.
#[derive(Clone, Debug)]
pub struct Failure {
    /// SQLSTATE, empty where the connection itself failed.
    pub state: String,
    /// What it said.
    pub message: String,
    /// Where it happened, if it said so: `COPY t, line 3, column b: "x"`.
    pub context: Option<String>,
}

impl Failure {
    /// A failure that no server has given a SQLSTATE.
    pub fn without_state(message: impl Into<String>) -> Failure {
        Failure { state: String::new(), message: message.into(), context: None }
    }

    /// Whether the transaction may succeed when it is run again.
    pub fn is_conflict(&self) -> bool {
        matches!(self.state.as_str(), "40001" | "40P01")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        if !self.state.is_empty() {
            write!(f, " ({})", self.state)?;
        }
        self.context.as_ref().map_or(Ok(()), |place| write!(f, ", {place}"))
    }
}

impl std::error::Error for Failure {}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::without_state(error.to_string())
    }
}

/// What a failed read means: beyond the time limit of the socket it is the server that does not answer.
fn no_answer(error: std::io::Error, stream: &TcpStream) -> Failure {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    match (error.kind(), stream.read_timeout()) {
        (TimedOut | WouldBlock, Ok(Some(limit))) => {
            Failure::without_state(format!("no answer within {} s", limit.as_secs_f64()))
        }
        _ => error.into(),
    }
}

/// The result of talking to a server.
pub type Result<T> = std::result::Result<T, Failure>;

/// A prepared statement of one client, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared(pub usize);

/// One connection to any of the systems.
pub trait Client: Send {
    /// Prepares a statement with parameters `$1`, `$2`, ...
    fn prepare(&mut self, text: &str) -> Result<Prepared>;
    /// Runs a prepared statement. The rows stay valid until the next call.
    fn execute(&mut self, statement: Prepared, parameters: &[Parameter]) -> Result<&Rows>;
    /// Runs a prepared statement and fetches its rows, of which only the number is wanted: nothing is decoded.
    fn fetch(&mut self, statement: Prepared, parameters: &[Parameter]) -> Result<usize> {
        Ok(self.execute(statement, parameters)?.len())
    }
    /// Runs statements without parameters and forgets their rows.
    fn run(&mut self, text: &str) -> Result<()>;
}
