//! The session itself: what it remembers between statements.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::heartbeat::{DefinitionChanges, TableRewrite};
use engine::transaction::{Definition, Isolation, WriteSet};
use engine::types::{Error, Result, SequenceId};

use super::block::{Block, Transaction};
use super::cursor::OpenCursor;
use super::{Database, Settings, Statement, TransactionStatus};

/// One client's conversation. Not shared between tasks; statements run one after another.
#[derive(Debug)]
pub struct Session {
    pub(super) database: Arc<Database>,
    pub(super) user: Arc<str>,
    pub(super) process: i32,
    pub(super) settings: Settings,
    pub(super) block: Block,
    /// SQL-level PREPARE.
    pub(super) statements: HashMap<String, Arc<Statement>>,
    /// What `currval` gives: the last value taken of each sequence.
    pub(super) current_values: HashMap<SequenceId, i64>,
    /// What `lastval` gives.
    pub(super) last_value: Option<i64>,
    /// Cursors by DECLARE.
    pub(super) cursors: HashMap<String, OpenCursor>,
    pub(super) cancelled: Arc<AtomicBool>,
    /// When the running statement must be done.
    pub(super) deadline: Option<tokio::time::Instant>,
    /// Where the next shared query leaves its heartbeat's figures, for EXPLAIN ANALYZE.
    pub(super) figures: Option<Arc<std::sync::OnceLock<engine::heartbeat::Figures>>>,
    /// Where the next query that runs alone tells what it shared.
    pub(super) report: Option<Arc<crate::alone::Report>>,
    notices: Vec<Error>,
}

impl Session {
    pub(super) fn new(
        database: Arc<Database>,
        user: Arc<str>,
        process: i32,
        settings: Settings,
    ) -> Session {
        Session {
            database,
            user,
            process,
            settings,
            block: Block::Idle,
            statements: HashMap::new(),
            cursors: HashMap::new(),
            current_values: HashMap::new(),
            last_value: None,
            cancelled: Arc::new(AtomicBool::new(false)),
            deadline: None,
            figures: None,
            report: None,
            notices: Vec::new(),
        }
    }

    /// What all sessions share.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// The number that clients know this session by (`pg_backend_pid()`, BackendKeyData).
    pub fn process(&self) -> i32 {
        self.process
    }

    /// What ReadyForQuery says.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.block.status()
    }

    /// Whether BEGIN opened a transaction, or several statements share an implicit one.
    pub(crate) fn in_block(&self) -> bool {
        !matches!(self.block, Block::Idle)
    }

    /// Set it to end the running statement with 57014; the session clears it when a statement
    /// starts.
    pub fn cancelled(&self) -> Arc<AtomicBool> {
        self.cancelled.clone()
    }

    /// Settings that changed since the last call and that the protocol reports (ParameterStatus).
    pub fn take_parameter_changes(&mut self) -> Vec<(String, String)> {
        self.settings.take_reported()
    }

    /// Warnings and notices since the last call.
    pub fn take_notices(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.notices)
    }

    /// Tells the client something that is no fault.
    pub(crate) fn notice(&mut self, notice: Error) {
        self.notices.push(notice);
    }

    /// The isolation that a transaction starts with.
    pub(super) fn default_isolation(&self) -> Isolation {
        match self.settings.show("default_transaction_isolation").as_deref() {
            Ok("repeatable read") => Isolation::RepeatableRead,
            _ => Isolation::ReadCommitted,
        }
    }

    /// A transaction as BEGIN, or the first of several statements, opens it.
    pub(crate) fn new_transaction(&self, explicit: bool) -> Box<Transaction> {
        let read_only = self.settings.is_on("default_transaction_read_only");
        Box::new(Transaction::new(explicit, self.default_isolation(), read_only))
    }

    /// Changes a definition: durably, and for everybody who plans from now on; in a block, for the block until it
    /// commits.
    pub(crate) async fn define(&mut self, definition: Definition) -> Result<()> {
        match self.block.definitions() {
            Some(_) => self.define_in_block(definition).await,
            None => self.define_now(definition).await,
        }
    }

    /// Stores a table's rows anew, and changes definitions with it.
    pub(crate) async fn rewrite(
        &mut self,
        rewrite: TableRewrite,
        others: Vec<Definition>,
    ) -> Result<()> {
        match self.block.definitions() {
            Some(_) => self.rewrite_in_block(rewrite, others).await,
            None => self.rewrite_now(rewrite, others).await,
        }
    }

    /// The same, durably and at once.
    pub(super) async fn rewrite_now(
        &mut self,
        rewrite: TableRewrite,
        others: Vec<Definition>,
    ) -> Result<()> {
        let definitions = std::iter::once(rewrite.definition()).chain(others).collect();
        let changes = DefinitionChanges { definitions, rewrites: vec![rewrite] };
        let outcome =
            self.change_together(WriteSet::new(), Isolation::ReadCommitted, changes).await;
        self.database.planner.refresh();
        outcome
    }

    /// Rows and definitions in one record of the log.
    pub(super) async fn change_together(
        &mut self,
        set: WriteSet,
        isolation: Isolation,
        changes: DefinitionChanges,
    ) -> Result<()> {
        let (send, receive) = tokio::sync::oneshot::channel();
        let receiver = Box::new(move |outcome: Result<_>| {
            let _ = send.send(outcome.map(|_| ()));
        });
        self.database.engine.commit_definitions(set, isolation, changes, receiver);
        receive.await.unwrap_or_else(|_| Err(super::execute::shut_down()))
    }

    /// Changes a definition, durably, and takes the new catalog.
    pub(super) async fn define_now(&mut self, definition: Definition) -> Result<()> {
        let (send, receive) = tokio::sync::oneshot::channel();
        let receiver = Box::new(move |outcome: Result<_>| {
            let _ = send.send(outcome.map(|_| ()));
        });
        self.database.engine.define(definition, receiver);
        let outcome = receive.await.unwrap_or_else(|_| Err(super::execute::shut_down()));
        self.database.planner.refresh();
        outcome
    }
}
