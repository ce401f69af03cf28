//! A statement's text to a plan: found in the cache, or parsed, lifted and planned.

use std::borrow::Cow;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use datafusion::sql::sqlparser::ast;
use engine::env::memory::{Reservation, Share};
use engine::heartbeat::promises::Response;
use engine::types::{DataType, Error, Result, SqlState, TableId, Value};

use super::functions::is_session_function;
use super::pg_notify;
use super::preparation::{PlannedText, Preparation, text_size};
use super::table_locks::Uses;
use super::{ColumnDescription, OpenedBy, Session, Statement};
use crate::bounded::Planned;
use crate::catalog::{Catalog, Sources};
use crate::rights::Needs;
use crate::statement::alter_sequence::AlterSequence;
use crate::statement::complex::ComplexWrite;
use crate::statement::cursor::{CursorStatement, Declare, Direction};
use crate::statement::describe;
use crate::statement::insert::InsertQuery;
use crate::statement::locked_subqueries::LockedSubquery;
use crate::statement::rights::RightsStatement;
use crate::statement::write::Write;
use crate::template::{
    Parameters, Planner, QueryTemplate, characters, long_names, place, plain, refused,
};
use crate::text::in_zone;

/// Bytes of a text that may be parsed where it was received.
const BRIEF_TEXT: usize = 256;

/// A statement as planned once for all sessions.
#[derive(Debug)]
pub struct Prepared {
    /// The catalog that it was planned with, ...
    pub version: u64,
    /// ... since when that had the same roles, ...
    pub since: u64,
    /// ... and what of it was read.
    pub sources: Sources,
    /// PostgreSQL's type ids of the client's parameters.
    pub parameters: Vec<u32>,
    /// Their types.
    pub parameter_types: Vec<DataType>,
    /// Columns of the answer; `None` where a tag is all.
    pub columns: Option<Arc<[ColumnDescription]>>,
    /// What to do.
    pub plan: Plan,
    /// What locks rows below its top, and runs before it.
    pub locked_subqueries: Vec<LockedSubquery>,
    /// What whoever runs it needs.
    pub needs: Needs,
    /// The role that it was last cleared for with this catalog; 0 for none.
    pub cleared: AtomicU32,
    /// Its text with its literals lifted, where it is no query's: those have it in their template.
    pub shape: Option<Arc<str>>,
    /// How long its answers take.
    pub response: Arc<Response>,
    /// What it uses of tables, once somebody has asked.
    pub(super) used: OnceLock<Box<Uses>>,
    /// Its part of what plans may take, as long as somebody keeps it.
    pub(super) held: OnceLock<Reservation>,
}

/// What a statement does.
#[derive(Debug)]
pub enum Plan {
    /// Nothing: the text holds no statement.
    Empty,
    /// A query.
    Query(Query),
    /// A query that asks the session something; planned when it runs.
    SessionQuery(Box<ast::Query>),
    /// A write that the engine runs alone.
    Write(Write),
    /// INSERT of a query's rows.
    InsertQuery(Arc<InsertQuery>),
    /// A write whose rows a query finds.
    Complex(Arc<ComplexWrite>),
    /// ALTER SEQUENCE, which the parser does not know.
    AlterSequence(AlterSequence),
    /// CHECKPOINT, which the parser does not know.
    Checkpoint,
    /// Roles and rights, of which the parser knows little.
    Rights(Box<RightsStatement>),
    /// DECLARE
    Declare(Box<DeclareCursor>),
    /// FETCH and MOVE
    Fetch(FetchCursor),
    /// CLOSE; `None`: all cursors.
    Close(Option<String>),
    /// Anything else: run from its AST.
    Utility(Box<ast::Statement>),
}

/// A query and what the session adds.
#[derive(Debug)]
pub struct Query {
    /// The template.
    pub template: Arc<QueryTemplate>,
    /// Whether the last parameter is the transaction's start.
    pub now: bool,
    /// SELECT ... FOR UPDATE and its kin: what it locks.
    pub locking: Option<Box<crate::statement::locking::Locking>>,
}

/// DECLARE name CURSOR FOR query.
#[derive(Debug)]
pub struct DeclareCursor {
    /// The cursor.
    pub name: String,
    /// It can go back.
    pub scroll: bool,
    /// It outlives its transaction.
    pub hold: bool,
    /// The query.
    pub statement: Arc<Statement>,
}

/// FETCH or MOVE.
#[derive(Debug)]
pub struct FetchCursor {
    /// The cursor.
    pub name: String,
    /// Which rows.
    pub direction: Direction,
    /// Whether it is a MOVE.
    pub silent: bool,
}

impl Plan {
    /// Whether the statement means the same whatever is defined now.
    pub fn outlives_definitions(&self) -> bool {
        matches!(
            self,
            Plan::Utility(_)
                | Plan::AlterSequence(_)
                | Plan::Checkpoint
                | Plan::Rights(_)
                | Plan::Empty
                | Plan::Declare(_)
                | Plan::Fetch(_)
                | Plan::Close(_)
        )
    }

    /// The tables that it reads or writes itself, where that is known before it runs.
    fn tables(&self) -> Vec<TableId> {
        match self {
            Plan::Query(query) => query.template.tables.clone(),
            Plan::Write(write) => vec![write.table],
            Plan::InsertQuery(insert) => {
                insert.source.tables.iter().copied().chain([insert.table.id]).collect()
            }
            Plan::Complex(write) => {
                write.query.tables.iter().copied().chain([write.table.id]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether it opens the implicit transaction of several statements: all but what opens or ends transactions itself.
    pub fn joins(&self, opened_by: OpenedBy) -> bool {
        use ast::Statement::{Commit, CreateIndex, Discard, Rollback, StartTransaction, Vacuum};
        match self {
            Plan::Empty => false,
            Plan::Utility(statement) => match &**statement {
                StartTransaction { .. } | Commit { .. } | Rollback { .. } => false,
                // A pipeline may begin with what is refused in its midst.
                Discard { .. } | Vacuum(_) => opened_by != OpenedBy::Pipeline,
                CreateIndex(create) if create.concurrently => opened_by != OpenedBy::Pipeline,
                _ => true,
            },
            _ => true,
        }
    }

    /// Whether it calls `pg_notify`.
    pub fn notifies(&self) -> bool {
        matches!(self, Plan::SessionQuery(query) if pg_notify::notifies(query))
    }

    /// Whether it asks the tables nothing that could be asked again, by itself: definitions, EXPLAIN, cursors' moves.
    pub fn reads_nothing(&self) -> bool {
        matches!(
            self,
            Plan::Utility(_)
                | Plan::Checkpoint
                | Plan::Rights(_)
                | Plan::Empty
                | Plan::Fetch(_)
                | Plan::Close(_)
        )
    }

    /// Whether a later run of it is like this one, so that what this one takes says something: its plan is kept.
    pub fn is_measured(&self) -> bool {
        matches!(self, Plan::Query(_) | Plan::Write(_) | Plan::InsertQuery(_) | Plan::Complex(_))
    }

    /// Whether a failed block accepts it.
    pub fn ends_block(&self) -> bool {
        use ast::Statement::{Commit, Rollback};
        matches!(self, Plan::Utility(s) if matches!(**s, Commit { .. } | Rollback { .. }))
    }

    /// COPY ... TO.
    pub fn is_copy_to(&self) -> bool {
        matches!(self, Plan::Utility(s) if matches!(**s, ast::Statement::Copy { to: true, .. }))
    }
}

impl Session {
    /// The statement of a text that was planned before, with other literals perhaps: found without a parser, without waiting.
    pub fn known(&self, text: &str, types: &[u32]) -> Option<Arc<Statement>> {
        // What was planned in UTC may have to be refused elsewhere.
        if !self.settings.is_utc() {
            return None;
        }
        if let Some(control) = self.database().controls.find(text) {
            return Some(Statement::new(text, types, true, control, Vec::new()));
        }
        let catalog = self.catalog();
        let holds = |prepared: &Prepared| prepared.holds(&catalog);
        let (prepared, literals) = self.database().cache.find(text, types, holds)?;
        Some(Statement::new(text, types, true, prepared, literals))
    }

    /// Plans one statement (42601 for several), on a planning thread if it is not known. `types` are PostgreSQL type ids from
    /// Parse, 0 for unknown. Ends with 57014 when the session is cancelled or `statement_timeout` is over.
    pub async fn prepare(&mut self, text: &str, types: &[u32]) -> Result<Arc<Statement>> {
        if let Some(known) = self.known(text, types) {
            return Ok(known);
        }
        let words = plain(text);
        let words = words.as_deref().unwrap_or(text);
        let promised = self.let_text_in(words)?;
        self.begin_promised(promised);
        self.check_grammar(text).await?;
        let began = Instant::now();
        let stay = self.database().engine.promises().stations.texts.enter(text.len() as u64);
        let prepared = self.prepare_part(text, types).await;
        if prepared.is_ok() && !is_brief(words) {
            self.database().engine.promises().planning.note(stay.load(), began.elapsed());
        }
        prepared.map_err(|fault| place(self.limits.told(fault), words))
    }

    /// Refuses what PostgreSQL's grammar refuses, before anything else sees it.
    pub(super) async fn check_grammar(&mut self, text: &str) -> Result<()> {
        if text.len() <= refused::SHORT_TEXT {
            return refused::check(text);
        }
        let own = Arc::<str>::from(text);
        self.on_planning_thread(text.len(), move || refused::check(&own)).await
    }

    /// The same for a text that is part of another one, or not as the client wrote it, and as part of a statement that runs:
    /// where a fault lies is said by whoever holds the whole text.
    pub(crate) async fn prepare_part(
        &mut self,
        text: &str,
        types: &[u32],
    ) -> Result<Arc<Statement>> {
        if let Some(known) = self.known(text, types) {
            return Ok(known);
        }
        let words = plain(text)?;
        if matches!(words, Cow::Owned(_)) {
            long_names::notices(text).for_each(|notice| self.notice(notice));
            if let Some(known) = self.known(&words, types) {
                return Ok(known);
            }
        }
        let text = &*words;
        let (preparation, utc) = (self.preparation(), self.settings.is_utc());
        let planned = if is_brief(text) {
            in_zone(utc, || preparation.plan(text, types))?
        } else {
            let (own, declared) = (Arc::<str>::from(text), Box::<[u32]>::from(types));
            self.on_planning_thread(text.len(), move || preparation.plan(&own, &declared)).await?
        };
        let catalog = self.catalog();
        let utility =
            |plan, columns| (Arc::new(Prepared::utility(&catalog, plan, columns)), vec![]);
        let (prepared, literals) = match planned {
            PlannedText::Whole(prepared, literals) => (prepared, literals),
            PlannedText::Utility(statement) => {
                let columns = describe::columns(self, &statement)?;
                let planned = utility(Plan::Utility(statement), columns);
                self.database().controls.keep(text, &planned.0);
                planned
            }
            PlannedText::Cursor(CursorStatement::Declare(declare)) => {
                (Box::pin(self.plan_declare(text, declare, types)).await?, vec![])
            }
            PlannedText::Cursor(CursorStatement::Fetch { name, direction, silent }) => {
                let columns = if silent { None } else { self.cursor_columns(&name) };
                utility(Plan::Fetch(FetchCursor { name, direction, silent }), columns)
            }
            PlannedText::Cursor(CursorStatement::Close(name)) => utility(Plan::Close(name), None),
        };
        Ok(Statement::new(text, types, utc, prepared, literals))
    }

    async fn plan_declare(
        &mut self,
        text: &str,
        declare: Declare,
        types: &[u32],
    ) -> Result<Arc<Prepared>> {
        let before = characters(text, declare.query) - 1;
        let query = &text[declare.query..];
        let planned = self.prepare_part(query, types).await.map_err(|fault| place(fault, query));
        let statement = planned.map_err(|error| {
            let position = error.position;
            position.map_or(error.clone(), |position| error.position(position + before))
        })?;
        if !matches!(statement.prepared.plan, Plan::Query(_) | Plan::SessionQuery(_)) {
            let message = "DECLARE CURSOR must specify a query";
            return Err(Error::new(SqlState::SyntaxError, message).position(before + 1));
        }
        let parameters = statement.parameters.clone();
        let parameter_types = statement.parameter_types.clone();
        let Declare { name, scroll, hold, .. } = declare;
        let plan = Plan::Declare(Box::new(DeclareCursor { name, scroll, hold, statement }));
        let described = Prepared::utility(&self.catalog(), plan, None);
        Ok(Arc::new(Prepared { parameters, parameter_types, ..described }))
    }

    /// What planning needs to know of the session, so that it can go on by itself.
    pub(super) fn preparation(&self) -> Preparation {
        let definitions = self.block.definitions();
        Preparation {
            database: self.database().clone(),
            catalog: self.catalog(),
            altered: definitions.map(|own| own.altered_names().clone()).unwrap_or_default(),
            is_private: definitions.is_some() || !self.settings.is_utc(),
            settings: self.settings.changed(),
            role: self.acting_role(),
        }
    }

    /// Has `work` done on a planning thread; the session may be cancelled meanwhile.
    pub(crate) fn on_planning_thread<T: Send + 'static>(
        &self,
        text_bytes: usize,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Planned<T> {
        let threads = self.database().planner.planning().threads();
        let usage = self.usage().clone();
        let work = move || {
            let _entered = usage.enter();
            work()
        };
        let (cancelled, deadline) = (self.limits.cancelled.clone(), self.limits.deadline());
        in_zone(self.settings.is_utc(), || {
            threads.run(text_bytes, cancelled, deadline.map(Into::into), work)
        })
    }

    /// Plans a query without parameters, outside the cache.
    pub(crate) fn query_template(&self, query: &ast::Query) -> Planned<Arc<QueryTemplate>> {
        let (preparation, query) = (self.preparation(), query.clone());
        let size = text_size(&query);
        self.on_planning_thread(size, move || preparation.query_template(&query))
    }

    /// The same with what it locks.
    pub(super) fn locking_query(&self, query: &ast::Query) -> Planned<Query> {
        let (preparation, query) = (self.preparation(), query.clone());
        let size = text_size(&query);
        self.on_planning_thread(size, move || preparation.locking_query(&query))
    }
}

impl Statement {
    fn new(
        text: &str,
        types: &[u32],
        utc: bool,
        prepared: Arc<Prepared>,
        literals: Vec<Value>,
    ) -> Arc<Statement> {
        Arc::new(Statement {
            text: text.into(),
            parameters: prepared.parameters.clone(),
            parameter_types: prepared.parameter_types.clone(),
            columns: prepared.columns.clone(),
            declared: types.into(),
            utc,
            prepared,
            literals,
        })
    }
}

/// Whether a text is parsed in less time than it takes to wake another thread, and not planned at all.
pub(super) fn is_brief(text: &str) -> bool {
    const WORDS: [&str; 17] = [
        "begin",
        "start",
        "commit",
        "end",
        "rollback",
        "abort",
        "savepoint",
        "release",
        "set",
        "reset",
        "show",
        "deallocate",
        "discard",
        "checkpoint",
        "listen",
        "unlisten",
        "notify",
    ];
    let word = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next();
    let is_word = |known: &&str| word.is_some_and(|word| word.eq_ignore_ascii_case(known));
    text.len() <= BRIEF_TEXT && WORDS.iter().any(is_word)
}

/// CHECKPOINT, alone in its text.
pub(crate) fn is_checkpoint(text: &str) -> bool {
    text.trim().trim_end_matches(';').trim_end().eq_ignore_ascii_case("checkpoint")
}

/// Whether there is a function of that name.
pub(crate) fn has_function(planner: &Planner, name: &str) -> bool {
    planner.planning().has_function(name) || is_known_function(name)
}

/// Functions that the planner or the session replaces by something else.
fn is_known_function(name: &str) -> bool {
    const REPLACED: [&str; 13] = [
        "coalesce",
        "nullif",
        "greatest",
        "least",
        "now",
        "generate_series",
        "generate_subscripts",
        "unnest",
        "array",
        "grouping",
        "row",
        "exists",
        "extract",
    ];
    REPLACED.contains(&name) || name.starts_with("pg_") || is_session_function(name)
}

impl Prepared {
    /// A statement without parameters.
    pub fn utility(
        catalog: &Catalog,
        plan: Plan,
        columns: Option<Arc<[ColumnDescription]>>,
    ) -> Prepared {
        Prepared {
            version: catalog.version,
            since: catalog.since(),
            sources: Sources::Everything,
            parameters: Vec::new(),
            parameter_types: Vec::new(),
            columns,
            plan,
            locked_subqueries: Vec::new(),
            needs: Needs::default(),
            cleared: AtomicU32::new(0),
            shape: None,
            response: Arc::default(),
            used: OnceLock::new(),
            held: OnceLock::new(),
        }
    }

    /// Whether it would be planned alike with this catalog.
    pub fn holds(&self, catalog: &Catalog) -> bool {
        catalog.holds(self.version, &self.sources)
    }

    /// The tables that it reads or writes, where that is known before it runs.
    pub fn tables(&self) -> Vec<TableId> {
        let locked = self.locked_subqueries.iter().flat_map(|query| &query.locking.query.tables);
        self.plan.tables().into_iter().chain(locked.copied()).collect()
    }

    /// Counts it among what is kept, once for all who keep it; 53200 where there is no room for so many bytes.
    pub fn hold(&self, bytes: usize) -> Result<()> {
        if self.held.get().is_none() {
            // Who counts it at the same time gives back what he took.
            let _ = self.held.set(Reservation::of(Share::Plans, bytes)?);
        }
        Ok(())
    }

    /// A statement with the parameters that planning found.
    pub fn template(
        catalog: &Catalog,
        parameters: &Parameters,
        columns: Option<Arc<[ColumnDescription]>>,
        plan: Plan,
    ) -> Prepared {
        let mut parameter_types = parameters.types();
        parameter_types.truncate(parameters.client());
        Prepared {
            version: catalog.version,
            since: catalog.since(),
            sources: Sources::Everything,
            parameters: parameters.type_ids(),
            parameter_types,
            columns,
            plan,
            locked_subqueries: Vec::new(),
            needs: Needs::default(),
            cleared: AtomicU32::new(0),
            shape: None,
            response: Arc::default(),
            used: OnceLock::new(),
            held: OnceLock::new(),
        }
    }
}
