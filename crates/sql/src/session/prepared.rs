//! A statement's text to a plan: found in the cache, or parsed, lifted and planned.

use std::borrow::Cow;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use datafusion::sql::sqlparser::ast;
use engine::env::memory::{Reservation, Share};
use engine::heartbeat::promises::Response;
use engine::types::{DataType, Error, Result, SqlState, TableId, Value};

use super::execute::aborted;
use super::functions::is_session_function;
use super::pg_notify;
use super::preparation::{PlannedText, Preparation, text_size};
use super::promised::Recorded;
use super::table_locks::Uses;
use super::{ColumnDescription, OpenedBy, Session, Statement};
use crate::bounded::Planned;
use crate::catalog::{Catalog, Sources};
use crate::rights::Needs;
use crate::statement::command::{Asked, Command};
use crate::statement::complex::ComplexWrite;
use crate::statement::constant::ConstantQuery;
use crate::statement::cursor::Declare;
use crate::statement::describe;
use crate::statement::insert::InsertQuery;
use crate::statement::locked_subqueries::Earlier;
use crate::statement::setting::SettingStatement;
use crate::statement::write::Write;
use crate::template::{
    Parameters, Planner, QueryTemplate, SHORT_TEXT, characters, place, place_part, plain,
};
use crate::text::{SessionZone, in_zone, session_zone};

/// A statement as planned once for all sessions.
#[derive(Debug)]
pub struct Prepared {
    /// The catalog that it was planned with, ...
    pub version: u64,
    /// ... since when that had the same roles, ...
    pub since: u64,
    /// ... and what of it was read.
    pub sources: Sources,
    /// The zone of the session that it was planned for: others plan the text anew.
    pub zone: SessionZone,
    /// PostgreSQL's type ids of the client's parameters.
    pub parameters: Vec<u32>,
    /// Their types.
    pub parameter_types: Vec<DataType>,
    /// Those that the statement only has as numerics of that scale.
    pub rounded: Vec<(usize, DataType)>,
    /// Columns of the answer; `None` where a tag is all.
    pub columns: Option<Arc<[ColumnDescription]>>,
    /// What to do.
    pub plan: Plan,
    /// What runs before it: what locks rows below its top, what changes rows in WITH.
    pub earlier: Vec<Earlier>,
    /// What whoever runs it needs.
    pub needs: Needs,
    /// The role that it was last cleared for with this catalog; 0 for none.
    pub cleared: AtomicU32,
    /// Its text with its literals lifted, where it is no query's: those have it in their template.
    pub shape: Option<Arc<str>>,
    /// How long its answers take.
    pub response: Arc<Response>,
    /// What became of its promises.
    pub(super) recorded: Recorded,
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
    /// SELECT without FROM.
    Constant(Box<ConstantQuery>),
    /// A command: run as PostgreSQL's nodes say.
    Command(Command),
    /// DECLARE
    Declare(Box<DeclareCursor>),
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

impl Plan {
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
        // A pipeline may begin with what is refused in its midst.
        let is_no_pipeline = opened_by != OpenedBy::Pipeline;
        match self {
            Plan::Empty => false,
            Plan::Command(Command::Transaction(statement)) => !statement.is_boundary(),
            Plan::Command(Command::Setting(SettingStatement::Discard(_))) => is_no_pipeline,
            Plan::Command(Command::Maintenance(statement)) => !statement.vacuum || is_no_pipeline,
            Plan::Utility(statement) => match &**statement {
                ast::Statement::CreateIndex(create) => !create.concurrently || is_no_pipeline,
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
        matches!(self, Plan::Utility(_) | Plan::Command(_) | Plan::Constant(_) | Plan::Empty)
    }

    /// Whether a later run of it is like this one, so that what this one takes says something: its plan is kept.
    pub fn is_measured(&self) -> bool {
        matches!(self, Plan::Query(_) | Plan::Write(_) | Plan::InsertQuery(_) | Plan::Complex(_))
    }

    /// Whether a failed block accepts it.
    pub fn ends_block(&self) -> bool {
        match self {
            Plan::Empty => true,
            Plan::Command(command) => command.ends_failure(),
            _ => false,
        }
    }

    /// COPY ... TO.
    pub fn is_copy_to(&self) -> bool {
        matches!(self, Plan::Utility(s) if matches!(**s, ast::Statement::Copy { to: true, .. }))
    }
}

impl Session {
    /// The statement of a text that was planned before, with other literals perhaps: found without a parser, without waiting.
    pub fn known(&self, text: &str, types: &[u32]) -> Option<Arc<Statement>> {
        if let Some(control) = self.database().controls.find(text) {
            let zone = self.settings.zone().clone();
            return Some(Statement::new(text, types, zone, control, Vec::new()));
        }
        self.known_constant(text, types).or_else(|| self.known_plan(text, types))
    }

    fn known_constant(&self, text: &str, types: &[u32]) -> Option<Arc<Statement>> {
        let zone = self.settings.zone().clone();
        let constants = &self.database().constants;
        let holds = |prepared: &Prepared| prepared.holds(&self.catalog()) && prepared.zone == zone;
        let constant = constants.find(text, holds).filter(|_| types.is_empty())?;
        Some(Statement::new(text, types, zone, constant, Vec::new()))
    }

    /// The same for what has a plan.
    fn known_plan(&self, text: &str, types: &[u32]) -> Option<Arc<Statement>> {
        let (catalog, zone) = (self.catalog(), self.settings.zone().clone());
        let holds = |prepared: &Prepared| prepared.holds(&catalog) && prepared.zone == zone;
        let find = || self.database().cache.find(text, types, holds);
        let (prepared, literals) = in_zone(&zone, find)?;
        Some(Statement::new(text, types, zone, prepared, literals))
    }

    /// Plans one statement (42601 for several), on a planning thread if it is not known. `types` are PostgreSQL type ids from
    /// Parse, 0 for unknown. Ends with 57014 when the session is cancelled or `statement_timeout` is over.
    pub async fn prepare(&mut self, text: &str, types: &[u32]) -> Result<Arc<Statement>> {
        if let Some(known) = self.known(text, types) {
            return Ok(known);
        }
        let (asked, is_silent) = self.ask(text).await?;
        if self.block.is_failed() && !asked.ends_failure() {
            return Err(aborted());
        }
        let words = plain(text)?;
        let promised = self.let_text_in(&words, asked.is_exempt())?;
        self.begin_promised(promised);
        let is_planned = !matches!(asked, Asked::Nothing | Asked::Command(_));
        let began = Instant::now();
        let stay = self.database().engine.promises().stations.texts.enter(text.len() as u64);
        let prepared = self.prepare_asked(text, asked, types).await;
        if let Ok(statement) = prepared.as_ref()
            && is_silent
            && types.is_empty()
            && self.zone().is_utc()
        {
            self.database().constants.keep(text, &statement.prepared);
        }
        if prepared.is_ok() && is_planned {
            self.database().engine.promises().planning.note(stay.load(), began.elapsed());
        }
        prepared.map_err(|fault| place(self.limits.told(fault), &words))
    }

    /// What a text asks for by PostgreSQL's grammar, which sees it before anything else does, and whether it had nothing to tell.
    async fn ask(&mut self, text: &str) -> Result<(Asked, bool)> {
        let (asked, notices) = if text.len() <= SHORT_TEXT {
            Asked::of(text)?
        } else {
            let own = Arc::<str>::from(text);
            self.on_planning_thread(text.len(), move || Asked::of(&own)).await?
        };
        let is_silent = notices.is_empty();
        notices.into_iter().for_each(|notice| self.notice(notice));
        Ok((asked, is_silent))
    }

    async fn prepare_asked(
        &mut self,
        text: &str,
        asked: Asked,
        types: &[u32],
    ) -> Result<Arc<Statement>> {
        let catalog = self.catalog();
        let utility = |plan, columns| Arc::new(Prepared::utility(&catalog, plan, columns));
        let prepared = match asked {
            Asked::Copy | Asked::Plan => return self.plan_text(text, types).await,
            Asked::Constant => match self.constant(text, types).await? {
                Some(prepared) => prepared,
                None => return self.plan_text(text, types).await,
            },
            Asked::Declare(declare) => self.plan_declare(text, declare, types).await?,
            Asked::Nothing => utility(Plan::Empty, None),
            Asked::Command(command) => {
                let columns = describe::of_command(self, &command);
                let prepared = utility(Plan::Command(*command), columns);
                self.database().controls.keep(text, &prepared);
                prepared
            }
        };
        let zone = self.settings.zone().clone();
        Ok(Statement::new(&plain(text)?, types, zone, prepared, Vec::new()))
    }

    /// Plans the text of a statement that another one holds.
    pub(super) async fn prepare_whole(
        &mut self,
        text: &str,
        types: &[u32],
    ) -> Result<Arc<Statement>> {
        match self.ask(text).await?.0 {
            // EXECUTE casts its arguments as an assignment does.
            Asked::Constant => self.plan_text(text, types).await,
            asked => self.prepare_asked(text, asked, types).await,
        }
    }

    /// Plans a text that is part of another one, or not as the client wrote it, and that is no command: where a fault lies is said by
    /// whoever holds the whole text.
    pub(crate) async fn prepare_part(
        &mut self,
        text: &str,
        types: &[u32],
    ) -> Result<Arc<Statement>> {
        match self.known_plan(text, types) {
            Some(known) => Ok(known),
            None => self.plan_text(text, types).await,
        }
    }

    /// Plans a text that is not known, on a planning thread, unless it is known once it is plain.
    async fn plan_text(&mut self, text: &str, types: &[u32]) -> Result<Arc<Statement>> {
        let words = plain(text)?;
        if matches!(words, Cow::Owned(_))
            && let Some(known) = self.known_plan(&words, types)
        {
            return Ok(known);
        }
        let (preparation, zone) = (self.preparation(), self.settings.zone().clone());
        let (own, declared) = (Arc::<str>::from(&*words), Box::<[u32]>::from(types));
        let planned =
            self.on_planning_thread(words.len(), move || preparation.plan(&own, &declared)).await?;
        let (prepared, literals) = match planned {
            PlannedText::Whole(prepared, literals) => (prepared, literals),
            PlannedText::Utility(statement) => {
                let columns = describe::columns(self, &statement)?;
                let plan = Plan::Utility(statement);
                (Arc::new(Prepared::utility(&self.catalog(), plan, columns)), Vec::new())
            }
        };
        Ok(Statement::new(&words, types, zone, prepared, literals))
    }

    async fn plan_declare(
        &mut self,
        text: &str,
        declare: Declare,
        types: &[u32],
    ) -> Result<Arc<Prepared>> {
        let before = characters(text, declare.query) - 1;
        let query = &text[declare.query..];
        let planned = Box::pin(self.prepare_part(query, types)).await;
        let statement = planned.map_err(|fault| place_part(fault, query, before))?;
        let is_query = matches!(statement.prepared.plan, Plan::Query(_) | Plan::SessionQuery(_));
        if !is_query || statement.prepared.earlier.iter().any(Earlier::is_modifying) {
            let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
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
            is_private: definitions.is_some(),
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
        in_zone(self.settings.zone(), || {
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
        zone: SessionZone,
        prepared: Arc<Prepared>,
        literals: Vec<Value>,
    ) -> Arc<Statement> {
        Arc::new(Statement {
            text: text.into(),
            parameters: prepared.parameters.clone(),
            parameter_types: prepared.parameter_types.clone(),
            columns: prepared.columns.clone(),
            declared: types.into(),
            zone,
            prepared,
            literals,
        })
    }
}

/// Whether there is a function of that name.
pub(crate) fn has_function(planner: &Planner, name: &str) -> bool {
    planner.planning().has_function(name) || is_known_function(name)
}

/// Functions that the planner or the session replaces by something else.
fn is_known_function(name: &str) -> bool {
    const REPLACED: [&str; 19] = [
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
        "json_agg",
        "json_object_agg",
        "mode",
        "percentile_cont",
        "percentile_disc",
        "row_to_json",
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
            zone: session_zone(),
            parameters: Vec::new(),
            parameter_types: Vec::new(),
            rounded: Vec::new(),
            columns,
            plan,
            earlier: Vec::new(),
            needs: Needs::default(),
            cleared: AtomicU32::new(0),
            shape: None,
            response: Arc::default(),
            recorded: Recorded::default(),
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
        let earlier = self.earlier.iter().flat_map(Earlier::tables);
        self.plan.tables().into_iter().chain(earlier).collect()
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
            zone: session_zone(),
            parameters: parameters.type_ids(),
            parameter_types,
            rounded: Vec::new(),
            columns,
            plan,
            earlier: Vec::new(),
            needs: Needs::default(),
            cleared: AtomicU32::new(0),
            shape: None,
            response: Arc::default(),
            recorded: Recorded::default(),
            used: OnceLock::new(),
            held: OnceLock::new(),
        }
    }
}
