//! What EXPLAIN says of a statement.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast;
use engine::types::{Error, Result, SqlState, Value};
use futures::TryStreamExt;

use super::prepared::{Plan, Query};
use super::{Outcome, Session, Statement};

impl Session {
    /// The lines of EXPLAIN; with `analyze` the statement is run.
    pub(crate) async fn explain(
        &mut self,
        inner: &ast::Statement,
        analyze: bool,
    ) -> Result<Vec<String>> {
        let text = inner.to_string();
        let statement = self.prepare_part(&text, &[]).map_err(Error::unplaced)?;
        if !statement.parameters.is_empty() {
            let message = "there is no parameter $1";
            return Err(Error::new(SqlState::UndefinedParameter, message));
        }
        let lines = match &statement.prepared.plan {
            Plan::Query(query) => self.query_lines(query, &statement.literals),
            Plan::SessionQuery(_) => vec!["Alone: it asks the session".to_owned()],
            Plan::Write(write) => {
                vec![format!("{} in the write heartbeat", write.tag.trim_end_matches(" 0"))]
            }
            Plan::InsertQuery(_) => {
                vec!["INSERT of a query's rows in the write heartbeat".to_owned()]
            }
            Plan::Complex(_) => vec!["Alone: its rows are found by a query".to_owned()],
            Plan::Declare(declare) => match &declare.statement.prepared.plan {
                Plan::Query(query) => self.query_lines(query, &declare.statement.literals),
                _ => vec!["Alone: it asks the session".to_owned()],
            },
            Plan::Empty
            | Plan::AlterSequence(_)
            | Plan::Checkpoint
            | Plan::Fetch(_)
            | Plan::Close(_)
            | Plan::Utility(_) => {
                let message = "EXPLAIN of this statement is not supported";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
        };
        if analyze {
            let figures = Arc::default();
            let report = Arc::default();
            self.figures = Some(Arc::clone(&figures));
            self.report = Some(Arc::clone(&report));
            let ran = self.run_explained(&statement).await;
            (self.figures, self.report) = (None, None);
            ran?;
            if let Plan::Query(query) = &statement.prepared.plan {
                let values = self.values(Vec::new(), &statement.literals, query.now);
                let (figures, path) = (figures.get(), self.settings.path());
                let template = &query.template;
                return Ok(crate::explain::analyzed(template, &values, figures, &report, path));
            }
        }
        Ok(lines)
    }

    fn query_lines(&mut self, query: &Query, literals: &[Value]) -> Vec<String> {
        let values = self.values(Vec::new(), literals, query.now);
        crate::explain::lines(&query.template, &values, self.settings.path())
    }

    /// Runs a statement to its end and forgets its rows.
    async fn run_explained(&mut self, statement: &Arc<Statement>) -> Result<()> {
        let implicit = super::ImplicitTransaction::Alone;
        if let Outcome::Rows(mut rows) =
            self.execute_nested(statement, Vec::new(), implicit).await?
        {
            while rows.pieces.try_next().await?.is_some() {}
        }
        Ok(())
    }
}
