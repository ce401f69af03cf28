//! What EXPLAIN says of a statement.

use std::sync::Arc;
use std::time::Instant;

use datafusion::sql::sqlparser::ast;
use engine::types::{Error, Result, SqlState, Value};
use futures::TryStreamExt;

use super::prepared::{Plan, Query};
use super::{Outcome, Session, Statement};
use crate::explain::Told;
use crate::promise::Shown;
use crate::statement::prepare;

impl Session {
    /// What EXPLAIN says; with `analyze` the statement is run.
    pub(crate) async fn explain(&mut self, inner: &ast::Statement, analyze: bool) -> Result<Told> {
        let (statement, values) = self.explained(inner).await?;
        let promised = self.told_promise(&statement);
        let mut told = match &statement.prepared.plan {
            Plan::Query(query) => self.told_of(query, &values, &statement.literals),
            Plan::SessionQuery(_) => Told::without_plan("Alone: it asks the session"),
            Plan::Constant(_) => Told::without_plan("Expressions alone"),
            Plan::Write(write) => {
                let command = write.tag.trim_end_matches(" 0");
                Told::without_plan(&format!("{command} in the write heartbeat"))
            }
            Plan::InsertQuery(_) => {
                Told::without_plan("INSERT of a query's rows in the write heartbeat")
            }
            Plan::Complex(_) => Told::without_plan("Alone: its rows are found by a query"),
            Plan::Declare(declare) => match &declare.statement.prepared.plan {
                Plan::Query(query) => self.told_of(query, &[], &declare.statement.literals),
                _ => Told::without_plan("Alone: it asks the session"),
            },
            Plan::Empty | Plan::Command(_) | Plan::Utility(_) => {
                let message = "EXPLAIN of this statement is not supported";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
        };
        if analyze {
            let figures = Arc::default();
            let report = Arc::default();
            self.figures = Some(Arc::clone(&figures));
            self.report = Some(Arc::clone(&report));
            let began = Instant::now();
            let ran = self.run_explained(&statement, values.clone()).await;
            let took = Shown(began.elapsed());
            (self.figures, self.report) = (None, None);
            ran?;
            if let Plan::Query(query) = &statement.prepared.plan {
                let values = self.values(&values, &statement.literals, query.now);
                let (figures, path) = (figures.get(), self.settings.path());
                told = Told::analyzed(&query.template, &values, figures, &report, path);
            }
            promised.into_iter().for_each(|line| told.note(format!("{line}; it took {took}")));
            return Ok(told);
        }
        promised.into_iter().for_each(|line| told.note(line));
        Ok(told)
    }

    /// What the session promises for a statement, and what is expected of it.
    fn told_promise(&self, statement: &Statement) -> Option<String> {
        let promise = Shown(self.settings.response_time()?);
        Some(match self.forecast(statement) {
            Some(forecast) => format!("Promised: {promise}; forecast: {forecast}"),
            None => format!("Promised: {promise}; nothing is known of it yet"),
        })
    }

    /// The statement to explain with the values of its parameters: only EXECUTE has some.
    async fn explained(&mut self, inner: &ast::Statement) -> Result<(Arc<Statement>, Vec<Value>)> {
        if let ast::Statement::Execute { name, parameters, .. } = inner {
            let (statement, values) = prepare::bound(self, name.as_ref(), parameters)?;
            // It may have been planned with other definitions.
            return Ok((self.renew(&statement).await?.unwrap_or(statement), values));
        }
        let text = inner.to_string();
        let statement = match inner {
            ast::Statement::Declare { .. } => self.prepare_whole(&text, &[]).await,
            _ => self.prepare_part(&text, &[]).await,
        };
        let statement = statement.map_err(Error::unplaced)?;
        match statement.parameters.is_empty() {
            true => Ok((statement, Vec::new())),
            false => {
                let message = "there is no parameter $1";
                Err(Error::new(SqlState::UndefinedParameter, message))
            }
        }
    }

    fn told_of(&mut self, query: &Query, values: &[Value], literals: &[Value]) -> Told {
        let values = self.values(values, literals, query.now);
        Told::of_query(&query.template, &values, self.settings.path())
    }

    /// Runs a statement to its end and forgets its rows.
    async fn run_explained(
        &mut self,
        statement: &Arc<Statement>,
        values: Vec<Value>,
    ) -> Result<()> {
        let implicit = super::ImplicitTransaction::Alone;
        if let Outcome::Rows(mut rows) = self.execute_nested(statement, values, implicit).await? {
            while rows.pieces.try_next().await?.is_some() {}
        }
        Ok(())
    }
}
