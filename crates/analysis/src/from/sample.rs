//! TABLESAMPLE.

use syntax::{RangeTableSample, StringValue};

use super::Added;
use crate::analyzer::Analyzer;
use crate::catalog::RelationKind;
use crate::error::{Result, fault, location};
use crate::facts::{functions_named, oid};
use crate::place::Place;
use crate::tree::{EntryKind, FromItem, FunctionRef};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn sample(&mut self, node: RangeTableSample<'t>) -> Result<Added> {
        let relation = node.relation().expect("it is of a relation");
        let mut added = self.add_item(relation)?;
        let entry = added.whole.entry;
        let at = location(node.location());
        let of_table = match &self.here().range_table[entry].kind {
            EntryKind::Relation(relation) => {
                matches!(relation.0.kind, RelationKind::Table | RelationKind::MaterializedView)
            }
            _ => false,
        };
        if !of_table {
            let at = match relation {
                syntax::Node::RangeVar(relation) => location(relation.location()),
                _ => at,
            };
            let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return Err(fault("42809", at, message));
        }
        let name = node.method().iter().filter_map(StringValue::value).next_back();
        let name = name.unwrap_or_default();
        let method = functions_named(name).iter().find(|row| row.arguments == [2281]);
        let Some(method) = method.filter(|_| matches!(name, "system" | "bernoulli")) else {
            let message = format!("tablesample method {name} does not exist");
            return Err(fault("42704", at, message));
        };
        if node.args().len() != 1 {
            let count = node.args().len();
            let message = format!("tablesample method {name} requires 1 argument, not {count}");
            return Err(fault("2202H", at, message));
        }
        let mut arguments = Vec::new();
        for argument in node.args().iter() {
            let value = self.in_place(Place::FromFunction, |this| this.expression(argument))?;
            arguments.push(self.of_type(value, oid::FLOAT4, "TABLESAMPLE")?);
        }
        let seed = match node.repeatable() {
            Some(seed) => {
                let value = self.in_place(Place::FromFunction, |this| this.expression(seed))?;
                Some(self.of_type(value, oid::FLOAT8, "REPEATABLE")?)
            }
            None => None,
        };
        added.item = FromItem::Sample { entry, method: FunctionRef(method), arguments, seed };
        Ok(added)
    }
}
