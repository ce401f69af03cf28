//! Tables about the system itself: `pg_catalog`, `information_schema`, `shareddb`.

use std::any::Any;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::logical_expr::TableSource;

use super::Catalog;

/// A table whose rows are made when a query asks for them.
pub trait SystemTable: std::fmt::Debug + Send + Sync + Any {
    /// Its columns.
    fn schema(&self) -> SchemaRef;
    /// Its rows now.
    fn rows(&self) -> Result<RecordBatch>;
}

/// A system table as DataFusion's planner sees it.
#[derive(Debug)]
pub struct SystemRelation {
    /// The table.
    pub table: Arc<dyn SystemTable>,
}

impl TableSource for SystemRelation {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }
}

/// The system table of that name.
pub fn relation(_: &Arc<Catalog>, _: &str, _: &str) -> Option<Arc<dyn TableSource>> {
    None
}
