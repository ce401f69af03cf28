//! One client's conversation: settings, prepared statements, the transaction block it is in.
//!
//! The server decodes messages and calls a [`Session`]; a session never sees the wire. Absent here: planning
//! (`template`), finding rows (the engine).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::heartbeat::{Answer, EngineOptions};
use engine::types::{DataType, Result, Value};

/// How to open a database.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// The engine below.
    pub engine: EngineOptions,
    /// Templates kept in the cache; the least recently used goes first.
    pub template_limit: usize,
}

/// The engine, the catalog and the template cache: what all sessions share.
#[derive(Debug)]
pub struct Database {}

impl Database {
    /// Opens or creates what `options.engine.data` names.
    pub fn open(options: DatabaseOptions) -> Result<Arc<Database>> {
        let _ = options;
        todo!()
    }

    /// A new conversation.
    pub fn session(self: &Arc<Self>, user: &str) -> Session {
        let _ = user;
        todo!()
    }
}

/// One client's conversation. Not shared between tasks; statements run one after another.
#[derive(Debug)]
pub struct Session {}

/// A parsed and planned statement, ready to run with parameters; cheap to clone and to keep.
#[derive(Debug)]
pub struct Statement {
    /// As the client sent it.
    pub text: Arc<str>,
    /// PostgreSQL type ids of its parameters, inferred where the client gave none.
    pub parameters: Vec<u32>,
    /// The types of the values that `execute` wants for them.
    pub parameter_types: Vec<DataType>,
    /// Columns of the answer; `None` where the statement answers with a command tag alone.
    pub columns: Option<Arc<[ColumnDescription]>>,
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
    /// Others come before or after it: `end_implicit` will commit.
    Joined,
}

/// What a statement gave.
pub enum Outcome {
    /// Rows, then a tag.
    Rows(Rows),
    /// A tag: `INSERT 0 1`, `BEGIN`.
    Command(String),
    /// COPY FROM STDIN: the server feeds it and finishes it.
    CopyIn(Box<dyn CopyIn>),
    /// COPY TO STDOUT: data rows to be sent as they come, then the tag; the number is that of columns.
    CopyOut(Rows, usize),
    /// An empty statement.
    Empty,
}

/// The answer, piece by piece: the server asks for the next piece when the client has taken the last.
pub struct Rows {
    /// Its columns.
    pub columns: Arc<[ColumnDescription]>,
    /// Pieces; `Err` ends the stream.
    pub pieces: std::pin::Pin<Box<dyn futures::Stream<Item = Result<Answer>> + Send>>,
    /// The tag's first word(s); the number of rows sent follows it where `counted` (`SELECT`, `INSERT 0`).
    pub tag: &'static str,
    /// Whether the number of rows follows the tag.
    pub counted: bool,
}

/// A COPY FROM STDIN in progress. Message boundaries may split a row anywhere.
#[async_trait::async_trait]
pub trait CopyIn: Send {
    /// Number of columns, for CopyInResponse.
    fn columns(&self) -> usize;
    /// Takes bytes of the client.
    async fn data(&mut self, session: &mut Session, bytes: &[u8]) -> Result<()>;
    /// The client is done: `COPY n`.
    async fn done(self: Box<Self>, session: &mut Session) -> Result<String>;
    /// The client gave up: 57014 with its message.
    async fn fail(self: Box<Self>, session: &mut Session, message: &str);
}

impl Session {
    /// Splits a simple Query's text and plans what can be planned now. Later statements may need the effects
    /// of earlier ones: those are planned when their turn comes. 42601 with a position before anything runs if
    /// any of it does not parse.
    pub fn parse_script(&mut self, text: &str) -> Result<Vec<Arc<str>>> {
        let _ = text;
        todo!()
    }

    /// Plans one statement (42601 for several). `types` are PostgreSQL type ids from Parse, 0 for unknown.
    pub fn prepare(&mut self, text: &str, types: &[u32]) -> Result<Arc<Statement>> {
        let _ = (text, types);
        todo!()
    }

    /// Runs a statement: 25P02 in a failed block unless it ends the block; 0A000 "cached plan must not change
    /// result type" when DDL changed the columns since `prepare`.
    pub async fn execute(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Vec<Value>,
        implicit: ImplicitTransaction,
    ) -> Result<Outcome> {
        let _ = (statement, parameters, implicit);
        todo!()
    }

    /// Sync, or the end of a simple Query: commits the implicit transaction, if any; after an error rolls it
    /// back.
    pub async fn end_implicit(&mut self, failed: bool) -> Result<()> {
        let _ = failed;
        todo!()
    }

    /// What ReadyForQuery says.
    pub fn transaction_status(&self) -> TransactionStatus {
        todo!()
    }

    /// Set it to end the running statement with 57014; the session clears it when a statement starts.
    pub fn cancelled(&self) -> Arc<AtomicBool> {
        todo!()
    }

    /// Settings that changed since the last call and that the protocol reports (ParameterStatus).
    pub fn take_parameter_changes(&mut self) -> Vec<(String, String)> {
        todo!()
    }

    /// Warnings and notices since the last call.
    pub fn take_notices(&mut self) -> Vec<engine::types::Error> {
        todo!()
    }
}
