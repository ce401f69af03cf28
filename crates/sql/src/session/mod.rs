//! One client's conversation: settings, prepared statements, the transaction block it is in.
//!
//! The server decodes messages and calls a [`Session`]; a session never sees the wire. Absent here:
//! planning (`template`), what single statements mean (`statement`), finding rows (the engine).

mod advisory;
mod awaited;
mod block;
mod command;
mod constant;
mod controls;
mod conversation;
mod cursor;
mod database;
mod definitions;
mod execute;
mod explain;
mod functions;
mod kept_constants;
mod kept_settings;
mod limited;
mod locking;
mod locks;
mod lone;
mod modifying;
mod notifications;
mod own_reads;
mod owners;
mod pg_notify;
mod pinned;
mod plain_select;
mod preparation;
pub(crate) mod prepared;
mod promised;
mod read;
mod rights;
mod script;
mod seats;
mod settings;
mod submitted;
mod table_locks;
mod utility;
mod verified;
mod verified_writes;
mod write;

use std::sync::Arc;

use engine::heartbeat::Answer;
use engine::types::{DataType, Result, Value};

pub use block::now;
pub use block::{Block, OpenedBy, Transaction};
pub use conversation::Session;
pub use cursor::{CursorUse, Sent};
pub(crate) use database::Ids;
pub use database::{Database, DatabaseOptions};
pub(crate) use definitions::{PUBLIC, is_unseen_sequence, shown_sequence};
pub(crate) use owners::{forgotten, owned};
pub(crate) use pg_notify::unsupported as unsupported_pg_notify;
use prepared::Prepared;
pub(crate) use prepared::has_function;
pub use settings::{Late, PathSetting, SERVER_VERSION, Settings, response_time};
pub(crate) use write::{answer_of, check_at};

use crate::text::SessionZone;

/// A parsed and planned statement, ready to run with parameters; cheap to clone and to keep.
#[derive(Debug)]
pub struct Statement {
    /// As the client sent it, made plain.
    pub text: Arc<str>,
    /// PostgreSQL type ids of its parameters, inferred where the client gave none.
    pub parameters: Vec<u32>,
    /// The types of the values that `execute` wants for them.
    pub parameter_types: Vec<DataType>,
    /// Columns of the answer; `None` where the statement answers with a command tag alone.
    pub columns: Option<Arc<[ColumnDescription]>>,
    /// Type ids as the client gave them, to plan again after DDL.
    declared: Box<[u32]>,
    /// The zone of the session that it was planned for.
    zone: SessionZone,
    prepared: Arc<Prepared>,
    /// Values of the literals that became parameters.
    literals: Vec<Value>,
}

impl Statement {
    /// About the bytes that keeping it takes.
    pub fn bytes(&self) -> usize {
        crate::template::plan_bytes(self.text.len())
    }

    /// Whether a value that came for a parameter, counted from 0, is one of its type, where `execute` wants it as text.
    pub fn check_parameter(&self, parameter: usize, value: &Value) -> Result<()> {
        match &self.prepared.plan {
            prepared::Plan::Constant(query) => query.check_parameter(parameter, value),
            _ => Ok(()),
        }
    }
}

/// One field of RowDescription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDescription {
    /// The name.
    pub name: Arc<str>,
    /// PostgreSQL's type id.
    pub type_id: u32,
    /// Bytes of a value, -1 for variable length.
    pub type_size: i16,
    /// `n + 4` for varchar(n) and char(n), `(p << 16 | s) + 4` for numeric(p,s), else -1.
    pub type_modifier: i32,
    /// The table whose column this is, or 0.
    pub table: u32,
    /// The column's number in the table, counted from 1, or 0.
    pub column: i16,
}

/// What ReadyForQuery says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// `I`: outside a block.
    Idle,
    /// `T`: in a block.
    Open,
    /// `E`: in a block that has failed.
    Failed,
}

/// Statements between two Syncs, or in one simple Query, are one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImplicitTransaction {
    /// This statement is alone between two Syncs: it commits by itself.
    Alone,
    /// It is one of several in one simple Query, which PostgreSQL treats as a block: `end_implicit` will commit.
    Script,
    /// Others come before or after it between two Syncs: `end_implicit` will commit.
    Pipeline,
}

impl ImplicitTransaction {
    /// What opens the transaction in which the statement runs.
    fn opened_by(self) -> Option<OpenedBy> {
        match self {
            ImplicitTransaction::Alone => None,
            ImplicitTransaction::Script => Some(OpenedBy::Script),
            ImplicitTransaction::Pipeline => Some(OpenedBy::Pipeline),
        }
    }
}

/// What a statement gave.
pub enum Outcome {
    /// Rows, then a tag.
    Rows(Rows),
    /// A tag: `INSERT 0 1`, `BEGIN`.
    Command(String),
    /// COPY FROM STDIN: the server feeds it and finishes it.
    CopyIn(Box<dyn CopyIn>),
    /// COPY TO STDOUT: rows to be sent as they come, then the tag.
    CopyOut(CopyOut),
    /// An empty statement.
    Empty,
}

/// The rows of a COPY TO STDOUT.
pub struct CopyOut {
    /// Lines in a column of their own; in binary format the rows as they are.
    pub rows: Rows,
    /// Number of columns, for CopyOutResponse.
    pub columns: usize,
    /// Whether the client wants binary format.
    pub binary: bool,
}

/// The answer, piece by piece: the server asks for the next piece when the client has taken the
/// last.
pub struct Rows {
    /// Its columns.
    pub columns: Arc<[ColumnDescription]>,
    /// Pieces; `Err` ends the stream.
    pub pieces: std::pin::Pin<Box<dyn futures::Stream<Item = Result<Answer>> + Send>>,
    /// The tag's first word(s); the number of rows sent follows it where `counted` (`SELECT`,
    /// `INSERT 0`).
    pub tag: &'static str,
    /// Whether the number of rows follows the tag.
    pub counted: bool,
    /// By which instants are shown.
    pub zone: SessionZone,
}

impl Statement {
    /// What whoever runs it needs.
    pub(crate) fn needs(&self) -> &crate::rights::Needs {
        &self.prepared.needs
    }
}

impl Rows {
    /// An answer that is complete.
    pub fn complete(columns: Arc<[ColumnDescription]>, answer: Answer, tag: &'static str) -> Rows {
        let pieces = Box::pin(futures::stream::once(std::future::ready(Ok(answer))));
        let zone = SessionZone::default();
        Rows { columns, pieces, tag, counted: true, zone }
    }
}

/// A COPY FROM STDIN in progress. Message boundaries may split a row anywhere.
#[async_trait::async_trait]
pub trait CopyIn: Send {
    /// The types of its columns, for CopyInResponse and for reading values.
    fn columns(&self) -> &[DataType];
    /// Whether the client sends binary format: then whoever feeds it cuts the bytes into rows and calls `rows`.
    fn is_binary(&self) -> bool;
    /// Takes rows of values, each of its column's type.
    async fn rows(&mut self, session: &mut Session, rows: Vec<Vec<Value>>) -> Result<()>;
    /// Takes bytes of the client that are lines.
    async fn data(&mut self, session: &mut Session, bytes: &[u8]) -> Result<()>;
    /// The client is done: `COPY n`.
    async fn done(self: Box<Self>, session: &mut Session) -> Result<String>;
    /// The client gave up: 57014 with its message.
    async fn fail(&mut self, session: &mut Session, message: &str);
}
