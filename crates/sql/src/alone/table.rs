//! A stored table as DataFusion's executor reads it.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, ScalarValue, Statistics};
use datafusion::logical_expr::{
    BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType,
};
use datafusion::physical_plan::ExecutionPlan;
use engine::plan::PlannedTable;
use engine::storage::{Index, Snapshot, TableView};
use engine::types::Value;

use super::condition::Condition;
use super::overlay::TableOverlay;
use super::scan::{Field, Scan};
use super::scan_plan::ScanExec;
use super::statistics::{rows, scan_statistics};
use crate::catalog::{TableRelation, types::from_arrow};

/// A table at a version.
#[derive(Debug)]
pub struct SnapshotTable {
    /// The table.
    pub view: Arc<TableView>,
    /// Keeps the versions that the view sees.
    pub snapshot: Snapshot,
    /// The transaction's own changes.
    pub overlay: Option<Arc<TableOverlay>>,
    /// Its columns and hidden columns as planned.
    pub fields: Vec<Field>,
    /// The same for Arrow.
    pub schema: SchemaRef,
}

/// The columns of a relation as a scan puts them out.
pub fn fields_of(relation: &TableRelation) -> Vec<Field> {
    let mut fields: Vec<Field> =
        relation.columns.iter().map(|column| Field::Column(*column)).collect();
    if relation.is_hidden() {
        fields.extend([Field::RowId, Field::RowVersion]);
    }
    fields
}

#[async_trait]
impl TableProvider for SnapshotTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| crate::catalog::pushdown(filter)).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.fields.len()).collect();
        let wanted = projection.unwrap_or(&all);
        let fields = self.fields_at(wanted);
        let statistics = self.statistics(filters, &fields)?;
        let scan = Scan {
            view: self.view.clone(),
            snapshot: self.snapshot.clone(),
            overlay: self.overlay.clone(),
            schema: Arc::new(self.schema.project(wanted)?),
            fields,
            probe: self.probe(filters),
            condition: self.condition(state, filters)?,
            filters: Vec::new(),
            statistics: Arc::new(statistics),
        };
        Ok(Arc::new(ScanExec::new(scan, None)))
    }
}

fn unqualified(expr: Expr) -> Expr {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let plain = expr.clone().transform(|expr| {
        Ok(match expr {
            Expr::Column(column) => {
                Transformed::yes(Expr::Column(datafusion::common::Column::from_name(column.name)))
            }
            other => Transformed::no(other),
        })
    });
    plain.map_or(expr, |plain| plain.data)
}

impl SnapshotTable {
    fn fields_at(&self, positions: &[usize]) -> Vec<Field> {
        positions.iter().map(|position| self.fields[*position]).collect()
    }

    fn condition(&self, state: &dyn Session, filters: &[Expr]) -> Result<Option<Condition>> {
        let mut read = Vec::new();
        for column in filters.iter().flat_map(Expr::column_refs) {
            let position = self.schema.index_of(&column.name)?;
            if !read.contains(&position) {
                read.push(position);
            }
        }
        let schema = Arc::new(self.schema.project(&read)?);
        let named = DFSchema::try_from(schema.clone())?;
        let filters = filters.iter().cloned().map(unqualified).collect();
        let Some(predicate) = crate::dialect::lazy_conjunction(filters, &named)? else {
            return Ok(None);
        };
        let predicate = state.create_physical_expr(predicate, &named)?;
        Ok(Some(Condition { fields: self.fields_at(&read), schema, predicate }))
    }

    fn statistics(&self, filters: &[Expr], fields: &[Field]) -> Result<Statistics> {
        let planned = PlannedTable {
            schema: self.view.schema().clone(),
            statistics: Arc::new(self.view.table().statistics()),
            parameters: Arc::default(),
        };
        scan_statistics(&planned, rows(&planned, filters), fields)
    }

    /// An index whose whole key the filters fix. One that is still kept after the view was taken has all its rows, also if it
    /// is dropped while they are read.
    fn probe(&self, filters: &[Expr]) -> Option<(Arc<Index>, Vec<Value>)> {
        let fixed: Vec<(&str, &ScalarValue)> = filters.iter().filter_map(equality).collect();
        let table = self.view.schema();
        table.indexes.iter().find_map(|index| {
            let key = index.columns.iter().map(|id| {
                let column = &table.columns[id.index()];
                let (_, value) = fixed.iter().find(|(name, _)| *name == &*column.name)?;
                let same = value.data_type() == column.data_type.arrow();
                let array = value.to_array().ok().filter(|_| same && !value.is_null())?;
                debug_assert_eq!(from_arrow(array.data_type()).arrow(), *array.data_type());
                Some(engine::types::array_cell(&array, 0).to_owned())
            });
            let key = key.collect::<Option<Vec<_>>>()?;
            Some((self.view.table().index(index.id)?, key))
        })
    }
}

/// `column = literal`
fn equality(filter: &Expr) -> Option<(&str, &ScalarValue)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = filter else {
        return None;
    };
    match (&**left, &**right) {
        (Expr::Column(column), Expr::Literal(value, _))
        | (Expr::Literal(value, _), Expr::Column(column)) => Some((&column.name, value)),
        _ => None,
    }
}
