//! What planning knows of a statement's parameters.
//!
//! A template is planned with the values that the statement had as literals which made it, as PostgreSQL plans a
//! statement with its own values. Estimates read them; they stay parameters all the same, since the next activation
//! brings others.

use super::compiled::DerivedParameter;
use crate::scan::constant;
use crate::transaction::Parameters;
use crate::types::{DataType, Predicate, Scalar, Value};

/// Parameters by number, derived ones at the end.
#[derive(Clone, Debug, Default)]
pub struct KnownParameters {
    types: Vec<DataType>,
    /// NULL where the value is not known.
    values: Vec<Value>,
    is_known: Vec<bool>,
    /// Those that scalar subqueries give, directly or through expressions.
    computed: Vec<usize>,
}

impl KnownParameters {
    /// Parameters of these types, of which the first ones have these values; those beyond are not known.
    pub fn new(types: &[DataType], values: &[Option<Value>]) -> KnownParameters {
        let value = |at: usize| values.get(at).cloned().flatten();
        let given: Vec<Option<Value>> = (0..types.len()).map(value).collect();
        KnownParameters {
            types: types.to_vec(),
            is_known: given.iter().map(Option::is_some).collect(),
            values: given.into_iter().map(|value| value.unwrap_or(Value::Null)).collect(),
            computed: Vec::new(),
        }
    }

    /// With the parameters that are computed of these; one whose computation fails is not known.
    pub fn derive(mut self, derived: &[DerivedParameter]) -> KnownParameters {
        for parameter in derived {
            let scalar = Scalar::Expression(parameter.expression.clone());
            let value = self.value(&scalar);
            self.types.push(parameter.expression.data_type());
            self.is_known.push(value.is_some());
            self.values.push(value.unwrap_or(Value::Null));
        }
        self
    }

    /// With the parameters that scalar subqueries give.
    pub fn with_computed(self, computed: Vec<usize>) -> KnownParameters {
        KnownParameters { computed, ..self }
    }

    /// The same with all values forgotten.
    pub fn without_values(&self) -> KnownParameters {
        KnownParameters { computed: self.computed.clone(), ..KnownParameters::default() }
    }

    /// Whether a scalar subquery gives this value.
    pub fn is_computed(&self, value: &Scalar) -> bool {
        matches!(value, Scalar::Parameter(parameter) if self.computed.contains(parameter))
    }

    /// Whether a predicate compares a column with known values only.
    pub fn settles(&self, predicate: &Predicate) -> bool {
        match predicate {
            Predicate::Compare { value, .. } => self.is_known(value),
            Predicate::In { values, .. } => values.iter().all(|value| self.is_known(value)),
            _ => false,
        }
    }

    /// The values, for who reads known ones only.
    pub fn borrow(&self) -> Parameters<'_> {
        Parameters { values: &self.values, types: &self.types }
    }

    fn is_known(&self, scalar: &Scalar) -> bool {
        let known = |parameter: &usize| self.is_known.get(*parameter) == Some(&true);
        match scalar {
            Scalar::Literal(_) => true,
            Scalar::Parameter(parameter) => known(parameter),
            Scalar::Expression(expression) => {
                expression.columns().is_empty() && expression.parameters().iter().all(known)
            }
            Scalar::Column(_) => false,
        }
    }

    fn value(&self, scalar: &Scalar) -> Option<Value> {
        match self.is_known(scalar) {
            true => constant(scalar, self.borrow()).ok().flatten(),
            false => None,
        }
    }
}
