//! Rows of queries that have run before the one that reads them.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::TableSource;
use engine::types::{Error, SqlState, Value, array_from_values};

use crate::catalog::FoundRelation;

/// What a statement's queries have given that run before it, in the order in which they run.
#[derive(Clone, Debug, Default)]
pub struct Found(Arc<Vec<RecordBatch>>);

impl Found {
    /// Whether nothing has run before.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the rows of the next query.
    pub fn push(
        &mut self,
        relation: &FoundRelation,
        rows: &[Vec<Value>],
    ) -> engine::types::Result<()> {
        let columns = relation.types().iter().enumerate().map(|(at, data_type)| {
            array_from_values(*data_type, rows.iter().map(|row| row[at].borrow()))
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let columns = columns.collect();
        let batch = RecordBatch::try_new_with_options(relation.arrow().clone(), columns, &options);
        let batch = batch.map_err(|error| crate::template::fault(&error.into()))?;
        Arc::make_mut(&mut self.0).push(batch);
        Ok(())
    }

    /// The rows that a scan of the relation reads.
    pub(super) fn source(&self, relation: &FoundRelation) -> Result<Arc<dyn TableSource>> {
        let rows = self.0.get(relation.number).ok_or_else(|| {
            let message = "internal error: a query was to run before this one";
            DataFusionError::External(Box::new(Error::new(SqlState::InternalError, message)))
        })?;
        Ok(provider_as_source(Arc::new(MemTable::try_new(
            rows.schema(),
            vec![vec![rows.clone()]],
        )?)))
    }
}
