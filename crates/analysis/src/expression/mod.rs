//! Expressions: nodes of the raw tree become typed expressions.
//!
//! **In**: nodes, and the namespace of the level. **Out**: expressions with types and explicit casts. Chains that grow to the left are walked by
//! iteration; everything else recurses within a bound. Every clause calls it.

mod array;
mod between;
mod boolean;
mod case;
mod cast;
mod coalesce;
mod collate;
mod constant;
pub(crate) mod distinct;
mod grouping;
mod in_list;
mod indirection;
mod link;
mod named;
mod row;
pub(crate) mod session;
mod subscript;
mod test;
pub(crate) mod xml;

use syntax::{AExpr, AExprKind, Node};

use crate::analyzer::{Analyzer, CHAIN, too_deep};
use crate::call::OperatorName;
use crate::error::{NOWHERE, Result, fault, location};
use crate::tree::Expression;
use crate::types::NamedType;

/// A link of a chain that waits for what is to its left.
struct Link<'t> {
    node: Node<'t>,
    /// Of a cast, the type.
    to: Option<NamedType>,
}

impl<'t> Analyzer<'t, '_> {
    /// An expression.
    pub(crate) fn expression(&mut self, node: Node<'t>) -> Result<Expression> {
        let mut links = Vec::new();
        let mut node = node;
        while let Some(left) = chained(node) {
            if links.len() >= CHAIN {
                return Err(too_deep());
            }
            let to = match node {
                Node::TypeCast(cast) => Some(self.cast_type(cast)?),
                _ => None,
            };
            links.push(Link { node, to });
            node = left;
        }
        let mut value = self.within(|this| this.leaf(node))?;
        for link in links.into_iter().rev() {
            value = self.within(|this| this.link(link, value))?;
        }
        Ok(value)
    }

    /// What a link makes of what is to its left.
    fn link(&mut self, link: Link<'t>, left: Expression) -> Result<Expression> {
        match link.node {
            Node::AExpr(operator) => self.operator_behind(operator, left),
            Node::TypeCast(cast) => self.cast(cast, left, link.to.expect("a cast has its type")),
            Node::CollateClause(collate) => self.collate(collate, left),
            Node::NullTest(test) => Ok(Self::null_test(test, left)),
            Node::BooleanTest(test) => self.boolean_test(test, left),
            other => panic!("{} is no link of a chain", other.name()),
        }
    }

    fn operator_behind(&mut self, node: AExpr<'t>, left: Expression) -> Result<Expression> {
        let right = node.rexpr().expect("the grammar gives operators a right operand");
        let at = location(node.location());
        let name = OperatorName::of(node.name());
        match node.kind() {
            AExprKind::Distinct | AExprKind::NotDistinct => self.is_distinct(node, left, right),
            AExprKind::Nullif => self.null_if(node, left, right),
            AExprKind::OpAny | AExprKind::OpAll => {
                let is_any = node.kind() == AExprKind::OpAny;
                let right = self.expression(right)?;
                self.operate_on_elements(name, is_any, left, right, at)
            }
            AExprKind::In => self.in_list(node, left, right),
            AExprKind::Between
            | AExprKind::NotBetween
            | AExprKind::BetweenSym
            | AExprKind::NotBetweenSym => self.between(node, left, right),
            AExprKind::Op | AExprKind::Like | AExprKind::Ilike | AExprKind::Similar => {
                let right = self.expression(right)?;
                self.operate(name, Some(left), right, at)
            }
        }
    }

    /// What is no link of a chain.
    fn leaf(&mut self, node: Node<'t>) -> Result<Expression> {
        match node {
            Node::ColumnRef(column) => self.column_reference(column),
            Node::ParamRef(parameter) => {
                self.parameters.used(parameter.number(), location(parameter.location()))
            }
            Node::AConst(constant) => Self::constant(constant),
            Node::AExpr(operator) => self.operator(operator),
            Node::BoolExpr(logic) => self.logic(logic),
            Node::FuncCall(call) => self.function_call(call),
            Node::NamedArgExpr(argument) => self.named_argument(argument),
            Node::TypeCast(cast) => self.array_cast(cast),
            Node::CaseExpr(case) => self.case(case),
            Node::CoalesceExpr(coalesce) => self.coalesce(coalesce),
            Node::MinMaxExpr(extreme) => self.extreme(extreme),
            Node::AArrayExpr(array) => self.array(array, None),
            Node::RowExpr(row) => self.row(row.args(), location(row.location())),
            Node::SubLink(link) => self.subquery_link(link),
            Node::AIndirection(indirection) => self.indirection(indirection),
            Node::SqlValueFunction(function) => Ok(Self::session_value(function)),
            Node::GroupingFunc(grouping) => self.grouping(grouping),
            Node::XmlExpr(xml) => self.xml(xml),
            Node::XmlSerialize(xml) => self.xml_serialize(xml),
            Node::SetToDefault(default) => {
                let at = location(default.location());
                Err(fault("42601", at, "DEFAULT is not allowed in this context"))
            }
            Node::CurrentOfExpr(_) => {
                Err(fault("0A000", NOWHERE, "CURRENT OF is not supported here"))
            }
            other => {
                let name = other.name();
                Err(fault("0A000", NOWHERE, format!("{name} is not supported")))
            }
        }
    }

    /// An operator whose left operand is no chain: a row, or none.
    fn operator(&mut self, node: AExpr<'t>) -> Result<Expression> {
        let at = location(node.location());
        let right = node.rexpr().expect("the grammar gives operators a right operand");
        match node.lexpr() {
            None => {
                let right = self.expression(right)?;
                self.operate(OperatorName::of(node.name()), None, right, at)
            }
            Some(left) if node.kind() == AExprKind::Op => self.row_operator(node, left, right, at),
            Some(left) => {
                let left = self.within(|this| this.leaf(left))?;
                self.operator_behind(node, left)
            }
        }
    }
}

/// What is to the left of a node, where it is walked by iteration.
fn chained(node: Node<'_>) -> Option<Node<'_>> {
    let left = match node {
        Node::AExpr(operator) => operator.lexpr(),
        Node::TypeCast(cast) => cast.arg().filter(|arg| !matches!(arg, Node::AArrayExpr(_))),
        Node::CollateClause(collate) => collate.arg(),
        Node::NullTest(test) => test.arg(),
        Node::BooleanTest(test) => test.arg(),
        _ => None,
    }?;
    let is_row_operator = matches!(node, Node::AExpr(_)) && matches!(left, Node::RowExpr(_));
    (!is_row_operator).then_some(left)
}
