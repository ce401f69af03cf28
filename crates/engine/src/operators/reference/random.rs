//! Random rows, query sets, parameters, predicates.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::ArrayRef;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::{Activations, Relation, Row};
use crate::operators::Budget;
use crate::query_set::{ColumnOrigin, QuerySets, SetId, SetTable, Tuples};
use crate::types::{
    Comparison, ComputedComparison, DataType, Error, Expression, Predicate, Result, Scalar, Slot,
    SqlState, Value, array_cell, array_from_values,
};

/// All types that columns are drawn from.
pub const TYPES: [DataType; 11] = [
    DataType::Boolean,
    DataType::SmallInt,
    DataType::Integer,
    DataType::BigInt,
    DataType::Double,
    DataType::Real,
    DataType::Numeric { precision: 12, scale: 2 },
    DataType::Text,
    DataType::Date,
    DataType::Timestamp,
    DataType::Bytea,
];

/// A source of random things that a seed repeats.
pub struct Random {
    pub rng: StdRng,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random { rng: StdRng::seed_from_u64(seed) }
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.rng.random_range(0..end.max(1))
    }

    pub fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    /// 1 to 200 slots: often one, often about a word.
    pub fn slots(&mut self) -> usize {
        match self.below(4) {
            0 => 1,
            1 => 1 + self.below(8),
            2 => 60 + self.below(10),
            _ => 1 + self.below(200),
        }
    }

    pub fn data_type(&mut self) -> DataType {
        *TYPES.choose(&mut self.rng).expect("there are types")
    }

    /// A value of few, so that keys meet.
    pub fn value(&mut self, data_type: DataType) -> Value {
        if self.chance(12) {
            return Value::Null;
        }
        let small = self.below(6) as i64 - 2;
        match data_type {
            DataType::Boolean => Value::Boolean(small > 0),
            DataType::SmallInt => Value::SmallInt(small as i16),
            DataType::Integer => Value::Integer(small as i32),
            DataType::BigInt => Value::BigInt(small * 1_000_000_007),
            DataType::Real => Value::Real(small as f32 / 2.0),
            DataType::Double => match self.below(20) {
                0 => Value::Double(f64::NAN),
                1 => Value::Double(f64::INFINITY),
                _ => Value::Double(small as f64 / 4.0),
            },
            DataType::Numeric { scale, .. } => Value::Numeric(i128::from(small) * 50, scale),
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) => {
                let text = ["", "a", "ab", "abcdefgh", "abcdefghi and so on", "Z"];
                Value::Text(text[(small + 2) as usize].into())
            }
            DataType::Date => Value::Date(small as i32),
            DataType::Timestamp => Value::Timestamp(small * 86_400_000_000),
            DataType::TimestampTz => Value::TimestampTz(small),
            DataType::Bytea => Value::Bytea(vec![small as u8; self.below(3)].into()),
        }
    }

    /// Parameters of `types` for `slots` slots: of few different rows, often of one.
    pub fn activations(&mut self, slots: usize, types: &[DataType]) -> Activations {
        let different = [1, 2, slots][self.below(3)];
        let row = |random: &mut Random| types.iter().map(|&t| random.value(t)).collect();
        let rows: Vec<Vec<Value>> = (0..different).map(|_| row(self)).collect();
        Activations {
            sets: SetTable::new(slots),
            types: types.to_vec(),
            parameters: (0..slots).map(|slot| rows[slot % different].clone()).collect(),
            budget: Budget::new(1 << 30),
        }
    }

    /// Up to `rows` rows, wanted by few or by many.
    pub fn relation(&mut self, types: &[DataType], rows: usize, slots: usize) -> Relation {
        let rows = self.below(rows + 1);
        let density = [0, 2, 30, 100][self.below(4)];
        let classes: Vec<BTreeSet<Slot>> =
            (0..1 + self.below(5)).map(|_| self.set(density, slots)).collect();
        let interned = self.chance(50);
        let row = |random: &mut Random| {
            let values: Row = types.iter().map(|&t| random.value(t)).collect();
            let set = match interned {
                true => classes[random.below(classes.len())].clone(),
                false => random.set(density, slots),
            };
            (values, set)
        };
        Relation { types: types.to_vec(), rows: (0..rows).map(|_| row(self)).collect() }
    }

    /// A set that is never empty: rows that nobody wants are dropped by whoever makes them.
    pub fn set(&mut self, density: u32, slots: usize) -> BTreeSet<Slot> {
        let mut set: BTreeSet<Slot> =
            (0..slots as u32).map(Slot).filter(|_| self.chance(density)).collect();
        set.insert(Slot(self.below(slots) as u32));
        set
    }

    /// The relation as chunks in random encodings.
    pub fn chunks(&mut self, relation: &Relation, sets: &SetTable) -> Vec<Tuples> {
        let mut chunks = Vec::new();
        let mut rest = &relation.rows[..];
        while !rest.is_empty() {
            let length = if self.chance(40) { rest.len() } else { 1 + self.below(rest.len()) };
            let (chunk, others) = rest.split_at(length);
            chunks.push(self.tuples(&relation.types, chunk, sets));
            rest = others;
        }
        if chunks.is_empty() && self.chance(50) {
            chunks.push(self.tuples(&relation.types, &[], sets));
        }
        chunks
    }

    fn tuples(
        &mut self,
        types: &[DataType],
        rows: &[(Row, BTreeSet<Slot>)],
        sets: &SetTable,
    ) -> Tuples {
        let column = |(i, &data_type): (usize, &DataType)| {
            array_from_values(data_type, rows.iter().map(|(row, _)| row[i].borrow()))
        };
        let ids: Vec<SetId> =
            rows.iter().map(|(_, set)| sets.intern_slots(set.iter().copied())).collect();
        Tuples {
            rows: rows.len(),
            sources: Vec::new(),
            computed: types.iter().enumerate().map(column).collect(),
            columns: (0..types.len()).map(ColumnOrigin::Computed).collect(),
            sets: self.encode(ids, sets),
        }
    }

    fn encode(&mut self, ids: Vec<SetId>, sets: &SetTable) -> QuerySets {
        let rows = ids.len();
        let interned = QuerySets::Interned(ids);
        match self.below(4) {
            0 => interned,
            1 => QuerySets::Bitmaps {
                words_per_row: sets.word_count(),
                words: interned.bitmaps(rows, sets),
            },
            2 => {
                let (mut offsets, mut slots) = (vec![0], Vec::new());
                for row in 0..rows {
                    interned.row(row).for_each(sets, |slot| slots.push(slot));
                    offsets.push(slots.len() as u32);
                }
                QuerySets::Pairs { offsets, slots }
            }
            _ => interned.compact(rows, sets),
        }
    }

    pub fn comparison(&mut self) -> Comparison {
        use Comparison::*;
        let all = [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual];
        *all.choose(&mut self.rng).expect("there are comparisons")
    }

    /// A parameter of the type, a literal, or an expression over parameters.
    fn constant(&mut self, data_type: DataType, parameters: &[DataType]) -> Scalar {
        let own = parameters.iter().position(|&parameter| parameter == data_type);
        match own.filter(|_| self.chance(70)) {
            Some(parameter) => Scalar::Parameter(parameter),
            None => Scalar::Literal(self.value(data_type)),
        }
    }

    /// A predicate over columns of `types` and parameters.
    pub fn predicate(&mut self, types: &[DataType], parameters: &[DataType]) -> Predicate {
        let column = self.below(types.len());
        let data_type = types[column];
        match self.below(8) {
            0 | 1 => {
                let value = self.constant(data_type, parameters);
                Predicate::Compare { column, comparison: self.comparison(), value }
            }
            2 => {
                let values = 0..self.below(4);
                let values = values.map(|_| self.constant(data_type, parameters)).collect();
                Predicate::In { column, values, negated: self.chance(40) }
            }
            3 => Predicate::IsNull { column, negated: self.chance(60) },
            4 => {
                let arms = 0..1 + self.below(3);
                let arms = arms.map(|_| self.predicates(2, types, parameters)).collect();
                Predicate::Or(arms)
            }
            5 => match types.iter().position(|t| *t == DataType::Text) {
                Some(column) => {
                    let patterns = ["%", "a%", "%b%", "_", "abc%hi%", "z"];
                    let pattern = Value::Text(patterns[self.below(6)].into());
                    let own = parameters.iter().position(|p| *p == DataType::Text);
                    let own = own.filter(|_| self.chance(50)).map(Scalar::Parameter);
                    let pattern = own.unwrap_or(Scalar::Literal(pattern));
                    let (negated, case_insensitive) = (self.chance(30), self.chance(50));
                    Predicate::Like { column, pattern, negated, case_insensitive }
                }
                None => Predicate::IsNull { column, negated: true },
            },
            6 => {
                let other = types.iter().rposition(|t| *t == data_type).expect("it is one");
                let value = Scalar::Column(other);
                Predicate::Compare { column, comparison: self.comparison(), value }
            }
            _ if self.chance(50) => Predicate::Expression(self.compared(types, parameters)),
            _ => Predicate::Expression(self.quotient(types, parameters, DataType::Boolean)),
        }
    }

    /// 60 divided by an integer column, compared with an integer parameter.
    fn compared(&mut self, types: &[DataType], parameters: &[DataType]) -> Arc<dyn Expression> {
        let left = self.quotient(types, &[], DataType::Integer);
        let parameter = parameters.iter().position(|t| *t == DataType::Integer);
        let comparison = self.comparison();
        match parameter {
            None => left_is_positive(left),
            Some(parameter) => {
                let right = Scalar::Parameter(parameter);
                let compared = ComputedComparison { left, comparison, right };
                Arc::new(Compared { parameters: vec![parameter], compared })
            }
        }
    }

    pub fn predicates(
        &mut self,
        count: usize,
        types: &[DataType],
        parameters: &[DataType],
    ) -> Vec<Predicate> {
        (0..self.below(count + 1)).map(|_| self.predicate(types, parameters)).collect()
    }

    /// A condition that fails where the first integer column is zero.
    pub fn failing_quotient(&mut self, types: &[DataType]) -> Predicate {
        let column = types.iter().position(|t| *t == DataType::Integer);
        Predicate::Expression(Arc::new(Quotient {
            columns: column.into_iter().collect(),
            parameters: Vec::new(),
            data_type: DataType::Boolean,
            fails: true,
        }))
    }

    /// 60 divided by an integer column and, if there is one, by an integer parameter.
    pub fn quotient(
        &mut self,
        types: &[DataType],
        parameters: &[DataType],
        data_type: DataType,
    ) -> Arc<dyn Expression> {
        let integer = |types: &[DataType]| types.iter().position(|t| *t == DataType::Integer);
        let own = integer(parameters).filter(|_| self.chance(50));
        let fails = self.chance(30);
        Arc::new(Quotient {
            columns: integer(types).into_iter().collect(),
            parameters: own.into_iter().collect(),
            data_type,
            fails,
        })
    }
}

/// `left > 0`
fn left_is_positive(left: Arc<dyn Expression>) -> Arc<dyn Expression> {
    let (comparison, right) = (Comparison::Greater, Scalar::Literal(Value::Integer(0)));
    let compared = ComputedComparison { left, comparison, right };
    Arc::new(Compared { parameters: Vec::new(), compared })
}

/// A comparison that says that it is one.
#[derive(Debug)]
struct Compared {
    parameters: Vec<usize>,
    compared: ComputedComparison,
}

impl Expression for Compared {
    fn columns(&self) -> &[usize] {
        self.compared.left.columns()
    }

    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn data_type(&self) -> DataType {
        DataType::Boolean
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        let left = self.compared.left.evaluate(columns, &[], rows)?;
        let literal = match &self.compared.right {
            Scalar::Literal(value) => value.clone(),
            _ => Value::Null,
        };
        let holds = (0..rows).map(|row| {
            let right = parameters.first().map_or(literal.borrow(), |p| array_cell(p, row));
            crate::transaction::compare(array_cell(&left, row), self.compared.comparison, right)
        });
        let holds: Vec<Value> = holds.map(|h| h.map_or(Value::Null, Value::Boolean)).collect();
        Ok(array_from_values(DataType::Boolean, holds.iter().map(Value::borrow)))
    }

    fn text(&self) -> &str {
        "60 / inputs compared"
    }

    fn comparison(&self) -> Option<&ComputedComparison> {
        Some(&self.compared)
    }
}

/// 60 divided by its inputs: an expression that fails where one is zero, or is NULL there.
#[derive(Debug)]
struct Quotient {
    columns: Vec<usize>,
    parameters: Vec<usize>,
    data_type: DataType,
    fails: bool,
}

impl Expression for Quotient {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn data_type(&self) -> DataType {
        self.data_type
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        let inputs = || columns.iter().chain(parameters);
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let mut quotient = Some(60);
            for input in inputs() {
                quotient = match (quotient, array_cell(input, row).to_owned()) {
                    (_, Value::Integer(0)) if self.fails => {
                        return Err(Error::new(SqlState::DivisionByZero, "division by zero"));
                    }
                    (Some(dividend), Value::Integer(divisor)) if divisor != 0 => {
                        Some(dividend / divisor)
                    }
                    _ => None,
                };
            }
            values.push(match (quotient, self.data_type) {
                (None, _) => Value::Null,
                (Some(quotient), DataType::Boolean) => Value::Boolean(quotient > 0),
                (Some(quotient), _) => Value::Integer(quotient),
            });
        }
        Ok(array_from_values(self.data_type, values.iter().map(Value::borrow)))
    }

    fn text(&self) -> &str {
        // Equal text means equal meaning.
        if self.fails { "60 / inputs" } else { "60 / nonzero inputs" }
    }
}

/// Whether a predicate holds an expression that may fail.
pub fn may_fail(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Expression(_) => true,
        Predicate::Or(arms) => arms.iter().flatten().any(may_fail),
        _ => false,
    }
}
