//! What is left of one slot's conjunction after the indexes, run over the rows that are still candidates.

use std::sync::Arc;

use super::column_kernel::ColumnKernel;
use super::column_pair::ColumnPair;
use super::conjunction::BoundParameters;
use super::expression::evaluate_for_one;
use super::filter::{ColumnTest, column_test};
use super::rows::Rows;
use crate::storage::{Chunk, TableView};
use crate::transaction::{Evaluation, ViewRow};
use crate::types::{ChunkId, ColumnId, DataType, Expression, Location, Predicate, Result, Value};

/// One predicate over the rows of a chunk.
#[derive(Debug)]
pub enum RowTest {
    /// Keys or a pattern on one column.
    Column(Box<ColumnKernel>),
    /// Any of these conjunctions.
    Any(Vec<Vec<RowTest>>),
    /// An expression over columns and parameters.
    Expression(Arc<dyn Expression>),
    /// One column against another; the predicate where a chunk's slices cannot be compared.
    Columns(ColumnPair, Predicate),
    /// Anything else, row by row: columns of different types, patterns that end inside an escape.
    Other(Predicate),
}

/// Where tests read.
#[derive(Clone, Copy)]
pub struct ChunkReader<'a> {
    /// The table.
    pub view: &'a TableView,
    /// The types of its columns.
    pub types: &'a [DataType],
    /// The chunk.
    pub id: ChunkId,
    /// The same.
    pub chunk: &'a Chunk,
}

impl ChunkReader<'_> {
    /// Where a row of the chunk lies.
    pub fn location(&self, row: u32) -> Location {
        Location { chunk: self.id, offset: row }
    }
}

impl RowTest {
    /// A test for a predicate; `rows`: about how many rows are going to be tested in all.
    pub fn new(
        predicate: &Predicate,
        types: &[DataType],
        parameters: &BoundParameters,
        rows: usize,
    ) -> Result<RowTest> {
        if let Some((column, test)) = column_test(predicate, types, parameters.borrow())? {
            return Ok(RowTest::of_column(column, test, rows));
        }
        Ok(match predicate {
            Predicate::Expression(expression) => RowTest::Expression(expression.clone()),
            Predicate::Or(arms) => {
                let arm = |arm: &Vec<Predicate>| {
                    let tests = arm.iter().map(|p| RowTest::new(p, types, parameters, rows));
                    tests.collect::<Result<Vec<_>>>()
                };
                RowTest::Any(arms.iter().map(arm).collect::<Result<_>>()?)
            }
            other => match ColumnPair::new(other, types) {
                Some(pair) => RowTest::Columns(pair, other.clone()),
                None => RowTest::Other(other.clone()),
            },
        })
    }

    /// A test on one column.
    pub fn of_column(column: usize, test: ColumnTest, rows: usize) -> RowTest {
        RowTest::Column(Box::new(ColumnKernel::new(ColumnId(column as u32), test, rows)))
    }

    /// Appends the rows that qualify.
    pub fn select(
        &self,
        reader: ChunkReader<'_>,
        parameters: &BoundParameters,
        rows: Rows<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        match self {
            RowTest::Column(kernel) => {
                kernel.select(&reader.chunk.column(kernel.column()), rows, out);
                Ok(())
            }
            RowTest::Any(arms) => select_any(arms, reader, parameters, rows, out),
            RowTest::Expression(expression) => {
                let locations: Vec<Location> =
                    (0..rows.len()).map(|i| reader.location(rows.offset(i) as u32)).collect();
                let kept = evaluate_for_one(&**expression, reader.view, parameters, &locations)?;
                let offsets = locations.iter().map(|location| location.offset);
                out.extend(offsets.zip(kept).filter(|(_, keep)| *keep).map(|(row, _)| row));
                Ok(())
            }
            RowTest::Columns(pair, _) if pair.select(reader.chunk, rows, out) => Ok(()),
            RowTest::Columns(_, predicate) | RowTest::Other(predicate) => {
                for index in 0..rows.len() {
                    let row = rows.offset(index) as u32;
                    if holds(predicate, reader, parameters, row)? {
                        out.push(row);
                    }
                }
                Ok(())
            }
        }
    }
}

impl RowTest {
    /// Whether a row given by its values qualifies.
    pub fn accepts(
        &self,
        row: &[Value],
        types: &[DataType],
        parameters: &BoundParameters,
    ) -> Result<bool> {
        match self {
            RowTest::Column(kernel) => Ok(kernel.accepts(row[kernel.column().index()].borrow())),
            RowTest::Any(arms) => {
                for arm in arms {
                    if all_accept(arm, row, types, parameters)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            RowTest::Expression(expression) => {
                expression_holds(&**expression, row, types, parameters)
            }
            RowTest::Columns(_, predicate) | RowTest::Other(predicate) => {
                let evaluation = Evaluation { row, types, parameters: parameters.borrow() };
                Ok(evaluation.predicate(predicate)? == Some(true))
            }
        }
    }
}

fn all_accept(
    tests: &[RowTest],
    row: &[Value],
    types: &[DataType],
    parameters: &BoundParameters,
) -> Result<bool> {
    for test in tests {
        if !test.accepts(row, types, parameters)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an expression is true for a row given by its values.
pub fn expression_holds(
    expression: &dyn Expression,
    row: &[Value],
    types: &[DataType],
    parameters: &BoundParameters,
) -> Result<bool> {
    let evaluation = Evaluation { row, types, parameters: parameters.borrow() };
    Ok(evaluation.condition(expression)? == Some(true))
}

fn holds(
    predicate: &Predicate,
    reader: ChunkReader<'_>,
    parameters: &BoundParameters,
    row: u32,
) -> Result<bool> {
    let row = ViewRow { view: reader.view, location: reader.location(row) };
    let evaluation = Evaluation { row: &row, types: reader.types, parameters: parameters.borrow() };
    Ok(evaluation.predicate(predicate)? == Some(true))
}

/// The rows that pass all tests; `None` for all of them where there is no test. One test after the other.
pub fn select_all(
    tests: &[RowTest],
    reader: ChunkReader<'_>,
    parameters: &BoundParameters,
    rows: Rows<'_>,
) -> Result<Option<Vec<u32>>> {
    let mut selected: Option<Vec<u32>> = None;
    for test in tests {
        let mut next = Vec::new();
        let rows = selected.as_deref().map_or(rows, Rows::Some);
        test.select(reader, parameters, rows, &mut next)?;
        selected = Some(next);
    }
    Ok(selected)
}

/// An arm that comes later is asked only about rows that no earlier one has taken.
fn select_any(
    arms: &[Vec<RowTest>],
    reader: ChunkReader<'_>,
    parameters: &BoundParameters,
    rows: Rows<'_>,
    out: &mut Vec<u32>,
) -> Result<()> {
    let mut left: Vec<u32> = (0..rows.len()).map(|index| rows.offset(index) as u32).collect();
    let mut taken: Vec<u32> = Vec::new();
    for arm in arms {
        let selected = match select_all(arm, reader, parameters, Rows::Some(&left))? {
            Some(selected) => selected,
            None => left.clone(),
        };
        let mut passed = selected.iter().peekable();
        left.retain(|row| passed.next_if(|next| *next == row).is_none());
        taken.extend(selected);
    }
    taken.sort_unstable();
    out.extend(taken);
    Ok(())
}
