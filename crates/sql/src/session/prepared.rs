//! A statement's text to a plan: found in the cache, or parsed, lifted and planned.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, SetExpr};
use engine::types::{DataType, Error, Result, SqlState, TableId, Value};

use super::functions::{Functions, is_session_function, names_functions};
use super::{ColumnDescription, Database, Session, Statement};
use crate::analysis;
use crate::catalog::Catalog;
use crate::statement::alter_sequence::{self, AlterSequence};
use crate::statement::complex::ComplexWrite;
use crate::statement::constraint::unsupported;
use crate::statement::cursor::{self, CursorStatement, Declare, Direction};
use crate::statement::insert::InsertQuery;
use crate::statement::write::Write;
use crate::statement::{describe, insert, modify, rewrite};
use crate::template::{
    Lifted, Parameters, Planner, QueryTemplate, characters, check_parameters, lift, parse, place,
};

/// A statement as planned once for all sessions.
#[derive(Debug)]
pub struct Prepared {
    /// The catalog that it was planned with.
    pub version: u64,
    /// PostgreSQL's type ids of the client's parameters.
    pub parameters: Vec<u32>,
    /// Their types.
    pub parameter_types: Vec<DataType>,
    /// Columns of the answer; `None` where a tag is all.
    pub columns: Option<Arc<[ColumnDescription]>>,
    /// What to do.
    pub plan: Plan,
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
    InsertQuery(Box<InsertQuery>),
    /// A write whose rows a query finds.
    Complex(Box<ComplexWrite>),
    /// ALTER SEQUENCE, which the parser does not know.
    AlterSequence(AlterSequence),
    /// CHECKPOINT, which the parser does not know.
    Checkpoint,
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
    /// SELECT ... FOR UPDATE in a block: the rows to be expected unchanged.
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
                | Plan::Empty
                | Plan::Declare(_)
                | Plan::Fetch(_)
                | Plan::Close(_)
        )
    }

    /// The tables that it reads or writes itself, where that is known before it runs.
    pub fn tables(&self) -> Vec<TableId> {
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

    /// Whether it opens no transaction by itself.
    pub fn opens_nothing(&self) -> bool {
        matches!(
            self,
            Plan::Utility(_)
                | Plan::Checkpoint
                | Plan::Empty
                | Plan::Declare(_)
                | Plan::Fetch(_)
                | Plan::Close(_)
        )
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
    /// Plans one statement (42601 for several). `types` are PostgreSQL type ids from Parse, 0 for
    /// unknown.
    pub fn prepare(&mut self, text: &str, types: &[u32]) -> Result<Arc<Statement>> {
        self.prepare_part(text, types).map_err(|fault| place(fault, text))
    }

    /// The same for a text that is part of another one, or not as the client wrote it: where a fault lies is said by
    /// whoever holds the whole text.
    pub(crate) fn prepare_part(&mut self, text: &str, types: &[u32]) -> Result<Arc<Statement>> {
        let database = self.database().clone();
        let catalog = self.catalog();
        let (prepared, literals) = match database.cache.find(text, types, catalog.version) {
            Some(found) => found,
            None => self.plan(text, types, &catalog)?,
        };
        Ok(Arc::new(Statement {
            text: text.into(),
            parameters: prepared.parameters.clone(),
            parameter_types: prepared.parameter_types.clone(),
            columns: prepared.columns.clone(),
            declared: types.into(),
            prepared,
            literals,
        }))
    }

    fn plan(
        &mut self,
        text: &str,
        types: &[u32],
        catalog: &Arc<Catalog>,
    ) -> Result<(Arc<Prepared>, Vec<Value>)> {
        if is_checkpoint(text) {
            return Ok((Arc::new(Prepared::utility(catalog, Plan::Checkpoint, None)), Vec::new()));
        }
        if let Some(restart) = alter_sequence::parse(text)? {
            let plan = Plan::AlterSequence(restart);
            return Ok((Arc::new(Prepared::utility(catalog, plan, None)), Vec::new()));
        }
        if let Some(statement) = cursor::parse(text)? {
            return self.plan_cursor(text, statement, types, catalog).map(|p| (p, Vec::new()));
        }
        let mut statements = match rewrite::rewrite(text) {
            Some(rewritten) => parse(&rewritten)?,
            None => parse(text)?,
        };
        let statement = match statements.len() {
            0 => return Ok((Arc::new(Prepared::utility(catalog, Plan::Empty, None)), Vec::new())),
            1 => statements.remove(0),
            _ => {
                let message = "cannot insert multiple commands into a prepared statement";
                return Err(Error::new(SqlState::SyntaxError, message));
            }
        };
        self.plan_statement(text, statement, types, catalog)
    }

    fn plan_cursor(
        &mut self,
        text: &str,
        statement: CursorStatement,
        types: &[u32],
        catalog: &Arc<Catalog>,
    ) -> Result<Arc<Prepared>> {
        let declare = match statement {
            CursorStatement::Declare(declare) => declare,
            CursorStatement::Fetch { name, direction, silent } => {
                let columns = if silent { None } else { self.cursor_columns(&name) };
                let plan = Plan::Fetch(FetchCursor { name, direction, silent });
                return Ok(Arc::new(Prepared::utility(catalog, plan, columns)));
            }
            CursorStatement::Close(name) => {
                return Ok(Arc::new(Prepared::utility(catalog, Plan::Close(name), None)));
            }
        };
        let before = characters(text, declare.query) - 1;
        let statement = self.prepare(&text[declare.query..], types).map_err(|error| {
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
        let version = catalog.version;
        Ok(Arc::new(Prepared { version, parameters, parameter_types, columns: None, plan }))
    }

    /// Plans a parsed statement; what can be shared goes into the cache under `text`.
    pub(crate) fn plan_statement(
        &mut self,
        text: &str,
        statement: ast::Statement,
        types: &[u32],
        catalog: &Arc<Catalog>,
    ) -> Result<(Arc<Prepared>, Vec<Value>)> {
        match &statement {
            ast::Statement::Query(query) if !is_write(query) => {
                if names_functions(query) {
                    return self.plan_session_query(query, catalog).map(|p| (p, Vec::new()));
                }
            }
            ast::Statement::Query(_)
            | ast::Statement::Insert(_)
            | ast::Statement::Update(_)
            | ast::Statement::Delete(_) => {}
            _ => {
                let columns = describe::columns(self, &statement)?;
                let plan = Plan::Utility(Box::new(statement));
                return Ok((Arc::new(Prepared::utility(catalog, plan, columns)), Vec::new()));
            }
        }
        check_parameters(&statement)?;
        self.refuse_altered(&statement)?;
        analyze(self.database(), &statement, catalog, text)?;
        let database = self.database().clone();
        let lifted = lift(text, statement);
        let (prepared, parameters) = plan_lifted(&database, catalog, lifted.clone(), types)?;
        let literals = parameters.literal_values()?;
        let prepared = Arc::new(prepared);
        let all = parameters.types();
        let first = parameters.client();
        let literal_types = &all[first..first + lifted.literals.len()];
        // What only this block sees is planned for it alone.
        if self.block.definitions().is_none() {
            database.cache.insert(&lifted, types, catalog.version, literal_types, prepared.clone());
        }
        Ok((prepared, literals))
    }

    /// A query over the session itself: described with stand-ins, planned for good when it runs.
    fn plan_session_query(
        &mut self,
        query: &ast::Query,
        catalog: &Arc<Catalog>,
    ) -> Result<Arc<Prepared>> {
        let mut described = query.clone();
        Functions::describe(self.all_settings()).replace(&mut described)?;
        let columns = self.describe_query(&described)?;
        let plan = Plan::SessionQuery(Box::new(query.clone()));
        Ok(Arc::new(Prepared::utility(catalog, plan, Some(columns))))
    }

    /// The columns of a query without parameters.
    pub(crate) fn describe_query(&self, query: &ast::Query) -> Result<Arc<[ColumnDescription]>> {
        let template = self.query_template(query)?;
        Ok(template.columns.clone())
    }

    /// Plans a query without parameters, outside the cache.
    pub(crate) fn query_template(&self, query: &ast::Query) -> Result<Arc<QueryTemplate>> {
        let database = self.database();
        let catalog = self.catalog();
        let mut statement = ast::Statement::Query(Box::new(query.clone()));
        crate::template::name_columns(&mut statement);
        let ast::Statement::Query(query) = statement else { unreachable!("made above") };
        let mut parameters = Parameters::none();
        {
            let text = query.to_string();
            database.planner.query(&catalog, &query, &mut parameters, &text)
        }
    }
}

/// CHECKPOINT, alone in its text.
pub(crate) fn is_checkpoint(text: &str) -> bool {
    text.trim().trim_end_matches(';').trim_end().eq_ignore_ascii_case("checkpoint")
}

/// PostgreSQL's parse analysis; a text that was rewritten before it was parsed has no places to point at.
fn analyze(
    database: &Database,
    statement: &ast::Statement,
    catalog: &Catalog,
    text: &str,
) -> Result<()> {
    let known = |name: &str| has_function(&database.planner, name);
    let checked = analysis::check(statement, catalog, text, &known);
    match rewrite::rewrite(text) {
        Some(_) => checked.map_err(Error::unplaced),
        None => checked,
    }
}

/// Whether there is a function of that name.
pub(crate) fn has_function(planner: &Planner, name: &str) -> bool {
    planner.planning().has_function(name) || is_known_function(name)
}

/// Functions that the planner or the session replaces by something else.
fn is_known_function(name: &str) -> bool {
    const REPLACED: [&str; 12] = [
        "coalesce",
        "nullif",
        "greatest",
        "least",
        "now",
        "generate_series",
        "unnest",
        "array",
        "grouping",
        "row",
        "exists",
        "extract",
    ];
    REPLACED.contains(&name) || name.starts_with("pg_") || is_session_function(name)
}

/// Whether a query is WITH ... INSERT, UPDATE or DELETE.
fn is_write(query: &ast::Query) -> bool {
    matches!(*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_))
}

fn plan_lifted(
    database: &Database,
    catalog: &Arc<Catalog>,
    lifted: Lifted,
    types: &[u32],
) -> Result<(Prepared, Parameters)> {
    match lifted.statement.clone() {
        ast::Statement::Query(query) if is_write(&query) => match (*query.body, query.with) {
            (SetExpr::Update(ast::Statement::Update(update)), with) => {
                modify::plan_update(database, catalog, lifted, update, with, types)
            }
            (SetExpr::Delete(ast::Statement::Delete(delete)), with) => {
                modify::plan_delete(database, catalog, lifted, delete, with, types)
            }
            (SetExpr::Insert(ast::Statement::Insert(insert)), with) => {
                insert::plan(database, catalog, lifted, with_before(insert, with)?, types)
            }
            (other, _) => Err(unsupported(&format!("WITH before {other}"))),
        },
        ast::Statement::Query(query) => plan_query(database, catalog, &lifted, *query, types),
        ast::Statement::Insert(insert) => insert::plan(database, catalog, lifted, insert, types),
        ast::Statement::Update(update) => {
            modify::plan_update(database, catalog, lifted, update, None, types)
        }
        ast::Statement::Delete(delete) => {
            modify::plan_delete(database, catalog, lifted, delete, None, types)
        }
        other => unreachable!("{other} is not planned as a template"),
    }
}

/// WITH ... INSERT: the clause belongs to the query whose rows are inserted.
fn with_before(mut insert: ast::Insert, with: Option<ast::With>) -> Result<ast::Insert> {
    match &mut insert.source {
        Some(source) if source.with.is_none() => source.with = with,
        _ => return Err(unsupported("this use of WITH before INSERT")),
    }
    Ok(insert)
}

fn plan_query(
    database: &Database,
    catalog: &Arc<Catalog>,
    lifted: &Lifted,
    mut query: ast::Query,
    types: &[u32],
) -> Result<(Prepared, Parameters)> {
    let mut parameters = Parameters::new(lifted, types);
    let locks = std::mem::take(&mut query.locks);
    let template = database.planner.query(catalog, &query, &mut parameters, &lifted.text)?;
    let locking = match locks.is_empty() {
        true => None,
        false => {
            crate::statement::locking::plan(database, catalog, &query, &parameters)?.map(Box::new)
        }
    };
    let columns = Some(template.columns.clone());
    let plan = Plan::Query(Query { template, now: lifted.now, locking });
    Ok((Prepared::template(catalog, &parameters, columns, plan), parameters))
}

impl Prepared {
    /// A statement without parameters.
    pub fn utility(
        catalog: &Catalog,
        plan: Plan,
        columns: Option<Arc<[ColumnDescription]>>,
    ) -> Prepared {
        let version = catalog.version;
        Prepared { version, parameters: Vec::new(), parameter_types: Vec::new(), columns, plan }
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
            parameters: parameters.type_ids(),
            parameter_types,
            columns,
            plan,
        }
    }
}
