//! Parsing and planning a text, away from its session: on a planning thread.
//!
//! In comes a text with what planning must know of the session; out goes a plan, or what only the session can finish (a
//! utility's columns). What can be shared is kept in the template cache. Called by
//! [`super::prepared`].

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, SetExpr, Visit, Visitor};
use engine::types::{DataType, Result, Value};

use super::definitions::refuse_altered;
use super::functions::{Functions, count_parameters, give_parameters, names_functions};
use super::pg_notify;
use super::prepared::{Plan, Prepared, Query, has_function};
use super::settings::ChangedSettings;
use super::{Database, advisory};
use crate::analysis;
use crate::catalog::types::{from_id, id_of};
use crate::catalog::{Catalog, Sources};
use crate::rights::{needs_of, query_needs};
use crate::statement::constraint::unsupported;
use crate::statement::locked_subqueries::Taken;
use crate::statement::rounded::rounded;
use crate::statement::{insert, locked_subqueries, locking, modify, modifying_queries, rewrite};
use crate::template::{
    Lifted, Parameters, QueryTemplate, check_parameters, lift, not_known, parse,
};

/// What planning must know of a session.
pub(super) struct Preparation {
    pub database: Arc<Database>,
    pub catalog: Arc<Catalog>,
    /// Tables that the session's block has altered.
    pub altered: HashSet<String>,
    /// What only this block sees is planned for it alone.
    pub is_private: bool,
    pub settings: ChangedSettings,
    /// The role whose rights it has.
    pub role: String,
}

/// What became of a text.
pub(super) enum PlannedText {
    /// All of it, with the values of its literals.
    Whole(Arc<Prepared>, Vec<Value>),
    /// A statement that is run from its AST.
    Utility(Box<ast::Statement>),
}

impl Preparation {
    /// Parses and plans one statement.
    pub fn plan(&self, text: &str, types: &[u32]) -> Result<PlannedText> {
        rewrite::refuse(text)?;
        let mut statements = match rewrite::rewrite(text) {
            Some(rewritten) => parse(&rewritten),
            None => parse(text),
        }
        .map_err(|error| not_known(text, error))?;
        match statements.len() {
            1 => self.plan_statement(text, statements.remove(0), types),
            // PostgreSQL's grammar has seen one.
            count => {
                Err(unsupported(&format!("a statement that is {count} to the parser of plans")))
            }
        }
    }

    /// Plans a parsed statement; what can be shared goes into the cache under `text`.
    fn plan_statement(
        &self,
        text: &str,
        statement: ast::Statement,
        types: &[u32],
    ) -> Result<PlannedText> {
        advisory::check(&statement)?;
        match &statement {
            ast::Statement::Query(query) if !is_write(query) => {
                if names_functions(query) {
                    if modifying_queries::has_modifying(&statement) {
                        let what =
                            "a function of the session beside INSERT, UPDATE or DELETE in WITH";
                        return Err(unsupported(what));
                    }
                    let prepared = self.plan_session_query(query, types)?;
                    return Ok(PlannedText::Whole(Arc::new(prepared), Vec::new()));
                }
            }
            ast::Statement::Query(_)
            | ast::Statement::Insert(_)
            | ast::Statement::Update(_)
            | ast::Statement::Delete(_) => {}
            _ => return Ok(PlannedText::Utility(Box::new(statement))),
        }
        check_parameters(&statement)?;
        refuse_altered(&self.altered, &statement)?;
        self.analyze(&statement, text)?;
        let (catalog, cache) = (&self.catalog, &self.database.cache);
        let needs = needs_of(catalog, &statement);
        let sources =
            if self.is_private { Sources::Everything } else { Sources::of(catalog, &statement) };
        let lifted = lift(text, statement);
        let (mut prepared, parameters) = self.plan_lifted(lifted.clone(), types)?;
        (prepared.needs, prepared.sources) = (needs, sources);
        if !matches!(prepared.plan, Plan::Query(_)) {
            prepared.shape = Some(lifted.text.as_str().into());
        }
        let literals = parameters.literal_values()?;
        let prepared = Arc::new(prepared);
        let all = parameters.types();
        let first = parameters.client();
        let literal_types = &all[first..first + lifted.literals.len()];
        if !self.is_private {
            let hold = |bytes| prepared.hold(bytes).is_ok();
            let value = prepared.clone();
            let holds = |prepared: &Prepared| prepared.holds(catalog);
            cache.insert(&lifted, types, literal_types, value, hold, holds);
        }
        Ok(PlannedText::Whole(prepared, literals))
    }

    /// A query over the session itself: described with stand-ins, planned for good when it runs.
    fn plan_session_query(&self, query: &ast::Query, types: &[u32]) -> Result<Prepared> {
        pg_notify::check(query)?;
        let wanted = advisory::parameters(query);
        let declared = |i: usize| {
            let told = types.get(i).and_then(|id| from_id(*id));
            told.or_else(|| wanted.get(&i).copied()).unwrap_or(DataType::Text)
        };
        let parameter_types: Vec<DataType> = (0..count_parameters(query)).map(declared).collect();
        let parameters = parameter_types.iter().map(|data_type| id_of(*data_type)).collect();
        let mut described = query.clone();
        let unknown = vec![Value::Null; parameter_types.len()];
        give_parameters(&mut described, &parameter_types, &unknown)?;
        Functions::describe(self.settings.clone(), self.role.clone()).replace(&mut described)?;
        described.locks.clear();
        let columns = self.query_template(&described)?.columns.clone();
        let plan = Plan::SessionQuery(Box::new(query.clone()));
        let needs = query_needs(&self.catalog, query);
        let described = Prepared::utility(&self.catalog, plan, Some(columns));
        Ok(Prepared { parameters, parameter_types, needs, ..described })
    }

    /// Plans a query without parameters, outside the cache.
    pub fn query_template(&self, query: &ast::Query) -> Result<Arc<QueryTemplate>> {
        advisory::refuse(query)?;
        modifying_queries::refuse(query)?;
        self.named_template(&with_names(query))
    }

    fn named_template(&self, query: &ast::Query) -> Result<Arc<QueryTemplate>> {
        let (text, mut parameters) = (query.to_string(), Parameters::none());
        self.database.planner.query(&self.catalog, query, &mut parameters, &text)
    }

    /// The same with what it locks.
    pub fn locking_query(&self, query: &ast::Query) -> Result<Query> {
        let mut query = with_names(query);
        let locks = std::mem::take(&mut query.locks);
        let template = self.named_template(&query)?;
        let (database, mut parameters) = (&*self.database, Parameters::none());
        let locking = locking::plan(database, &self.catalog, &query, &locks, &mut parameters)?;
        Ok(Query { template, now: false, locking: locking.map(Box::new) })
    }

    /// PostgreSQL's parse analysis.
    fn analyze(&self, statement: &ast::Statement, text: &str) -> Result<()> {
        let known = |name: &str| has_function(&self.database.planner, name);
        analysis::check(statement, &self.catalog, text, &known)
    }

    fn plan_lifted(&self, mut lifted: Lifted, types: &[u32]) -> Result<(Prepared, Parameters)> {
        let mut parameters = Parameters::new(&lifted, types);
        let rounded = rounded(&lifted.statement, lifted.client);
        let mut taken = Taken::new(&self.catalog);
        self.take_modifying(&mut lifted, &mut parameters, &mut taken)?;
        let (database, statement) = (&*self.database, &mut lifted.statement);
        locked_subqueries::take(database, &mut taken, statement, &mut parameters)?;
        let (prepared, parameters) = self.plan_parts(lifted, &taken.catalog, parameters)?;
        taken.refuse_searched(&prepared.plan)?;
        Ok((Prepared { earlier: taken.queries, rounded, ..prepared }, parameters))
    }

    pub(super) fn plan_parts(
        &self,
        lifted: Lifted,
        catalog: &Arc<Catalog>,
        parameters: Parameters,
    ) -> Result<(Prepared, Parameters)> {
        let database = &*self.database;
        match lifted.statement.clone() {
            ast::Statement::Query(query) if is_write(&query) => match (*query.body, query.with) {
                (SetExpr::Update(ast::Statement::Update(update)), with) => {
                    modify::plan_update(database, catalog, lifted, update, with, parameters)
                }
                (SetExpr::Delete(ast::Statement::Delete(delete)), with) => {
                    modify::plan_delete(database, catalog, lifted, delete, with, parameters)
                }
                (SetExpr::Insert(ast::Statement::Insert(insert)), with) => {
                    insert::plan(database, catalog, lifted, with_before(insert, with)?, parameters)
                }
                (other, _) => Err(unsupported(&format!("WITH before {other}"))),
            },
            ast::Statement::Query(query) => {
                plan_query(database, catalog, &lifted, *query, parameters)
            }
            ast::Statement::Insert(insert) => {
                insert::plan(database, catalog, lifted, insert, parameters)
            }
            ast::Statement::Update(update) => {
                modify::plan_update(database, catalog, lifted, update, None, parameters)
            }
            ast::Statement::Delete(delete) => {
                modify::plan_delete(database, catalog, lifted, delete, None, parameters)
            }
            other => unreachable!("{other} is not planned as a template"),
        }
    }
}

/// The query with names for its columns.
fn with_names(query: &ast::Query) -> ast::Query {
    let mut statement = ast::Statement::Query(Box::new(query.clone()));
    crate::template::name_columns(&mut statement);
    match statement {
        ast::Statement::Query(query) => *query,
        other => unreachable!("{other} was made above"),
    }
}

/// About the bytes of a query's text, without writing it.
pub(super) fn text_size(query: &ast::Query) -> usize {
    struct Parts(usize);
    impl Visitor for Parts {
        type Break = ();
        fn pre_visit_expr(&mut self, _: &ast::Expr) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
            self.0 += 4;
            ControlFlow::Continue(())
        }
    }
    let mut parts = Parts(0);
    let _ = query.visit(&mut parts);
    8 * parts.0
}

/// Whether a query is WITH ... INSERT, UPDATE or DELETE.
fn is_write(query: &ast::Query) -> bool {
    matches!(*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_))
}

/// WITH ... INSERT: the clause belongs to the query whose rows are inserted.
fn with_before(mut insert: ast::Insert, with: Option<ast::With>) -> Result<ast::Insert> {
    match &mut insert.source {
        _ if with.is_none() => {}
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
    mut parameters: Parameters,
) -> Result<(Prepared, Parameters)> {
    let locks = std::mem::take(&mut query.locks);
    let template = database.planner.query(catalog, &query, &mut parameters, &lifted.text)?;
    let locking = locking::plan(database, catalog, &query, &locks, &mut parameters)?.map(Box::new);
    let columns = Some(template.columns.clone());
    let plan = Plan::Query(Query { template, now: lifted.now, locking });
    Ok((Prepared::template(catalog, &parameters, columns, plan), parameters))
}
