//! Expressions and predicates, as far as the engine understands them.
//!
//! What it understands it runs over column slices and indexes itself; everything else crosses the border as
//! an [`Expression`] that the `sql` crate backs with DataFusion's evaluator.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};

use super::{Arithmetic, ColumnId, DataType, Result, TableSchema, Value};

/// An expression that the engine cannot look into.
///
/// Pure: equal inputs give equal outputs, also across threads. It reads `columns` of its input row (positions
/// among the input's output columns) and `parameters` of the activation (positions in its parameter row).
pub trait Expression: Debug + Send + Sync {
    /// Input columns that it reads, in the order in which `evaluate` wants them.
    fn columns(&self) -> &[usize];
    /// Parameters that it reads, in the order in which `evaluate` wants them.
    fn parameters(&self) -> &[usize];
    /// The type of its result.
    fn data_type(&self) -> DataType;
    /// Evaluates it for `rows` rows. Every array has `rows` values; parameters come as columns too, since in
    /// a batch each row may belong to another activation ("query = tuple"). The result has `rows` values of
    /// `data_type().arrow()`. An error (division by zero) is that of some row: the caller finds whose by
    /// evaluating again per activation.
    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef>;
    /// The same for one activation: `constants` hold one value for each of its parameters.
    fn evaluate_for_one(
        &self,
        columns: &[ArrayRef],
        constants: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        let repeated: Vec<ArrayRef> = constants.iter().map(|one| repeat(one, rows)).collect();
        self.evaluate(columns, &repeated, rows)
    }
    /// Whether one row may take longer than a thousand others, so that nobody knows before what a batch takes.
    fn is_uneven(&self) -> bool {
        false
    }
    /// The expression as SQL, for EXPLAIN. Equal text means equal meaning where parameters are of equal types.
    fn text(&self) -> &str;
    /// The text with the types of its parameters, for signatures: equal meaning, whichever templates they are from.
    fn meaning(&self) -> &str {
        self.text()
    }
    /// The same condition as a comparison of what it computes of a row with what it computes of an activation, where it
    /// is one: then an index over the activations' values answers for all of them at once.
    fn comparison(&self) -> Option<&ComputedComparison> {
        None
    }
    /// The same condition as one on the first characters of a column of strings, where it is one: then these are keys like
    /// those of any comparison.
    fn prefix(&self) -> Option<&PrefixIn> {
        None
    }
    /// The same value in whole numbers, where it is computed of such by `+`, `-`, `*` and CASE only, or is the year of a date.
    fn arithmetic(&self) -> Option<&Arithmetic> {
        None
    }
}

/// The first value, `rows` times.
fn repeat(one: &ArrayRef, rows: usize) -> ArrayRef {
    let places = UInt32Array::from(vec![0; rows]);
    arrow_select::take::take(one, &places, None).expect("there is one value")
}

/// `left op right`, true exactly where the expression is that has it.
#[derive(Clone, Debug)]
pub struct ComputedComparison {
    /// Reads columns only.
    pub left: Arc<dyn Expression>,
    /// The operator.
    pub comparison: Comparison,
    /// Reads parameters only.
    pub right: Scalar,
}

/// `substr(column, start, length) IN (values)`, true exactly where the expression is that has it.
#[derive(Clone, Debug)]
pub struct PrefixIn {
    /// Position in [`Expression::columns`].
    pub position: usize,
    /// Reads parameters only, as all that follow. Another start than 1 makes no prefix.
    pub start: Scalar,
    /// Characters.
    pub length: Scalar,
    /// Strings.
    pub values: Vec<Scalar>,
}

/// A value that a plan node needs per row or per activation.
#[derive(Clone, Debug)]
pub enum Scalar {
    /// The input's output column of that position.
    Column(usize),
    /// The activation's parameter of that position (counted from 0).
    Parameter(usize),
    /// The same for all.
    Literal(Value),
    /// Anything else.
    Expression(Arc<dyn Expression>),
}

impl Scalar {
    /// The columns that it reads of a row.
    pub fn reads(&self) -> impl Iterator<Item = ColumnId> {
        let columns = match self {
            Scalar::Column(column) => std::slice::from_ref(column),
            Scalar::Expression(expression) => expression.columns(),
            Scalar::Parameter(_) | Scalar::Literal(_) => &[],
        };
        columns.iter().map(|column| ColumnId(*column as u32))
    }
}

/// `<`, `=`, ... with SQL's three-valued result: NULL on either side is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// One conjunct of a WHERE clause. `column` is the position among the input's output columns. A row
/// qualifies where the predicate is true (neither false nor NULL).
///
/// The planner has coerced both sides: the value side has the column's type (integers of any width, numerics
/// and floats may mix and compare by value, see [`super::ValueRef::compare`]).
#[derive(Clone, Debug)]
pub enum Predicate {
    /// `column op value`; value is a parameter or a literal
    Compare {
        /// Position among the input's output columns.
        column: usize,
        /// The operator.
        comparison: Comparison,
        /// A parameter or a literal.
        value: Scalar,
    },
    /// `column IN (values)`; values are parameters or literals
    In {
        /// Position among the input's output columns.
        column: usize,
        /// Parameters or literals.
        values: Vec<Scalar>,
        /// NOT IN: true only where no value is NULL and none equals.
        negated: bool,
    },
    /// `column LIKE pattern`; `%`, `_`, escape `\`
    Like {
        /// Position among the input's output columns.
        column: usize,
        /// A parameter or a literal.
        pattern: Scalar,
        /// NOT LIKE
        negated: bool,
        /// ILIKE
        case_insensitive: bool,
    },
    /// `column IS [NOT] NULL`
    IsNull {
        /// Position among the input's output columns.
        column: usize,
        /// IS NOT NULL
        negated: bool,
    },
    /// Any of these holds; each inner list is a conjunction.
    Or(Vec<Vec<Predicate>>),
    /// A boolean expression over columns and parameters.
    Expression(Arc<dyn Expression>),
}

impl Predicate {
    /// Whether asking it of a row may end in an error.
    pub fn may_fail(&self) -> bool {
        match self {
            Predicate::Expression(_) | Predicate::Like { .. } => true,
            Predicate::Or(arms) => arms.iter().flatten().any(Predicate::may_fail),
            Predicate::Compare { .. } | Predicate::In { .. } | Predicate::IsNull { .. } => false,
        }
    }
}

/// A compiled CHECK constraint: violated (23514) where the expression is false; NULL passes.
#[derive(Clone, Debug)]
pub struct Check {
    /// The constraint's name.
    pub name: Arc<str>,
    /// A boolean expression over the table's columns, by [`super::ColumnId`].
    pub expression: Arc<dyn Expression>,
}

/// What a table says of each of its rows.
#[derive(Clone, Debug, Default)]
pub struct RowRules {
    /// Generated columns, and their values over the row's other columns, cast to their types.
    pub generated: Vec<(ColumnId, Scalar)>,
    /// CHECK constraints.
    pub checks: Vec<Check>,
}

impl RowRules {
    /// Whether these are what a table of this definition says.
    pub fn are_of(&self, table: &TableSchema) -> bool {
        let checks = table.checks.iter().map(|check| &check.name);
        let generated = table.generated_columns().map(|(id, _)| id);
        checks.eq(self.checks.iter().map(|check| &check.name))
            && generated.eq(self.generated.iter().map(|(id, _)| *id))
    }

    /// Whether a column is generated from one of these.
    pub fn generates(&self, column: ColumnId, from: impl Fn(ColumnId) -> bool) -> bool {
        let found = self.generated.iter().find(|(id, _)| *id == column);
        found.is_some_and(|(_, value)| value.reads().any(from))
    }
}

/// What SQL says of rows that no statement names and that change nevertheless: by a foreign key's action.
pub trait RowCompiler: Debug + Send + Sync {
    /// What a table says of its rows.
    fn rules(&self, table: &TableSchema) -> Result<RowRules>;
    /// A value as a column of a type keeps it: the assignment cast.
    fn assigned(&self, value: Value, data_type: DataType) -> Result<Value>;
}
