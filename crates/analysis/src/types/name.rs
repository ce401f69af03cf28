//! Types as they are written.

use syntax::{Literal, Node, StringValue, TypeName};

use super::modifier::modifier;
use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault, location};
use crate::facts::{Oid, TypeKind, TypeRow, oid, type_named};

/// A type and its modifier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedType {
    pub oid: Oid,
    pub typmod: i32,
}

impl Analyzer<'_, '_> {
    /// A type by name, as far as there is one.
    pub(crate) fn type_row_named(&self, names: &[&str]) -> Option<&'static TypeRow> {
        match names {
            [name] => type_named(name).or_else(|| self.catalog.type_named(None, name)),
            ["pg_catalog", name] => type_named(name),
            [schema, name] | [_, schema, name] => self.catalog.type_named(Some(schema), name),
            _ => None,
        }
    }

    /// The type that is written.
    ///
    /// # Errors
    /// 42704 where there is none; 22023, 42601 where it does not have such modifiers.
    pub(crate) fn type_name(&mut self, name: TypeName<'_>) -> Result<NamedType> {
        let at = location(name.location());
        if name.pct_type() {
            return self.type_of_column(name);
        }
        let names: Vec<&str> = name.names().iter().filter_map(StringValue::value).collect();
        if let [_, schema, _] = names[..]
            && names[0] != self.catalog.database()
        {
            let _ = schema;
            let names = names.join(".");
            let message = format!("cross-database references are not implemented: {names}");
            return Err(fault("0A000", at, message));
        }
        let row = self.type_row_named(&names);
        let is_array = !name.array_bounds().is_empty();
        let dimensions = if is_array { "[]" } else { "" };
        let row = match row {
            Some(row) if is_array => {
                let array = self.array_of(row.oid);
                if array == 0 { None } else { Some((row, self.type_of(array))) }
            }
            other => other.map(|row| (row, row)),
        };
        let Some((element, row)) = row else {
            if let [schema, _] = names[..]
                && schema != "pg_catalog"
                && !self.catalog.has_schema(schema)
            {
                return Err(fault("3F000", at, format!("schema \"{schema}\" does not exist")));
            }
            let names = names.join(".");
            let message = format!("type \"{names}{dimensions}\" does not exist");
            return Err(fault("42704", at, message));
        };
        let typmod = self.type_modifier(name, element, at)?;
        Ok(NamedType { oid: row.oid, typmod })
    }

    fn type_modifier(&mut self, name: TypeName<'_>, row: &TypeRow, at: i32) -> Result<i32> {
        let modifiers = name.typmods();
        if modifiers.is_empty() {
            return Ok(-1);
        }
        if row.modifier_input.is_empty() {
            let message = format!("type modifier is not allowed for type \"{}\"", row.name);
            return Err(fault("42601", at, message));
        }
        let mut numbers = Vec::new();
        for node in modifiers.iter() {
            let invalid =
                || fault("42601", at, "type modifiers must be simple constants or identifiers");
            let text = match node {
                Node::AConst(constant) => match constant.value() {
                    Literal::Integer(value) => {
                        numbers.push(value);
                        continue;
                    }
                    Literal::Number(text) | Literal::String(text) => text.to_owned(),
                    _ => return Err(invalid()),
                },
                Node::ColumnRef(column) => match column.fields().first() {
                    Some(Node::StringValue(word)) if column.fields().len() == 1 => {
                        word.value().unwrap_or_default().to_owned()
                    }
                    _ => return Err(invalid()),
                },
                _ => return Err(invalid()),
            };
            let number = values::int::parse::<i32>(&text)
                .map_err(|error| crate::error::of_value(error, at))?;
            numbers.push(number);
        }
        modifier(row.oid, &numbers, at)
    }

    /// `t.a%TYPE`
    fn type_of_column(&mut self, name: TypeName<'_>) -> Result<NamedType> {
        let at = location(name.location());
        let names: Vec<&str> = name.names().iter().filter_map(StringValue::value).collect();
        let (schema, table, column) = match names[..] {
            [table, column] => (None, table, column),
            [schema, table, column] | [_, schema, table, column] => (Some(schema), table, column),
            _ => {
                let names = names.join(".");
                let message = format!("improper %TYPE reference (too few dotted names): {names}");
                return Err(fault("42601", at, message));
            }
        };
        let relation = self
            .catalog
            .relation(schema, table)
            .map_err(|_| fault("42P01", at, format!("relation \"{table}\" does not exist")))?;
        let found = relation.columns.iter().flatten().find(|other| &*other.name == column);
        let Some(found) = found else {
            let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
            return Err(fault("42703", NOWHERE, message));
        };
        Ok(NamedType { oid: found.type_oid, typmod: found.typmod })
    }

    /// The type that a function's name is, too.
    pub(crate) fn function_name_as_type(&self, names: &[&str]) -> Option<Oid> {
        let row = self.type_row_named(names)?;
        let is_shell = row.kind == TypeKind::Pseudo && row.oid == oid::UNKNOWN;
        (!is_shell && row.kind != TypeKind::Composite).then_some(row.oid)
    }
}
