//! A compiled operator and where its columns are.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::{Column, DFSchema, DFSchemaRef, ExprSchema};
use datafusion::logical_expr::Subquery;
use engine::plan::PlanNode;
use engine::types::{DataType, Scalar};

use super::expression::Resolve;
use super::query::Compiler;
use super::{Refusal, Result};

/// An operator. DataFusion's column `i` is output column `columns[i]`; a scan puts out more than DataFusion wants.
#[derive(Clone, Debug)]
pub struct Input {
    /// The operator.
    pub node: PlanNode,
    /// DataFusion's schema.
    pub schema: DFSchemaRef,
    /// By field of the schema.
    pub columns: Vec<usize>,
    /// By output column of the node.
    pub types: Vec<DataType>,
}

impl Input {
    /// The output column behind a column.
    pub fn position(&self, column: &Column) -> Result<usize> {
        let index = self.schema.maybe_index_of_column(column);
        match index {
            Some(index) => Ok(self.columns[index]),
            None => Err(format!("the unknown column {column}")),
        }
    }

    /// Whether DataFusion's columns are exactly the node's, in order.
    pub fn is_identity(&self) -> bool {
        self.columns.len() == self.types.len()
            && self.columns.iter().enumerate().all(|(i, column)| i == *column)
    }

    /// The node with exactly DataFusion's columns, in order.
    pub fn exact(self) -> Input {
        if self.is_identity() {
            return self;
        }
        let types: Vec<DataType> = self.columns.iter().map(|c| self.types[*c]).collect();
        let expressions = self.columns.iter().map(|column| Scalar::Column(*column)).collect();
        let node =
            PlanNode::Project { input: Box::new(self.node), expressions, types: types.clone() };
        Input { node, schema: self.schema, columns: (0..types.len()).collect(), types }
    }

    /// Adds a computed column behind all others; its position.
    pub fn append(&mut self, scalar: Scalar, data_type: DataType) -> usize {
        let position = self.types.len();
        // Computed columns pile up in one projection.
        if let PlanNode::Project { expressions, types, .. } = &mut self.node
            && let Scalar::Column(column) = scalar
        {
            expressions.push(expressions[column].clone());
            types.push(data_type);
            self.types.push(data_type);
            return position;
        }
        let mut expressions: Vec<Scalar> = (0..position).map(Scalar::Column).collect();
        expressions.push(scalar);
        self.types.push(data_type);
        let input = std::mem::replace(&mut self.node, PlanNode::Union { inputs: Vec::new() });
        self.node =
            PlanNode::Project { input: Box::new(input), expressions, types: self.types.clone() };
        position
    }
}

/// Columns of one input, or of two side by side.
pub struct Columns<'a> {
    compiler: &'a mut Compiler,
    schema: Arc<DFSchema>,
    columns: Vec<usize>,
}

impl<'a> Columns<'a> {
    /// The columns of one operator.
    pub fn of(compiler: &'a mut Compiler, input: &Input) -> Columns<'a> {
        Columns { compiler, schema: input.schema.clone(), columns: input.columns.clone() }
    }

    /// Columns by schema and position.
    pub fn new(
        compiler: &'a mut Compiler,
        schema: Arc<DFSchema>,
        columns: Vec<usize>,
    ) -> Columns<'a> {
        Columns { compiler, schema, columns }
    }
}

impl Resolve for Columns<'_> {
    fn column(&mut self, column: &Column) -> std::result::Result<(usize, ArrowType), Refusal> {
        let index = self.schema.maybe_index_of_column(column);
        let index = index.ok_or_else(|| format!("the unknown column {column}"))?;
        Ok((self.columns[index], self.schema.field(index).data_type().clone()))
    }

    fn subquery(&mut self, subquery: &Subquery) -> Result<(usize, ArrowType)> {
        self.compiler.subquery(subquery)
    }

    fn schema(&self) -> &dyn ExprSchema {
        &self.schema
    }
}
