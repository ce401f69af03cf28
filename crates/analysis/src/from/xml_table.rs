//! XMLTABLE.

use syntax::RangeTableFunc;

use super::Added;
use super::alias::{name_of, rename};
use crate::analyzer::Analyzer;
use crate::error::{Result, fault, location};
use crate::facts::oid;
use crate::place::Place;
use crate::tree::{Entry, EntryColumn, EntryKind, Expression};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn xml_table(&mut self, node: RangeTableFunc<'t>) -> Result<Added> {
        let before = std::mem::replace(&mut self.level().is_lateral, true);
        let parts = self.in_place(Place::FromFunction, |this| this.xml_table_parts(node));
        self.level().is_lateral = before;
        let (arguments, mut columns) = parts?;
        let name = name_of(node.alias(), "xmltable");
        rename(&mut columns, node.alias(), &name)?;
        let kind = EntryKind::XmlTable(arguments);
        Ok(self.added(Entry { name, columns, kind, is_lateral: node.lateral() }, false))
    }

    fn xml_table_parts(
        &mut self,
        node: RangeTableFunc<'t>,
    ) -> Result<(Vec<Expression>, Vec<EntryColumn>)> {
        let mut arguments = Vec::new();
        for (part, target) in [(node.rowexpr(), oid::TEXT), (node.docexpr(), oid::XML)] {
            let value = self.expression(part.expect("XMLTABLE has it"))?;
            arguments.push(self.of_type(value, target, "XMLTABLE")?);
        }
        let mut columns: Vec<EntryColumn> = Vec::new();
        for column in node.columns().iter() {
            let name: std::sync::Arc<str> = column.colname().unwrap_or_default().into();
            if columns.iter().any(|other| other.name == name) {
                let at = location(column.location());
                return Err(fault("42601", at, format!("column name \"{name}\" is not unique")));
            }
            let (type_oid, typmod) = match column.type_name() {
                Some(written) if !column.for_ordinality() => {
                    let named = self.type_name(written)?;
                    (named.oid, named.typmod)
                }
                _ => (oid::INT4, -1),
            };
            for (part, target) in [(column.colexpr(), oid::TEXT), (column.coldefexpr(), type_oid)] {
                if let Some(part) = part {
                    let value = self.expression(part)?;
                    arguments.push(self.of_type(value, target, "XMLTABLE")?);
                }
            }
            let collation = self.collation_of(type_oid);
            columns.push(EntryColumn { name, type_oid, typmod, collation });
        }
        Ok((arguments, columns))
    }
}
