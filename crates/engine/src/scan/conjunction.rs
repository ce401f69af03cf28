//! One slot's conjunction taken apart: key sets and patterns by column, and the rest.

use std::sync::Arc;

use super::filter::{ColumnFilter, ColumnTest, column_test};
use super::pattern::Pattern;
use crate::transaction::Parameters;
use crate::types::{DataType, Predicate, Result};

/// Arms of ORs over several columns that become virtual slots, per activation.
const ARMS: usize = 16;

/// A conjunction with its parameters bound.
#[derive(Clone, Debug, Default)]
pub struct Conjunction {
    /// At most one key set per column.
    pub filters: Vec<(usize, ColumnFilter)>,
    /// LIKE patterns that are no key sets.
    pub patterns: Vec<(usize, Pattern)>,
    /// Whatever else: ORs over several columns, columns against columns, expressions.
    pub rest: Vec<Predicate>,
    /// No row can meet it.
    pub never: bool,
}

impl Conjunction {
    /// Binds parameters and sorts predicates by what an index can do with them.
    pub fn bind(
        predicates: &[Predicate],
        types: &[DataType],
        parameters: Parameters<'_>,
    ) -> Result<Conjunction> {
        let mut conjunction = Conjunction::default();
        for predicate in predicates {
            conjunction.add(predicate, types, parameters)?;
        }
        Ok(conjunction)
    }

    fn add(
        &mut self,
        predicate: &Predicate,
        types: &[DataType],
        parameters: Parameters<'_>,
    ) -> Result<()> {
        match column_test(predicate, types, parameters)? {
            Some((column, ColumnTest::Keys(filter))) => self.add_filter(column, filter),
            Some((column, ColumnTest::Pattern(pattern))) => self.patterns.push((column, pattern)),
            None => self.rest.push(predicate.clone()),
        }
        Ok(())
    }

    fn add_filter(&mut self, column: usize, filter: ColumnFilter) {
        let known = self.filters.iter().position(|(other, _)| *other == column);
        let filter = match known {
            Some(at) => self.filters.swap_remove(at).1.intersect(&filter),
            None => filter,
        };
        self.never |= filter.is_empty();
        self.filters.push((column, filter));
    }

    /// Whether it asks nothing.
    pub fn is_true(&self) -> bool {
        self.is_unindexed() && self.rest.is_empty() && !self.never
    }

    /// Whether only the predicates in `rest` are left to say anything.
    fn is_unindexed(&self) -> bool {
        self.filters.is_empty() && self.patterns.is_empty()
    }

    /// The conjunctions whose union this is. Where nothing but an OR over several columns could narrow the rows,
    /// each of its arms becomes one, so that predicate indexes serve them too ("queries containing disjunctions
    /// can always be expressed as a union of such queries", Crescando, section 5.1).
    pub fn split(self, types: &[DataType], parameters: Parameters<'_>) -> Result<Vec<Conjunction>> {
        let or = self.rest.iter().position(|predicate| matches!(predicate, Predicate::Or(_)));
        let (Some(or), true) = (or, self.is_unindexed()) else { return Ok(vec![self]) };
        let Predicate::Or(arms) = &self.rest[or] else { unreachable!("position of an OR") };
        if arms.len() > ARMS {
            return Ok(vec![self]);
        }
        let mut rest = self.rest.clone();
        rest.remove(or);
        let bound = arms.iter().map(|arm| {
            let mut conjunction = Conjunction::bind(arm, types, parameters)?;
            conjunction.rest.extend(rest.iter().cloned());
            Ok(conjunction)
        });
        let bound: Vec<Conjunction> = bound.collect::<Result<_>>()?;
        // An arm without an index would be read for every row anyway: then one reading is enough.
        if bound.iter().any(Conjunction::is_unindexed) { Ok(vec![self]) } else { Ok(bound) }
    }
}

/// The parameters of one activation, kept for predicates that are evaluated late.
#[derive(Clone, Debug)]
pub struct BoundParameters {
    /// The values.
    pub values: Arc<[crate::types::Value]>,
    /// Their types.
    pub types: Arc<[DataType]>,
}

impl BoundParameters {
    /// Of a statement without any.
    pub fn none() -> BoundParameters {
        BoundParameters { values: Arc::default(), types: Arc::default() }
    }

    /// Borrowed.
    pub fn borrow(&self) -> Parameters<'_> {
        Parameters { values: &self.values, types: &self.types }
    }
}
