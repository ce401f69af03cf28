//! Functions of XML with a syntax of their own.

use syntax::{XmlExpr, XmlExprOp, XmlSerialize};

use crate::analyzer::Analyzer;
use crate::error::{Location, Result, location};
use crate::facts::{Oid, oid};
use crate::tree::{Expression, ExpressionKind};

/// The name of a function of XML.
pub(crate) fn xml_name(op: XmlExprOp) -> &'static str {
    match op {
        XmlExprOp::Xmlconcat => "xmlconcat",
        XmlExprOp::Xmlelement => "xmlelement",
        XmlExprOp::Xmlforest => "xmlforest",
        XmlExprOp::Xmlparse => "xmlparse",
        XmlExprOp::Xmlpi => "xmlpi",
        XmlExprOp::Xmlroot => "xmlroot",
        XmlExprOp::Xmlserialize => "xmlserialize",
        XmlExprOp::Document => "is_document",
    }
}

impl<'t> Analyzer<'t, '_> {
    pub(super) fn xml(&mut self, node: XmlExpr<'t>) -> Result<Expression> {
        let at = location(node.location());
        let name = xml_name(node.op());
        let mut arguments = Vec::new();
        for target in node.named_args().iter() {
            if let syntax::Node::ResTarget(target) = target
                && let Some(value) = target.val()
            {
                arguments.push(self.expression(value)?);
            }
        }
        for (place, value) in node.args().iter().enumerate() {
            let value = self.expression(value)?;
            let wanted = wanted(node.op(), place);
            arguments.push(match wanted {
                Some((target, clause)) => self.of_type(value, target, clause)?,
                None => value,
            });
        }
        let type_oid = if node.op() == XmlExprOp::Document { oid::BOOL } else { oid::XML };
        Ok(xml(name, arguments, type_oid, at))
    }

    pub(super) fn xml_serialize(&mut self, node: XmlSerialize<'t>) -> Result<Expression> {
        let at = location(node.location());
        let value = self.expression(node.expr().expect("XMLSERIALIZE has a value"))?;
        let value = self.of_type(value, oid::XML, "XMLSERIALIZE")?;
        let to = self.type_name(node.type_name().expect("XMLSERIALIZE has a type"))?;
        let text = xml("xmlserialize", vec![value], oid::TEXT, at);
        self.explicit_cast(text, to, -1)
    }
}

/// The type of an argument.
fn wanted(op: XmlExprOp, place: usize) -> Option<(Oid, &'static str)> {
    Some(match (op, place) {
        (XmlExprOp::Xmlconcat, _) => (oid::XML, "XMLCONCAT"),
        (XmlExprOp::Xmlparse, 0) => (oid::TEXT, "XMLPARSE"),
        (XmlExprOp::Xmlparse, _) => (oid::BOOL, "XMLPARSE"),
        (XmlExprOp::Xmlpi, _) => (oid::TEXT, "XMLPI"),
        (XmlExprOp::Xmlroot, 0) => (oid::XML, "XMLROOT"),
        (XmlExprOp::Xmlroot, 1) => (oid::TEXT, "XMLROOT"),
        (XmlExprOp::Xmlroot, _) => (oid::INT4, "XMLROOT"),
        (XmlExprOp::Document, _) => (oid::XML, "IS DOCUMENT"),
        _ => return None,
    })
}

fn xml(name: &'static str, arguments: Vec<Expression>, type_oid: Oid, at: Location) -> Expression {
    Expression::new(ExpressionKind::Xml(name, arguments), type_oid, at)
}
