//! Operators.

use syntax::{List, StringValue};

use super::candidate::Candidate;
use crate::analyzer::Analyzer;
use crate::error::{AnalysisError, Location, Result, fault, leftmost};
use crate::facts::{Oid, OperatorRow, oid, operators_named};
use crate::tree::{Expression, ExpressionKind, OperatorRef};
use crate::types::is_polymorphic;

impl Candidate for &'static OperatorRow {
    fn types(&self) -> &[Oid] {
        if self.operands[0] == 0 { &self.operands[1..] } else { &self.operands }
    }
}

/// An operator as it is written: its schema and its name.
#[derive(Clone, Copy)]
pub(crate) struct OperatorName<'t> {
    pub schema: Option<&'t str>,
    pub name: &'t str,
}

impl<'t> OperatorName<'t> {
    pub fn plain(name: &'t str) -> Self {
        Self { schema: None, name }
    }

    pub fn of(names: List<'t, StringValue<'t>>) -> Self {
        let mut names = names.iter().rev().filter_map(StringValue::value);
        let name = names.next().unwrap_or_default();
        Self { schema: names.next(), name }
    }

    fn rows(self) -> &'static [&'static OperatorRow] {
        match self.schema {
            None | Some("pg_catalog") => operators_named(self.name),
            Some(_) => &[],
        }
    }

    fn words(self) -> String {
        match self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.to_owned(),
        }
    }
}

fn is_binary(row: &OperatorRow) -> bool {
    row.operands[0] != 0
}

impl Analyzer<'_, '_> {
    /// The binary operator for two types.
    ///
    /// # Errors
    /// 42883 where there is none, 42725 where none of several is best; 3F000 for a schema that is none.
    pub(crate) fn operator_for(
        &self,
        name: OperatorName<'_>,
        left: Oid,
        right: Oid,
        at: Location,
    ) -> Result<&'static OperatorRow> {
        let rows = name.rows();
        if let Some(row) = self.exact_operator(rows, left, right) {
            return Ok(row);
        }
        let types = [left, right];
        let binary = rows.iter().copied().filter(|row| is_binary(row)).collect();
        self.chosen_operator(name, &types, binary, at)
    }

    fn exact_operator(
        &self,
        rows: &[&'static OperatorRow],
        left: Oid,
        right: Oid,
    ) -> Option<&'static OperatorRow> {
        let find = |left, right| rows.iter().copied().find(|row| row.operands == [left, right]);
        if left != oid::UNKNOWN && right != oid::UNKNOWN {
            return find(left, right);
        }
        let both = if left == oid::UNKNOWN { right } else { left };
        find(both, both).or_else(|| {
            let base = self.base_type(both);
            if base == both { None } else { find(base, base) }
        })
    }

    fn prefix_operator(
        &self,
        name: OperatorName<'_>,
        operand: Oid,
        at: Location,
    ) -> Result<&'static OperatorRow> {
        let rows = name.rows();
        if let Some(row) = rows.iter().find(|row| row.operands == [0, operand]) {
            return Ok(row);
        }
        let prefix = rows.iter().copied().filter(|row| !is_binary(row)).collect();
        self.chosen_operator(name, &[operand], prefix, at)
    }

    fn chosen_operator(
        &self,
        name: OperatorName<'_>,
        types: &[Oid],
        rows: Vec<&'static OperatorRow>,
        at: Location,
    ) -> Result<&'static OperatorRow> {
        let mut reachable = self.reachable(types, rows);
        if reachable.len() < 2 {
            return reachable.pop().ok_or_else(|| self.no_operator(name, types, at));
        }
        self.best(types, reachable).ok_or_else(|| {
            let message = format!("operator is not unique: {}", self.operator_words(name, types));
            fault("42725", at, message).hint(
                "Could not choose a best candidate operator. You might need to add explicit type casts.",
            )
        })
    }

    fn no_operator(
        &self,
        name: OperatorName<'_>,
        types: &[Oid],
        at: Location,
    ) -> Box<AnalysisError> {
        if let Some(schema) = name.schema
            && schema != "pg_catalog"
            && !self.catalog.has_schema(schema)
        {
            return fault("3F000", at, format!("schema \"{schema}\" does not exist"));
        }
        let message = format!("operator does not exist: {}", self.operator_words(name, types));
        let hint = if types.len() == 1 {
            "No operator matches the given name and argument type. You might need to add an explicit type cast."
        } else {
            "No operator matches the given name and argument types. You might need to add explicit type casts."
        };
        fault("42883", at, message).hint(hint)
    }

    fn operator_words(&self, name: OperatorName<'_>, types: &[Oid]) -> String {
        let words = name.words();
        match types {
            [operand] => format!("{words} {}", self.type_words(*operand)),
            [left, right] => {
                format!("{} {words} {}", self.type_words(*left), self.type_words(*right))
            }
            _ => words,
        }
    }

    /// An operator and its operands.
    pub(crate) fn operate(
        &mut self,
        name: OperatorName<'_>,
        left: Option<Expression>,
        right: Expression,
        at: Location,
    ) -> Result<Expression> {
        let row = match &left {
            Some(left) => self.operator_for(name, left.type_oid, right.type_oid, at)?,
            None => self.prefix_operator(name, right.type_oid, at)?,
        };
        let operands: Vec<Expression> = left.into_iter().chain([right]).collect();
        let actual: Vec<Oid> = operands.iter().map(|operand| operand.type_oid).collect();
        let mut declared = row.types().to_vec();
        let result = self.resolve_generic(&actual, &mut declared, row.result)?;
        let operands = self.cast_arguments(operands, &declared)?;
        let location = operands.iter().fold(at, |at, operand| leftmost(at, operand.location));
        let collation = self.collation_of(result);
        let kind = ExpressionKind::Operator(OperatorRef(row), operands);
        Ok(Expression::new(kind, result, location).collation(collation))
    }

    /// The operands of an operator expression, and the operator.
    ///
    /// # Panics
    /// When it is none.
    pub(crate) fn operands(expression: Expression) -> (OperatorRef, Vec<Expression>) {
        match expression.kind {
            ExpressionKind::Operator(row, operands) => (row, operands),
            other => panic!("no operator: {other:?}"),
        }
    }

    /// A value compared with each element of an array.
    pub(crate) fn operate_on_elements(
        &mut self,
        name: OperatorName<'_>,
        is_any: bool,
        left: Expression,
        right: Expression,
        at: Location,
    ) -> Result<Expression> {
        let element = if right.type_oid == oid::UNKNOWN {
            oid::UNKNOWN
        } else {
            self.base_element(right.type_oid).ok_or_else(|| {
                fault("42809", at, "op ANY/ALL (array) requires array on right side")
            })?
        };
        let row = self.operator_for(name, left.type_oid, element, at)?;
        let mut declared = row.types().to_vec();
        let result = self.resolve_generic(&[left.type_oid, element], &mut declared, row.result)?;
        if result != oid::BOOL {
            let message = "op ANY/ALL (array) requires operator to yield boolean";
            return Err(fault("42809", at, message));
        }
        if !is_polymorphic(declared[1]) {
            let array = self.array_of(declared[1]);
            if array == 0 {
                let words = self.type_words(declared[1]);
                let message = format!("could not find array type for data type {words}");
                return Err(fault("42704", at, message));
            }
            declared[1] = array;
        }
        let operands = self.cast_arguments(vec![left, right], &declared)?;
        let location = operands.iter().fold(at, |at, operand| leftmost(at, operand.location));
        let [left, right] = <[Expression; 2]>::try_from(operands).expect("there are two");
        let operands = Box::new([left, right]);
        let kind = ExpressionKind::Elements { operator: OperatorRef(row), is_any, operands };
        Ok(Expression::new(kind, oid::BOOL, location))
    }
}
