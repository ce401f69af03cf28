//! The session itself: what it remembers between statements.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use engine::env::memory::Usage;
use engine::heartbeat::{DefinitionChanges, TableRewrite, WriteReceiver};
use engine::transaction::{Definition, Isolation, WriteSet};
use engine::types::{Error, Result, SequenceId, SqlState};

use super::advisory::Advisory;
use super::block::{Block, OpenedBy, Transaction};
use super::cursor::OpenCursor;
use super::notifications::Listening;
use super::pinned::Pinned;
use super::promised::Promising;
use super::rights::{Origin, Standing};
use super::seats::RoleSeat;
use super::submitted::submitted;
use super::{Database, Settings, Statement, TransactionStatus};
use crate::alone::{Found, Limits};
use crate::notification::{Bell, Departure};
use crate::text::SessionZone;

/// One client's conversation. Not shared between tasks; statements run one after another.
#[derive(Debug)]
pub struct Session {
    pub(super) database: Arc<Database>,
    pub(super) user: Arc<str>,
    pub(super) origin: Origin,
    /// Where the client is, for the audit.
    pub(super) address: Option<std::net::IpAddr>,
    /// Its place among its role's sessions.
    pub(super) seat: Option<RoleSeat>,
    pub(super) standing: Option<Standing>,
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
    /// What the running statement's queries have given that lock rows below its top.
    pub(super) found: Found,
    /// What all queries of a statement see that are more than one.
    pub(super) pinned: Option<Pinned>,
    /// What may end the running statement.
    pub(super) limits: Limits,
    /// Whether the running statement has changed a definition: what it has begun it goes on with.
    pub(super) has_defined: bool,
    /// Where the next shared query leaves its heartbeat's figures, for EXPLAIN ANALYZE.
    pub(super) figures: Option<Arc<std::sync::OnceLock<engine::heartbeat::Figures>>>,
    /// Where the next query that runs alone tells what it shared.
    pub(super) report: Option<Arc<crate::alone::Report>>,
    /// Advisory locks that it has until it gives them back.
    pub(super) advisory: Advisory,
    /// What it promises.
    pub(super) promising: Promising,
    notices: Vec<Error>,
    /// What it listens to, from its first LISTEN on.
    pub(super) listening: Option<Box<Listening>>,
    /// Who is to know when it has been told something.
    pub(super) bell: Option<Arc<dyn Bell>>,
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
            origin: Origin::Process,
            address: None,
            seat: None,
            standing: None,
            process,
            settings,
            block: Block::Idle,
            statements: HashMap::new(),
            cursors: HashMap::new(),
            current_values: HashMap::new(),
            last_value: None,
            found: Found::default(),
            pinned: None,
            limits: Limits::default(),
            has_defined: false,
            figures: None,
            report: None,
            advisory: Advisory::default(),
            promising: Promising::default(),
            notices: Vec::new(),
            listening: None,
            bell: None,
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
    pub fn in_block(&self) -> bool {
        !matches!(self.block, Block::Idle)
    }

    /// 25001 for what must not be part of a transaction.
    pub(crate) fn refuse_in_block(&self, what: &str) -> Result<()> {
        let why = match self.block.opened_by() {
            None => return Ok(()),
            Some(OpenedBy::Pipeline) => "cannot be executed within a pipeline",
            Some(OpenedBy::Begin | OpenedBy::Script) => "cannot run inside a transaction block",
        };
        Err(Error::new(SqlState::ActiveTransaction, format!("{what} {why}")))
    }

    /// 25P01 for what means nothing outside a block; a pipeline is none, as in PostgreSQL.
    pub(crate) fn outside_block(&self, what: &str) -> Option<Error> {
        let is_block = matches!(self.block.opened_by(), Some(OpenedBy::Begin | OpenedBy::Script));
        let message = format!("{what} can only be used in transaction blocks");
        (!is_block).then(|| Error::new(SqlState::NoActiveTransaction, message))
    }

    /// Set it to end the running statement with 57014; the session clears it when a statement
    /// starts.
    pub fn cancelled(&self) -> Arc<AtomicBool> {
        self.limits.cancelled.clone()
    }

    /// What may end the running statement, also while its rows are sent.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A statement begins, or the rest of one whose rows a client takes bit by bit: its time is counted from now on.
    pub fn begin_statement(&self) {
        self.begin_promised(None);
    }

    /// The same for one that was promised to be answered by then.
    pub(super) fn begin_promised(&self, promised: Option<Instant>) {
        self.begin_usage();
        let limit = self.settings.statement_timeout();
        self.limits.begin(limit.map(|limit| Instant::now() + limit));
        if let Some(promised) = promised {
            self.limits.promise(promised);
        }
    }

    /// Whether the running statement has changed a definition.
    pub(crate) fn has_defined(&self) -> bool {
        self.has_defined
    }

    /// Its time zone.
    pub fn zone(&self) -> &SessionZone {
        self.settings.zone()
    }

    /// Runs something that reads texts or parameters of the client: those without a zone are of the session's.
    pub fn in_zone<T>(&self, run: impl FnOnce() -> T) -> T {
        crate::text::in_zone(self.settings.zone(), run)
    }

    /// What the session has of the process' memory: whoever polls its statements enters it.
    pub fn usage(&self) -> &Arc<Usage> {
        &self.limits.usage
    }

    /// Whether it keeps nothing that grew with statements: outside a block, and without cursors.
    pub fn keeps_nothing(&self) -> bool {
        self.cursors.is_empty() && !self.in_block()
    }

    /// A statement begins.
    pub(super) fn begin_usage(&self) {
        if self.keeps_nothing() {
            self.limits.usage.forget();
        }
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
    pub(crate) fn new_transaction(&self, opened_by: OpenedBy) -> Box<Transaction> {
        let read_only = self.settings.is_on("default_transaction_read_only");
        let isolation = self.default_isolation();
        Box::new(Transaction::new(opened_by, isolation, read_only).of(self.id()))
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
        let outcome = self.change_together(WriteSet::new(), changes, None).await;
        self.database.planner.refresh();
        outcome
    }

    /// Rows and definitions in one record of the log; with it goes what their transaction has said.
    pub(super) async fn change_together(
        &mut self,
        set: WriteSet,
        changes: DefinitionChanges,
        said: Option<Departure>,
    ) -> Result<()> {
        let (engine, telling) = (&self.database.engine, self.telling(said));
        let commit = |receiver| engine.commit_definitions(set, changes, telling(receiver));
        submitted(&self.limits, self.settings.lock_timeout(), commit).await.map(drop)
    }

    /// Changes a definition, durably, and takes the new catalog. A statement's first one ends with it: nothing is half made then.
    pub(super) async fn define_now(&mut self, definition: Definition) -> Result<()> {
        let is_first = !std::mem::replace(&mut self.has_defined, true);
        let engine = self.database.engine.clone();
        let define = |receiver| engine.define(definition, receiver);
        match is_first {
            true => self.defined_in_time(define).await,
            false => self.defined(define).await,
        }
    }

    /// The same for several in one record of the log.
    pub(super) async fn define_together(&mut self, definitions: Vec<Definition>) -> Result<()> {
        let is_first = !std::mem::replace(&mut self.has_defined, true);
        let changes = DefinitionChanges { definitions, rewrites: Vec::new() };
        let engine = self.database.engine.clone();
        let define = |receiver| engine.commit_definitions(WriteSet::new(), changes, receiver);
        match is_first {
            true => self.defined_in_time(define).await,
            false => self.defined(define).await,
        }
    }

    /// Changes a definition that may take long and that the statement undoes where it fails.
    pub(super) async fn define_long(&mut self, definition: Definition) -> Result<()> {
        self.has_defined = true;
        let engine = self.database.engine.clone();
        self.defined_in_time(|receiver| engine.define(definition, receiver)).await
    }

    /// Changes a definition whatever ends the statement: it takes a step back.
    pub(super) async fn define_surely(&mut self, definition: Definition) -> Result<()> {
        let engine = self.database.engine.clone();
        self.defined(|receiver| engine.define(definition, receiver)).await
    }

    /// Waits for a definition; withdrawn, or ended while it is built, where its statement ends.
    async fn defined_in_time(&mut self, define: impl FnOnce(WriteReceiver)) -> Result<()> {
        let outcome = submitted(&self.limits, self.settings.lock_timeout(), define).await;
        self.database.planner.refresh();
        outcome.map(drop)
    }

    /// Waits for a definition however long that takes.
    async fn defined(&mut self, define: impl FnOnce(WriteReceiver)) -> Result<()> {
        let (send, receive) = tokio::sync::oneshot::channel();
        define(Box::new(move |outcome: Result<_>| {
            let _ = send.send(outcome.map(|_| ()));
        }));
        let outcome = receive.await.unwrap_or_else(|_| Err(super::execute::shut_down()));
        self.database.planner.refresh();
        outcome
    }
}
