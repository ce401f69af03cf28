//! What all sessions share.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use engine::heartbeat::{Engine, EngineOptions};
use engine::types::{IndexId, Result, SequenceId, TableId};

use super::controls::Controls;
use super::kept_constants::KeptConstants;
use super::prepared::Prepared;
use super::seats::Seats;
use super::{Session, Settings};
use crate::alone::Lists;
use crate::catalog::Catalog;
use crate::notification::Exchange;
use crate::rights::Audit;
use crate::statement::row_rules::RuleCompiler;
use crate::template::{Planner, TemplateCache};
use crate::verification::{Verification, VerificationOptions};

/// How to open a database.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// The engine below.
    pub engine: EngineOptions,
    /// Templates kept in the cache; the least recently used goes first.
    pub template_limit: usize,
    /// Makes of a password what is stored of it; without it passwords cannot be set.
    pub password_verifier: Option<fn(&str) -> String>,
    /// Which answers are run again by another path.
    pub verification: VerificationOptions,
    /// `shareddb.response_time` of sessions for which nobody says otherwise; zero for none.
    pub response_time: Duration,
}

/// The engine, the catalog and the template cache: what all sessions share.
#[derive(Debug)]
pub struct Database {
    pub(super) engine: Arc<Engine>,
    /// Plans statements.
    pub(crate) planner: Arc<Planner>,
    pub(super) cache: TemplateCache<Prepared>,
    /// Texts that begin and end transactions.
    pub(super) controls: Controls,
    /// Texts of expressions alone.
    pub(super) constants: KeptConstants,
    /// New ids.
    pub(crate) ids: Ids,
    /// Statements that change definitions run one after another.
    pub(crate) defining: Arc<tokio::sync::Mutex<()>>,
    pub(crate) password_verifier: Option<fn(&str) -> String>,
    /// Statements that run now: where there are several, a batch is worth waiting for.
    pub(super) running: AtomicUsize,
    /// What queries that run alone share.
    pub(super) pipelines: Arc<Lists>,
    /// Runs answers again by another path.
    pub(super) verification: Verification,
    response_time: Duration,
    /// Sessions by role.
    pub(super) seats: Seats,
    /// Where refusals are told.
    pub(super) audit: Audit,
    /// Where notifications change hands.
    pub(super) exchange: Arc<Exchange>,
    next_process: AtomicI32,
    /// When it was opened, in microseconds since 1970.
    pub(super) opened: i64,
}

/// Ids for new tables, indexes and sequences: above all that exist, and never given twice.
#[derive(Debug, Default)]
pub struct Ids {
    table: AtomicU32,
    index: AtomicU32,
    sequence: AtomicU32,
}

fn next(counter: &AtomicU32, least: u32) -> u32 {
    counter.fetch_max(least, Ordering::Relaxed);
    counter.fetch_add(1, Ordering::Relaxed)
}

impl Ids {
    /// A new table's id.
    pub fn table(&self, catalog: &Catalog) -> TableId {
        TableId(next(&self.table, catalog.next_table_id().0))
    }

    /// A new index's id.
    pub fn index(&self, catalog: &Catalog) -> IndexId {
        IndexId(next(&self.index, catalog.next_index_id().0))
    }

    /// A new sequence's id.
    pub fn sequence(&self, catalog: &Catalog) -> SequenceId {
        SequenceId(next(&self.sequence, catalog.next_sequence_id().0))
    }
}

impl Database {
    /// Opens or creates what `options.engine.data` names.
    pub fn open(options: DatabaseOptions) -> Result<Arc<Database>> {
        let engine = Engine::open(options.engine.clone())?;
        Ok(Database::over(engine, options))
    }

    /// Over an engine that is open already.
    pub fn over(engine: Arc<Engine>, options: DatabaseOptions) -> Arc<Database> {
        super::definitions::drop_leftovers(&engine);
        let planner = Arc::new(Planner::new(engine.clone()));
        engine.store().compile_rows_by(Arc::new(RuleCompiler(Arc::downgrade(&planner))));
        let verification = Verification::new(options.verification, &engine);
        Arc::new(Database {
            engine,
            planner,
            cache: TemplateCache::new(options.template_limit),
            controls: Controls::default(),
            constants: KeptConstants::default(),
            ids: Ids::default(),
            defining: Arc::default(),
            password_verifier: options.password_verifier,
            running: AtomicUsize::new(0),
            pipelines: Arc::default(),
            verification,
            response_time: options.response_time,
            seats: Seats::default(),
            audit: Audit::default(),
            exchange: Arc::default(),
            next_process: AtomicI32::new(1),
            opened: super::now(),
        })
    }

    /// The engine below.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// What queries that run alone share.
    pub fn pipelines(&self) -> &Lists {
        &self.pipelines
    }

    /// Where refusals are told.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// A conversation from inside the process, which may do everything; see `log_in` for those that come from outside.
    pub fn session(self: &Arc<Self>, user: &str) -> Session {
        let process = self.next_process.fetch_add(1, Ordering::Relaxed);
        let settings = Settings::new(user).with_response_time(self.response_time);
        Session::new(self.clone(), user.into(), process, settings)
    }
}

/// Counts a running statement while it lives.
pub(super) struct Running<'a>(&'a Database);

impl Database {
    pub(super) fn start(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(self)
    }
}

impl Running<'_> {
    /// Whether other sessions run statements too.
    pub(super) fn in_company(&self) -> bool {
        self.0.running.load(Ordering::Relaxed) > 1
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
