//! Functions in FROM, side by side.

use std::sync::Arc;

use syntax::{ColumnDef, Node, RangeFunction};

use super::Added;
use super::alias::{name_of, rename};
use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault, location};
use crate::facts::{TypeKind, oid};
use crate::place::Place;
use crate::tree::{Entry, EntryColumn, EntryKind, Expression, ExpressionKind};

/// A function of FROM, analysed.
struct Source<'t> {
    call: Expression,
    /// What its only column is called, where no alias says otherwise.
    name: String,
    definitions: Vec<ColumnDef<'t>>,
}

impl<'t> Analyzer<'t, '_> {
    pub(super) fn functions_in_from(&mut self, node: RangeFunction<'t>) -> Result<Added> {
        let before = std::mem::replace(&mut self.level().is_lateral, true);
        let sources = self.in_place(Place::FromFunction, |this| this.sources(node));
        self.level().is_lateral = before;
        let sources = sources?;
        let alias = node.alias();
        let name = name_of(alias, &sources[0].name);
        let has_ordinality = node.ordinality();
        let is_only = sources.len() == 1;
        let mut columns = Vec::new();
        let mut calls = Vec::new();
        for source in sources {
            let scalar_alias =
                if is_only { alias.and_then(|alias| alias.aliasname()) } else { None };
            let mut own = self.source_columns(&source, scalar_alias)?;
            calls.push((source.call, own.len()));
            columns.append(&mut own);
        }
        if has_ordinality {
            columns.push(EntryColumn {
                name: "ordinality".into(),
                type_oid: oid::INT8,
                typmod: -1,
                collation: 0,
            });
        }
        rename(&mut columns, alias, &name)?;
        let kind = EntryKind::Functions { calls, has_ordinality };
        Ok(self.added(Entry { name, columns, kind, is_lateral: node.lateral() }, false))
    }

    fn sources(&mut self, node: RangeFunction<'t>) -> Result<Vec<Source<'t>>> {
        let mut sources = Vec::new();
        for pair in node.functions().iter() {
            let Node::List(pair) = pair else { panic!("a function with its columns") };
            let call = pair.get(0).expect("a function");
            let definitions: Vec<ColumnDef<'t>> = match pair.get(1) {
                Some(Node::List(list)) => list.iter().filter_map(definition).collect(),
                _ => Vec::new(),
            };
            if let Node::FuncCall(several) = call
                && is_plain_unnest(several)
                && definitions.is_empty()
            {
                for argument in several.args().iter() {
                    let value = self.expression(argument)?;
                    let at = location(several.location());
                    let call = self.column_or_function("unnest", value, at)?;
                    let call =
                        call.ok_or_else(|| fault("42883", at, "function unnest does not exist"))?;
                    sources.push(Source {
                        call,
                        name: "unnest".to_owned(),
                        definitions: Vec::new(),
                    });
                }
                continue;
            }
            let met = self.here().sets_met;
            let value = self.expression(call)?;
            self.at_top(&value, met)?;
            let name = crate::select::naming::figured(call, &value);
            sources.push(Source { call: value, name, definitions });
        }
        if !node.coldeflist().is_empty() {
            self.attach_definitions(node, &mut sources)?;
        }
        Ok(sources)
    }

    /// # Errors
    /// 0A000 where a set-returning function stands below the top.
    fn at_top(&self, value: &Expression, met: usize) -> Result<()> {
        let new = self.here().sets_met - met;
        let at_top = usize::from(crate::call::returns_set(value));
        if new > at_top {
            let message = "set-returning functions must appear at top level of FROM";
            return Err(fault("0A000", self.here().last_set, message));
        }
        Ok(())
    }

    /// The column definitions behind the alias.
    fn attach_definitions(
        &self,
        node: RangeFunction<'t>,
        sources: &mut [Source<'t>],
    ) -> Result<()> {
        let at = location(node.coldeflist().first().and_then(|column| column.location()));
        if sources.len() != 1 {
            let is_rows = node.is_rowsfrom();
            let message = if is_rows {
                "ROWS FROM() with multiple functions cannot have a column definition list"
            } else {
                "UNNEST() with multiple arguments cannot have a column definition list"
            };
            return Err(fault("42601", at, message));
        }
        if node.ordinality() {
            let message = "WITH ORDINALITY cannot be used with a column definition list";
            return Err(fault("42601", at, message)
                .hint("Put the column definition list inside ROWS FROM()."));
        }
        if !sources[0].definitions.is_empty() {
            let message = "multiple column definition lists are not allowed for the same function";
            return Err(fault("42601", at, message));
        }
        sources[0].definitions = node.coldeflist().iter().collect();
        Ok(())
    }

    fn source_columns(
        &mut self,
        source: &Source<'t>,
        alias: Option<&str>,
    ) -> Result<Vec<EntryColumn>> {
        let call = &source.call;
        let row = self.type_of(self.base_type(call.type_oid));
        if !source.definitions.is_empty() {
            let at = location(source.definitions[0].location());
            if call.type_oid != oid::RECORD {
                let message =
                    "a column definition list is only allowed for functions returning \"record\"";
                return Err(fault("42601", at, message));
            }
            if self.row_columns(call).is_some() {
                let message =
                    "a column definition list is redundant for a function with OUT parameters";
                return Err(fault("42601", at, message));
            }
            return self.defined_columns(&source.definitions);
        }
        if let Some(columns) = self.row_columns(call) {
            return Ok(columns);
        }
        if row.oid == oid::RECORD {
            let message = "a column definition list is required for functions returning \"record\"";
            return Err(fault("42601", call.location, message));
        }
        if row.kind == TypeKind::Pseudo
            && row.oid != oid::UNKNOWN
            && row.oid != oid::VOID
            && row.oid >= oid::ANY
        {
            let (name, words) = (&source.name, self.type_words(call.type_oid));
            let message =
                format!("function \"{name}\" in FROM has unsupported return type {words}");
            return Err(fault("42804", call.location, message));
        }
        let name = self.scalar_name(source, alias);
        let collation = self.collation_of(call.type_oid);
        Ok(vec![EntryColumn { name, type_oid: call.type_oid, typmod: call.typmod, collation }])
    }

    /// The only column of a function: its output's name, the alias or the function's.
    fn scalar_name(&self, source: &Source<'t>, alias: Option<&str>) -> Arc<str> {
        if let ExpressionKind::Call { function, .. } = &source.call.kind {
            let row = function.0;
            let outputs =
                row.modes.char_indices().filter(|(_, mode)| matches!(mode, 'o' | 'b' | 't'));
            let named = outputs.map(|(at, _)| row.names.get(at).copied().unwrap_or_default());
            let named: Vec<&str> = named.collect();
            if let [name] = named[..]
                && !name.is_empty()
            {
                return name.into();
            }
        }
        alias.unwrap_or(&source.name).into()
    }

    fn defined_columns(&mut self, definitions: &[ColumnDef<'t>]) -> Result<Vec<EntryColumn>> {
        let mut columns: Vec<EntryColumn> = Vec::new();
        for definition in definitions {
            let name: Arc<str> = definition.colname().unwrap_or_default().into();
            let named = self.type_name(definition.type_name().expect("a column has a type"))?;
            if columns.iter().any(|other| other.name == name) {
                let message = format!("column name \"{name}\" specified more than once");
                return Err(fault("42701", NOWHERE, message));
            }
            let row = self.type_of(named.oid);
            if row.kind == TypeKind::Pseudo {
                let words = self.type_words(named.oid);
                let message = format!("column \"{name}\" has pseudo-type {words}");
                return Err(fault("42P16", NOWHERE, message));
            }
            columns.push(EntryColumn {
                name,
                type_oid: named.oid,
                typmod: named.typmod,
                collation: row.collation,
            });
        }
        Ok(columns)
    }
}

fn definition(node: Node<'_>) -> Option<ColumnDef<'_>> {
    match node {
        Node::ColumnDef(column) => Some(column),
        _ => None,
    }
}

/// `unnest(a, b)` is `unnest(a)` beside `unnest(b)`.
fn is_plain_unnest(call: syntax::FuncCall<'_>) -> bool {
    call.args().len() > 1
        && call.funcname().len() == 1
        && call.funcname().first().and_then(|name| name.value()) == Some("unnest")
        && call.agg_order().is_empty()
        && call.agg_filter().is_none()
        && call.over().is_none()
        && !call.agg_star()
        && !call.agg_distinct()
        && !call.func_variadic()
}
