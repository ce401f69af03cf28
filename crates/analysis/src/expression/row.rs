//! ROW(..) and comparisons of rows.

use syntax::{AExpr, Node, Nodes, SubLinkType};

use super::in_list::fields;
use crate::analyzer::Analyzer;
use crate::call::OperatorName;
use crate::error::{Location, Result, fault};
use crate::facts::oid;
use crate::tree::{Expression, ExpressionKind, LinkKind};

/// Columns of a row at most.
const MOST_COLUMNS: usize = 1_664;

impl<'t> Analyzer<'t, '_> {
    pub(super) fn row(&mut self, items: Nodes<'t>, at: Location) -> Result<Expression> {
        let fields = self.expression_list(items)?;
        if fields.len() > MOST_COLUMNS {
            let message = format!("ROW expressions can have at most {MOST_COLUMNS} entries");
            return Err(fault("54011", at, message));
        }
        Ok(Expression::new(ExpressionKind::Row(fields), oid::RECORD, at))
    }

    /// An operator whose left operand is a row, or a single leaf.
    pub(super) fn row_operator(
        &mut self,
        node: AExpr<'t>,
        left: Node<'t>,
        right: Node<'t>,
        at: Location,
    ) -> Result<Expression> {
        let name = OperatorName::of(node.name());
        if let (Node::RowExpr(row), Node::SubLink(link)) = (left, right)
            && link.sub_link_type() == SubLinkType::Expr
        {
            let row = self.row(row.args(), at)?;
            let query = link.subselect().expect("a subquery has its text");
            let query = self.subquery(query)?;
            return self.link_with_test(LinkKind::RowComparison, name, row, query, at);
        }
        let left_value = self.within(|this| this.leaf(left))?;
        let right_value = self.expression(right)?;
        if matches!(left, Node::RowExpr(_)) && matches!(right, Node::RowExpr(_)) {
            return self.compare_rows(name, fields(left_value), fields(right_value), at);
        }
        self.operate(name, Some(left_value), right_value, at)
    }

    /// Rows compared field by field.
    pub(crate) fn compare_rows(
        &mut self,
        name: OperatorName<'_>,
        left: Vec<Expression>,
        right: Vec<Expression>,
        at: Location,
    ) -> Result<Expression> {
        if left.len() != right.len() {
            return Err(fault("42601", at, "unequal number of entries in row expressions"));
        }
        if left.is_empty() {
            return Err(fault("0A000", at, "cannot compare rows of zero length"));
        }
        let mut tests = Vec::with_capacity(left.len());
        for (left, right) in left.into_iter().zip(right) {
            let test = self.operate(name, Some(left), right, at)?;
            if test.type_oid != oid::BOOL {
                let words = self.type_words(test.type_oid);
                let message =
                    format!("row comparison operator must yield type boolean, not type {words}");
                return Err(fault("42804", at, message));
            }
            tests.push(test);
        }
        if tests.len() == 1 {
            return Ok(tests.remove(0));
        }
        self.comparison_of(name, tests, at)
    }

    fn comparison_of(
        &mut self,
        name: OperatorName<'_>,
        tests: Vec<Expression>,
        at: Location,
    ) -> Result<Expression> {
        let strategy = |test: &Expression| match &test.kind {
            ExpressionKind::Operator(row, _) if row.0.strategy > 0 => Some(row.0.strategy),
            // What is the contrary of an equality.
            ExpressionKind::Operator(row, _) => {
                crate::facts::operator(row.0.negator).filter(|row| row.strategy == 3).map(|_| 6)
            }
            _ => None,
        };
        let first = strategy(&tests[0]);
        let Some(shared) = first.filter(|_| tests.iter().all(|test| strategy(test) == first))
        else {
            let name = name.name;
            let message =
                format!("could not determine interpretation of row comparison operator {name}");
            return Err(fault("0A000", at, message).hint(
                "Row comparison operators must be associated with btree operator families.",
            ));
        };
        match shared {
            3 => Ok(Self::joined(tests, true, at)),
            6 => Ok(Self::joined(tests, false, at)),
            _ => {
                let (mut operators, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
                let location = tests[0].location;
                for test in tests {
                    let (row, operands) = Self::operands(test);
                    operators.push(row);
                    let mut operands = operands.into_iter();
                    left.extend(operands.next());
                    right.extend(operands.next());
                }
                let kind = ExpressionKind::RowComparison { operators, left, right };
                Ok(Expression::new(kind, oid::BOOL, location))
            }
        }
    }
}
