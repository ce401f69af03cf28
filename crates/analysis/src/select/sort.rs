//! ORDER BY, of queries, aggregates and windows.

use syntax::{List, SortBy, SortByDir, SortByNulls};

use crate::analyzer::Analyzer;
use crate::call::OperatorName;
use crate::coerce::Wish;
use crate::error::{Location, Result, fault, location};
use crate::facts::{Comparisons, Oid, TypeKind, oid, operator};
use crate::tree::{Expression, SortKey, Target};

/// Whether names and positions mean output columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standard {
    /// They do.
    Sql92,
    /// Everything is an expression.
    Sql99,
}

impl<'t> Analyzer<'t, '_> {
    /// ORDER BY.
    pub(crate) fn sort_clause(
        &mut self,
        keys: List<'t, SortBy<'t>>,
        targets: &mut Vec<Target>,
        standard: Standard,
    ) -> Result<Vec<SortKey>> {
        let mut sorted = Vec::with_capacity(keys.len());
        for key in keys.iter() {
            let node = key.node().expect("the grammar gives a key an expression");
            let place = match standard {
                Standard::Sql92 => self.key_by_name(node, targets)?,
                Standard::Sql99 => self.key_by_expression(node, targets)?,
            };
            self.add_sort_key(key, place, targets, &mut sorted)?;
        }
        Ok(sorted)
    }

    /// ORDER BY of an aggregate's arguments.
    pub(crate) fn sort_expressions(
        &mut self,
        keys: &[SortBy<'t>],
        targets: &mut Vec<Target>,
    ) -> Result<Vec<SortKey>> {
        let mut sorted = Vec::with_capacity(keys.len());
        for key in keys {
            let node = key.node().expect("the grammar gives a key an expression");
            let place = self.in_place(crate::place::Place::OrderBy, |this| {
                this.key_by_expression(node, targets)
            })?;
            self.add_sort_key(*key, place, targets, &mut sorted)?;
        }
        Ok(sorted)
    }

    /// WITHIN GROUP (ORDER BY ..): the arguments are the keys, one by one.
    pub(crate) fn sort_places(
        &mut self,
        keys: &[SortBy<'t>],
        targets: &mut [Target],
    ) -> Result<Vec<SortKey>> {
        let mut sorted = Vec::with_capacity(keys.len());
        for (place, key) in keys.iter().enumerate() {
            self.add_sort_key(*key, place, targets, &mut sorted)?;
        }
        Ok(sorted)
    }

    fn add_sort_key(
        &mut self,
        key: SortBy<'t>,
        place: usize,
        targets: &mut [Target],
        sorted: &mut Vec<SortKey>,
    ) -> Result<()> {
        self.known_type(&mut targets[place])?;
        let value = &targets[place].expression;
        let own = location(key.location());
        let at = if own >= 0 { own } else { value.location };
        let comparisons = self.comparisons(value.type_oid);
        let (order, equal, is_reverse) = match key.sortby_dir() {
            SortByDir::Using => self.sort_operator(key, value.type_oid, at)?,
            direction => {
                let is_reverse = direction == SortByDir::Desc;
                let order = if is_reverse { comparisons.greater } else { comparisons.less };
                if order == 0 {
                    return Err(self.no_order(value.type_oid, at));
                }
                (order, comparisons.equal, is_reverse)
            }
        };
        let nulls_first = match key.sortby_nulls() {
            SortByNulls::Default => is_reverse,
            SortByNulls::First => true,
            SortByNulls::Last => false,
        };
        let is_there = |other: &SortKey| {
            other.target == place
                && (other.order == order
                    || operator(order).map(|row| row.commutator) == Some(other.order))
        };
        if !sorted.iter().any(is_there) {
            sorted.push(SortKey { target: place, order, equal, nulls_first });
        }
        Ok(())
    }

    /// ORDER BY .. USING an operator.
    fn sort_operator(
        &self,
        key: SortBy<'t>,
        type_oid: Oid,
        at: Location,
    ) -> Result<(Oid, Oid, bool)> {
        let name = OperatorName::of(key.use_op());
        let row = self.operator_for(name, type_oid, type_oid, at)?;
        let is_reverse = match row.strategy {
            1 => false,
            5 => true,
            _ => {
                let message = format!("operator {} is not a valid ordering operator", name.name);
                return Err(fault("42809", at, message).hint(
                    "Ordering operators must be \"<\" or \">\" members of btree operator families.",
                ));
            }
        };
        Ok((row.oid, self.comparisons(row.operands[0]).equal, is_reverse))
    }

    /// A literal that is sorted or grouped by is a text.
    pub(super) fn known_type(&mut self, target: &mut Target) -> Result<()> {
        if target.expression.type_oid == oid::UNKNOWN {
            let taken = std::mem::replace(&mut target.expression, Expression::null(oid::TEXT));
            target.expression = self.coerce(taken, oid::TEXT, -1, Wish::IMPLICIT)?;
        }
        Ok(())
    }

    /// How values of a type are compared; zeros where they are not.
    pub(crate) fn comparisons(&self, type_oid: Oid) -> Comparisons {
        let base = self.base_type(type_oid);
        let row = self.type_of(base);
        let own = row.comparisons;
        if own != Comparisons::default() && row.kind != TypeKind::Pseudo {
            return own;
        }
        let of = |oid| self.type_of(oid).comparisons;
        match row.kind {
            TypeKind::Enum => of(oid::ANYENUM),
            TypeKind::Range => of(oid::ANYRANGE),
            TypeKind::Multirange => of(oid::ANYMULTIRANGE),
            TypeKind::Composite => self.row_comparisons(base),
            TypeKind::Pseudo if base == oid::RECORD => of(oid::RECORD),
            _ if row.is_array => self.array_comparisons(row.element),
            _ => {
                let alike = [oid::TEXT, oid::OID, 869];
                let like = alike.into_iter().find(|oid| self.is_binary_coercible(base, *oid));
                like.map(of).unwrap_or_default()
            }
        }
    }

    fn array_comparisons(&self, element: Oid) -> Comparisons {
        let of_element = self.comparisons(element);
        let of_arrays = self.type_of(oid::ANYARRAY).comparisons;
        let given = |ours: Oid, theirs: Oid| if ours == 0 { 0 } else { theirs };
        Comparisons {
            less: given(of_element.less, of_arrays.less),
            equal: given(of_element.equal, of_arrays.equal),
            greater: given(of_element.greater, of_arrays.greater),
            hash_equal: given(of_element.hash_equal, of_arrays.hash_equal),
        }
    }

    fn row_comparisons(&self, type_oid: Oid) -> Comparisons {
        let Some(relation) = self.columns_of(type_oid) else { return Comparisons::default() };
        let has_order =
            |column: &crate::catalog::RelationColumn| self.comparisons(column.type_oid).less != 0;
        if relation.columns.iter().flatten().all(has_order) {
            return self.type_of(oid::RECORD).comparisons;
        }
        Comparisons::default()
    }

    pub(super) fn no_order(&self, type_oid: Oid, at: Location) -> Box<crate::error::AnalysisError> {
        let words = self.type_words(type_oid);
        let message = format!("could not identify an ordering operator for type {words}");
        fault("42883", at, message).hint("Use an explicit ordering operator or modify the query.")
    }
}
