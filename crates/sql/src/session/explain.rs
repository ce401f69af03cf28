//! What EXPLAIN says of a statement.

use datafusion::sql::sqlparser::ast;
use engine::types::{Error, Result, SqlState};

use super::Session;
use super::prepared::Plan;
use crate::template::Path;

impl Session {
    /// The lines of EXPLAIN; with `analyze` the statement is run.
    pub(crate) async fn explain(
        &mut self,
        inner: &ast::Statement,
        analyze: bool,
    ) -> Result<Vec<String>> {
        let text = inner.to_string();
        let statement = self.prepare(&text, &[])?;
        if !statement.parameters.is_empty() {
            let message = "there is no parameter $1";
            return Err(Error::new(SqlState::UndefinedParameter, message));
        }
        let lines = match &statement.prepared.plan {
            Plan::Query(query) => match &query.template.path {
                Path::Shared(template) => vec![format!("Shared (lane {})", template.lane())],
                Path::Alone(reason) => vec![format!("Alone: {reason}")],
            },
            Plan::SessionQuery(_) => vec!["Alone: it asks the session".to_owned()],
            Plan::Write(write) => {
                vec![format!("{} in the write heartbeat", write.tag.trim_end_matches(" 0"))]
            }
            Plan::InsertQuery(_) => {
                vec!["INSERT of a query's rows in the write heartbeat".to_owned()]
            }
            Plan::Complex(_) => vec!["Alone: its rows are found by a query".to_owned()],
            Plan::Empty | Plan::AlterSequence(_) | Plan::Utility(_) => {
                let message = "EXPLAIN of this statement is not supported";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
        };
        if analyze {
            self.execute_nested(&statement, Vec::new(), super::ImplicitTransaction::Alone).await?;
        }
        Ok(lines)
    }
}
