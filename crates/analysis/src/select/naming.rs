//! Names of output columns without alias.

use syntax::{AExprKind, Node, StringValue, SubLinkType};

use crate::expression::session::session_name;
use crate::expression::xml::xml_name;
use crate::tree::{Expression, ExpressionKind, LinkKind};

/// The name that PostgreSQL gives an output column.
pub(crate) fn figured(node: Node<'_>, value: &Expression) -> String {
    let name = figure(node, value).map(|figure| figure.name);
    name.unwrap_or_else(|| "?column?".to_owned())
}

/// A name, and whether it is only a type's or of CASE: another may take its place.
struct Figure {
    name: String,
    is_weak: bool,
}

fn strong(name: &str) -> Option<Figure> {
    Some(Figure { name: name.to_owned(), is_weak: false })
}

fn figure(node: Node<'_>, value: &Expression) -> Option<Figure> {
    // The outermost type of a chain of casts, for lack of another name.
    let mut type_name: Option<String> = None;
    let mut case_name = false;
    let mut node = node;
    let found = loop {
        match node {
            Node::TypeCast(cast) => {
                if type_name.is_none() && !case_name {
                    let names = cast.type_name().map(|name| name.names());
                    let last = names.and_then(|names| names.iter().last());
                    type_name = last.and_then(StringValue::value).map(str::to_owned);
                }
                match cast.arg() {
                    Some(inner) => node = inner,
                    None => break None,
                }
            }
            Node::CollateClause(collate) => match collate.arg() {
                Some(inner) => node = inner,
                None => break None,
            },
            Node::CaseExpr(case) => {
                case_name = case_name || type_name.is_none();
                match case.defresult() {
                    Some(inner) => node = inner,
                    None => break weak("case"),
                }
                if !case_name {
                    // A cast around CASE names itself unless ELSE has a strong name.
                }
            }
            Node::AIndirection(indirection) => {
                let names = indirection.indirection();
                let last = names.iter().rev().find_map(|step| match step {
                    Node::StringValue(name) => name.value(),
                    _ => None,
                });
                if let Some(name) = last {
                    break strong(name);
                }
                match indirection.arg() {
                    Some(inner) => node = inner,
                    None => break None,
                }
            }
            other => break leaf(other, value),
        }
    };
    match found {
        Some(figure) if !figure.is_weak => Some(figure),
        found => match type_name {
            Some(name) if !case_name => weak(&name),
            _ if case_name => weak("case"),
            _ => found,
        },
    }
}

fn weak(name: &str) -> Option<Figure> {
    Some(Figure { name: name.to_owned(), is_weak: true })
}

/// What is neither a cast nor CASE.
fn leaf(node: Node<'_>, value: &Expression) -> Option<Figure> {
    match node {
        Node::ColumnRef(column) => {
            let last = column.fields().iter().rev().find_map(|field| match field {
                Node::StringValue(name) => name.value(),
                _ => None,
            });
            last.and_then(strong)
        }
        Node::FuncCall(call) => {
            call.funcname().iter().last().and_then(StringValue::value).and_then(strong)
        }
        Node::AExpr(operator) if operator.kind() == AExprKind::Nullif => strong("nullif"),
        Node::GroupingFunc(_) => strong("grouping"),
        Node::SubLink(link) => match link.sub_link_type() {
            SubLinkType::Exists => strong("exists"),
            SubLinkType::Array => strong("array"),
            SubLinkType::Expr => subquery_name(value).as_deref().and_then(strong),
            _ => None,
        },
        Node::AArrayExpr(_) => strong("array"),
        Node::RowExpr(_) => strong("row"),
        Node::CoalesceExpr(_) => strong("coalesce"),
        Node::MinMaxExpr(extreme) => match extreme.op() {
            syntax::MinMaxOp::Greatest => strong("greatest"),
            syntax::MinMaxOp::Least => strong("least"),
        },
        Node::SqlValueFunction(function) => strong(session_name(function.op())),
        Node::XmlExpr(xml) if xml.op() == syntax::XmlExprOp::Document => None,
        Node::XmlExpr(xml) => strong(xml_name(xml.op())),
        Node::XmlSerialize(_) => strong("xmlserialize"),
        _ => None,
    }
}

/// The name of the column of a subquery within casts, fields and the like.
fn subquery_name(value: &Expression) -> Option<String> {
    let mut value = value;
    loop {
        value = match &value.kind {
            ExpressionKind::Link { kind: LinkKind::Scalar, query, .. } => {
                return query.columns().next().map(|target| target.name.to_string());
            }
            ExpressionKind::Cast { operand, .. } => operand,
            ExpressionKind::Collate(inner) | ExpressionKind::Field(inner, _) => inner,
            ExpressionKind::Subscript { array, .. } => array,
            ExpressionKind::Case { otherwise, .. } => otherwise,
            _ => return None,
        };
    }
}
