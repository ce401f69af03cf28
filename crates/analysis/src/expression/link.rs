//! Subqueries in expressions.

use syntax::{Node, SubLink, SubLinkType};

use crate::analyzer::Analyzer;
use crate::call::OperatorName;
use crate::error::{Location, Result, fault, leftmost, location};
use crate::facts::oid;
use crate::tree::{Expression, ExpressionKind, LinkKind, Query};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn subquery_link(&mut self, link: SubLink<'t>) -> Result<Expression> {
        let at = location(link.location());
        let query = self.subquery(link.subselect().expect("a subquery has its text"))?;
        let kind = match link.sub_link_type() {
            SubLinkType::Exists => {
                return Ok(linked(LinkKind::Exists, None, query, oid::BOOL, at));
            }
            SubLinkType::Expr => return self.value_link(LinkKind::Scalar, query, at),
            SubLinkType::Array => return self.value_link(LinkKind::Array, query, at),
            SubLinkType::All => LinkKind::All,
            SubLinkType::RowCompare => LinkKind::RowComparison,
            _ => LinkKind::Any,
        };
        let left = self.expression(link.testexpr().expect("it compares a value"))?;
        let name = if link.oper_name().is_empty() {
            OperatorName::plain("=")
        } else {
            OperatorName::of(link.oper_name())
        };
        self.link_with_test(kind, name, left, query, at)
    }

    /// The value of a subquery, or the array of its values.
    fn value_link(&mut self, kind: LinkKind, query: Query, at: Location) -> Result<Expression> {
        if query.columns().count() != 1 {
            return Err(fault("42601", at, "subquery must return only one column"));
        }
        let first = &query.columns().next().expect("there is one").expression;
        let (type_oid, typmod, collation) = (first.type_oid, first.typmod, first.collation);
        let type_oid = if kind == LinkKind::Array {
            match if self.element(type_oid).is_some() { type_oid } else { self.array_of(type_oid) }
            {
                0 => {
                    let words = self.type_words(type_oid);
                    let message = format!("could not find array type for data type {words}");
                    return Err(fault("42704", at, message));
                }
                array => array,
            }
        } else {
            type_oid
        };
        Ok(linked(kind, None, query, type_oid, at).typmod(typmod).collation(collation))
    }

    /// A value or a row compared with a subquery's columns.
    pub(super) fn link_with_test(
        &mut self,
        kind: LinkKind,
        name: OperatorName<'_>,
        left: Expression,
        query: Query,
        at: Location,
    ) -> Result<Expression> {
        let left_at = left.location;
        let left = match left.kind {
            ExpressionKind::Row(fields) => fields,
            _ => vec![left],
        };
        let column = |(place, target): (usize, &crate::tree::Target)| {
            let value = &target.expression;
            Expression::new(ExpressionKind::LinkColumn(place + 1), value.type_oid, -1)
                .typmod(value.typmod)
                .collation(value.collation)
        };
        let right: Vec<Expression> = query.columns().enumerate().map(column).collect();
        if left.len() != right.len() {
            let much = if left.len() < right.len() { "many" } else { "few" };
            return Err(fault("42601", at, format!("subquery has too {much} columns")));
        }
        let test = self.compare_rows(name, left, right, at)?;
        let at = leftmost(at, left_at);
        Ok(linked(kind, Some(test), query, oid::BOOL, at))
    }

    /// A query within an expression.
    pub(crate) fn subquery(&mut self, node: Node<'t>) -> Result<Query> {
        self.in_level(|this| this.query(node))
    }
}

fn linked(
    kind: LinkKind,
    test: Option<Expression>,
    query: Query,
    type_oid: crate::facts::Oid,
    at: Location,
) -> Expression {
    let kind = ExpressionKind::Link { kind, test: test.map(Box::new), query: Box::new(query) };
    Expression::new(kind, type_oid, at)
}
