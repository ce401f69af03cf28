//! What queries have given that run before their statement, as DataFusion's planner sees it: relations of one statement.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::logical_expr::TableSource;
use engine::plan::OutputColumn;
use engine::types::DataType;

use crate::template::Origin;

/// The schema in which a statement names them.
pub const FOUND_SCHEMA: &str = "__found";

/// The rows of a query that has run before.
#[derive(Debug)]
pub struct FoundRelation {
    /// Which of the statement's queries it is.
    pub number: usize,
    /// Its name, which says of which types its columns are: equal text of a statement is an equal plan.
    pub name: String,
    /// Which tables' columns they are.
    pub origins: Vec<Option<Origin>>,
    types: Vec<DataType>,
    arrow: SchemaRef,
}

impl FoundRelation {
    /// What the `number`th query of a statement gives; its columns are called by their numbers.
    pub fn new(
        number: usize,
        columns: &[&OutputColumn],
        origins: Vec<Option<Origin>>,
    ) -> FoundRelation {
        let types: Vec<DataType> = columns.iter().map(|column| column.data_type).collect();
        let spelled: Vec<String> = types.iter().map(DataType::to_string).collect();
        let field = |(at, data_type): (usize, &DataType)| {
            Field::new(FoundRelation::column(at), data_type.arrow(), true)
        };
        let arrow = Schema::new(types.iter().enumerate().map(field).collect::<Vec<_>>());
        let name = format!("{number} {}", spelled.join(", "));
        FoundRelation { number, name, origins, types, arrow: Arc::new(arrow) }
    }

    /// The name of a column.
    pub fn column(at: usize) -> String {
        format!("c{at}")
    }

    /// The types of its columns.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// Arrow's view of its columns.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }
}

impl TableSource for FoundRelation {
    fn schema(&self) -> SchemaRef {
        self.arrow.clone()
    }
}
