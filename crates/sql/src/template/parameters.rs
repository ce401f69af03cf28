//! The types of a statement's parameters, while it is being planned.

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use engine::types::{DataType, Error, Result, SqlState, Value};
use std::sync::Arc;

use super::lex::LiteralKind;
use super::lift::{Lifted, LiftedLiteral};
use crate::catalog::types::{
    OIDS, from_arrow, from_id, id_of, id_of_array, item_of_array, type_id,
};

/// PostgreSQL's limit of a string's length.
const ANY_LENGTH: u32 = 10_485_760;

/// The client's parameters, then lifted literals, then the clock.
#[derive(Clone, Debug)]
pub struct Parameters {
    types: Vec<Option<ArrowType>>,
    declared: Vec<u32>,
    literals: Vec<LiftedLiteral>,
    client: usize,
    /// Literals whose only use is a column of bounded length: read as that type, they need no further check.
    bounded: Vec<(usize, DataType)>,
    /// Parameters that are arrays, and the type of their elements. They travel as array literals, which are texts.
    arrays: Vec<(usize, DataType)>,
    /// Those among them that are `oid[]`.
    oid_arrays: Vec<usize>,
}

impl Parameters {
    /// The parameters of a statement; `declared` are type ids from the client, 0 for unknown.
    pub fn new(lifted: &Lifted, declared: &[u32]) -> Parameters {
        let declared_type = |i: usize| declared.get(i).and_then(|id| from_id(*id));
        let mut types: Vec<_> =
            (0..lifted.client).map(|i| declared_type(i).map(DataType::arrow)).collect();
        types.extend(lifted.literals.iter().map(natural_type));
        if lifted.now {
            types.push(Some(DataType::TimestampTz.arrow()));
        }
        let declared_item = |i: usize| Some((i, item_of_array(*declared.get(i)?)?));
        let arrays = (0..lifted.client).filter_map(declared_item);
        Parameters {
            types,
            declared: declared.to_vec(),
            literals: lifted.literals.clone(),
            client: lifted.client,
            bounded: Vec::new(),
            arrays: arrays.collect(),
            oid_arrays: Vec::new(),
        }
    }

    /// Of these types, all sent by the client: of a statement that was planned before.
    pub fn known(types: &[DataType]) -> Parameters {
        let types: Vec<_> = types.iter().map(|data_type| Some(data_type.arrow())).collect();
        Parameters { client: types.len(), types, ..Parameters::none() }
    }

    /// No parameters at all.
    pub fn none() -> Parameters {
        Parameters {
            types: Vec::new(),
            declared: Vec::new(),
            literals: Vec::new(),
            client: 0,
            bounded: Vec::new(),
            arrays: Vec::new(),
            oid_arrays: Vec::new(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// How many the client sends.
    pub fn client(&self) -> usize {
        self.client
    }

    /// One more parameter after all others; its number, counted from 0.
    pub fn add(&mut self, data_type: DataType) -> usize {
        self.types.push(Some(data_type.arrow()));
        self.types.len() - 1
    }

    /// Forgets those from a number on, which one of a statement's queries has for itself.
    pub fn truncate(&mut self, count: usize) {
        self.types.truncate(count);
    }

    /// The fields that DataFusion's planner wants.
    pub fn fields(&self) -> Vec<Option<FieldRef>> {
        let field = |t: &ArrowType| Arc::new(Field::new("", t.clone(), true));
        self.types.iter().map(|t| t.as_ref().map(field)).collect()
    }

    /// The type of a parameter, if known by now.
    pub fn get(&self, index: usize) -> Option<&ArrowType> {
        self.types.get(index)?.as_ref()
    }

    /// Learns the type of a parameter; says whether that is news.
    pub fn learn(&mut self, index: usize, data_type: &ArrowType) -> bool {
        let Some(slot) = self.types.get_mut(index) else { return false };
        // Who declares a numeric declares no scale.
        let plain = DataType::PLAIN_NUMERIC;
        let scaled = self.declared.get(index) == Some(&id_of(plain))
            && *slot == Some(plain.arrow())
            && matches!(data_type, ArrowType::Decimal128(..))
            && *data_type != plain.arrow();
        if (slot.is_some() && !scaled) || data_type.is_null() {
            return false;
        }
        // Only what the wire can carry.
        *slot = Some(from_arrow(data_type).arrow());
        if let ArrowType::List(item) = data_type
            && self.array(index).is_none()
        {
            if item.name() == OIDS {
                self.oid_arrays.push(index);
            }
            self.arrays.push((index, from_arrow(item.data_type())));
        }
        true
    }

    /// The type of a parameter's elements, where it is an array.
    pub fn array(&self, index: usize) -> Option<DataType> {
        self.arrays.iter().find(|(known, _)| *known == index).map(|(_, item)| *item)
    }

    /// Of which type the client said that a parameter's elements are.
    pub fn declared_array(&self, index: usize) -> Option<DataType> {
        self.array(index).filter(|_| self.is_declared(index))
    }

    /// The ids of the client's types for arrays, which are nothing but texts by their types here.
    pub fn declared_arrays(&self) -> Vec<(usize, u32)> {
        let declared = self.arrays.iter().filter(|(index, _)| self.is_declared(*index));
        declared.map(|(index, _)| (*index, self.declared[*index])).collect()
    }

    /// A number literal compared with a column takes the column's type where its value has one there, so that the
    /// comparison needs no cast; says whether that changed anything.
    pub fn adopt(&mut self, index: usize, data_type: &ArrowType) -> bool {
        let Some(literal) = index.checked_sub(self.client).and_then(|i| self.literals.get(i))
        else {
            return false;
        };
        let target = match from_arrow(data_type) {
            DataType::Real => DataType::Double,
            other => other,
        };
        if self.types[index].as_ref() == Some(&target.arrow()) || !adopts(literal, target) {
            return false;
        }
        self.types[index] = Some(target.arrow());
        true
    }

    /// A lifted string that goes into a column of bounded length is read as that type.
    pub fn bound_literal(&mut self, index: usize, target: DataType) -> bool {
        let literal = index.checked_sub(self.client).and_then(|i| self.literals.get(i));
        let string = literal.is_some_and(|literal| literal.kind == LiteralKind::String);
        let bounded = matches!(target, DataType::Varchar(_) | DataType::Char(_));
        if string && bounded {
            self.bounded.push((index, target));
        }
        string && bounded
    }

    /// A string compared with a `char(n)` column is a `char` of any length: blanks at its end do not count.
    pub fn bound_blanks(&mut self, index: usize) {
        if !self.bounded.iter().any(|(known, _)| *known == index) {
            self.bounded.push((index, DataType::Char(ANY_LENGTH)));
        }
    }

    /// Whether the client said of which type a parameter is.
    pub fn is_declared(&self, index: usize) -> bool {
        self.declared.get(index).is_some_and(|id| *id != 0)
    }

    /// What nobody knows of these parameters is text.
    pub fn default_to_text(&mut self, mentioned: &[usize]) -> bool {
        let mut changed = false;
        for index in mentioned {
            if let Some(slot @ None) = self.types.get_mut(*index) {
                *slot = Some(ArrowType::Utf8View);
                changed = true;
            }
        }
        changed
    }

    /// All types; text where unknown.
    pub fn types(&self) -> Vec<DataType> {
        let known = |t: &Option<ArrowType>| t.as_ref().map_or(DataType::Text, from_arrow);
        let mut types: Vec<DataType> = self.types.iter().map(known).collect();
        for (index, data_type) in &self.bounded {
            if matches!(types[*index], DataType::Text) {
                types[*index] = *data_type;
            }
        }
        types
    }

    /// Type ids of the client's parameters, for ParameterDescription: as declared, else as inferred.
    pub fn type_ids(&self) -> Vec<u32> {
        let types = self.types();
        let id = |i: usize| match self.declared.get(i) {
            Some(id) if *id != 0 => *id,
            _ if self.oid_arrays.contains(&i) => type_id::OID_ARRAY,
            _ => self.array(i).map_or_else(|| id_of(types[i]), id_of_array),
        };
        (0..self.client).map(id).collect()
    }

    /// Values of the lifted literals, each in its parameter's type.
    pub fn literal_values(&self) -> Result<Vec<Value>> {
        let types = self.types();
        let typed = self.literals.iter().zip(&types[self.client..]);
        typed.map(|(literal, data_type)| literal_value(literal, *data_type)).collect()
    }

    /// The values that are known when the statement is planned: those of its literals.
    pub fn peeked(&self) -> Vec<Option<Value>> {
        let types = self.types();
        let typed = self.literals.iter().zip(&types[self.client..]);
        let values = typed.map(|(literal, data_type)| literal_value(literal, *data_type).ok());
        std::iter::repeat_n(None, self.client).chain(values).collect()
    }

    /// The lifted literals.
    pub fn literals(&self) -> &[LiftedLiteral] {
        &self.literals
    }
}

/// A literal's value.
pub fn literal_value(literal: &LiftedLiteral, data_type: DataType) -> Result<Value> {
    if literal.negative {
        return crate::text::parse_value(&format!("-{}", literal.text), data_type);
    }
    crate::text::parse_value(&literal.text, data_type)
}

/// The type that PostgreSQL gives a literal on its own; `None` for strings, which take that of their context. The sign counts
/// for the least numbers only, whose digits alone are too large.
pub fn natural_type(literal: &LiftedLiteral) -> Option<ArrowType> {
    if literal.row_count {
        return Some(ArrowType::Int64);
    }
    let least = if literal.negative { least(&literal.text) } else { None };
    match literal.kind {
        _ if least.is_some() => least,
        LiteralKind::String => None,
        LiteralKind::Integer => Some(ArrowType::Int32),
        LiteralKind::BigInteger => Some(ArrowType::Int64),
        LiteralKind::HugeInteger | LiteralKind::Decimal => Some(natural_number(&literal.text)),
    }
}

/// The type of which a number with these digits and a minus sign is the least.
pub fn least(digits: &str) -> Option<ArrowType> {
    match digits.parse() {
        Ok(2_147_483_648_u64) => Some(ArrowType::Int32),
        Ok(9_223_372_036_854_775_808_u64) => Some(ArrowType::Int64),
        _ => None,
    }
}

/// The type of a number that is no `integer` and no `bigint`.
pub fn natural_number(text: &str) -> ArrowType {
    if text.contains(['e', 'E']) {
        return ArrowType::Float64;
    }
    let scale = text.split_once('.').map_or(0, |(_, fraction)| fraction.len().min(38));
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    // Two precisions only, so that literals of different length share a template.
    let precision = if digits <= 18 { 18 } else { 38 };
    ArrowType::Decimal128(precision, scale as i8)
}

fn adopts(literal: &LiftedLiteral, target: DataType) -> bool {
    let number = literal.kind != LiteralKind::String;
    let exact = match target {
        DataType::SmallInt | DataType::Integer | DataType::BigInt => literal.kind.is_whole(),
        DataType::Double => true,
        DataType::Numeric { scale, .. } => fraction_digits(&literal.text) <= usize::from(scale),
        _ => false,
    };
    number && exact && literal_value(literal, target).is_ok()
}

/// Digits after a number's point; too many to compare where it has an exponent.
pub fn fraction_digits(text: &str) -> usize {
    if text.contains(['e', 'E']) {
        return usize::MAX;
    }
    text.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

/// The number of `$n`, counted from 0.
pub fn placeholder_index(id: &str) -> Result<usize> {
    let number: Option<usize> = id.strip_prefix('$').and_then(|digits| digits.parse().ok());
    number.and_then(|n| n.checked_sub(1)).ok_or_else(|| {
        Error::new(SqlState::UndefinedParameter, format!("there is no parameter {id}"))
    })
}
