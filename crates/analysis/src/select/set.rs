//! UNION, INTERSECT, EXCEPT: a chain to the left is walked by iteration.

use syntax::{Node, SelectStmt, SetOperation};

use super::sort::Standard;
use crate::analyzer::Analyzer;
use crate::error::{Location, NOWHERE, Result, fault};
use crate::facts::oid;
use crate::from::subquery::query_columns;
use crate::names::NameItem;
use crate::place::Place;
use crate::tree::{
    Entry, EntryColumn, EntryKind, Expression, ExpressionKind, Part, Query, SetKind, SetStep,
    SetTree, SortKey, Target,
};

/// An operand: its tree, its columns, and where each stands.
struct Operand {
    tree: SetTree,
    columns: Vec<EntryColumn>,
    places: Vec<Location>,
}

impl<'t> Analyzer<'t, '_> {
    pub(super) fn set_operation(&mut self, select: SelectStmt<'t>) -> Result<Query> {
        let mut query = Query::default();
        if let Some(lock) = select.locking_clause().first() {
            return Err(locked(lock.strength()));
        }
        self.with_clause(select.with_clause())?;
        let operand = self.operand_chain(select, true)?;
        let first = first_member(&operand.tree);
        let names: Vec<_> = self.here().range_table[first]
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let mut columns = operand.columns;
        for (column, name) in columns.iter_mut().zip(&names) {
            column.name = name.clone();
        }
        let targets =
            columns.iter().zip(&operand.places).enumerate().map(|(at, (column, place))| {
                let number = i16::try_from(at + 1).expect("there are at most 1,664 columns");
                let kind =
                    ExpressionKind::Column(crate::tree::Column { levels: 0, entry: first, number });
                let expression = Expression::new(kind, column.type_oid, *place)
                    .typmod(column.typmod)
                    .collation(column.collation);
                Target { expression, name: column.name.clone(), is_junk: false, column: 0 }
            });
        let mut targets: Vec<Target> = targets.collect();
        query.order = self.sort_set(select, &mut targets, columns)?;
        query.offset = self.limit(select.limit_offset(), Place::Offset, select)?;
        query.limit = self.limit(select.limit_count(), Place::Limit, select)?;
        query.with_ties = select.limit_option() == syntax::LimitOption::WithTies;
        query.targets = targets;
        query.set_operation = Some(Box::new(operand.tree));
        self.finish(&mut query);
        Ok(query)
    }

    /// ORDER BY sees the output columns alone.
    fn sort_set(
        &mut self,
        select: SelectStmt<'t>,
        targets: &mut Vec<Target>,
        columns: Vec<EntryColumn>,
    ) -> Result<Vec<SortKey>> {
        if select.sort_clause().is_empty() {
            return Ok(Vec::new());
        }
        let values = targets.iter().map(|target| target.expression.clone()).collect();
        let kind = EntryKind::Join(values);
        let name: std::sync::Arc<str> = "*SELECT*".into();
        let entry = Entry { name: name.clone(), columns, kind, is_lateral: false };
        let place = self.add_entry(entry);
        let mapped = targets.iter().map(|target| match target.expression.kind {
            ExpressionKind::Column(column) => (column.entry, column.number),
            _ => (place, 0),
        });
        let mapped = Some(mapped.collect());
        let item = NameItem { mapped, is_relation_visible: false, ..NameItem::of(place, name) };
        let count = targets.len();
        let before = std::mem::replace(&mut self.level().namespace, vec![item]);
        let order = self.in_place(Place::OrderBy, |this| {
            this.sort_clause(select.sort_clause(), targets, Standard::Sql92)
        });
        self.level().namespace = before;
        // Nobody names that entry afterwards.
        self.level().range_table.pop();
        let order = order?;
        if targets.len() > count {
            let at = targets[count].expression.location;
            return Err(fault("0A000", at, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                .detail("Only result column names can be used, not expressions or functions.")
                .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause."));
        }
        Ok(order)
    }

    fn operand(&mut self, select: SelectStmt<'t>) -> Result<Operand> {
        if let Some(into) = select.into_clause() {
            let at = crate::error::location(into.rel().and_then(|relation| relation.location()));
            let message = "INTO is only allowed on first SELECT of UNION/INTERSECT/EXCEPT";
            return Err(fault("42601", at, message));
        }
        if let Some(lock) = select.locking_clause().first() {
            return Err(locked(lock.strength()));
        }
        if is_member(select) {
            return self.member(select);
        }
        self.within(|this| this.operand_chain(select, false))
    }

    /// A chain of operations that grows to the left.
    fn operand_chain(&mut self, select: SelectStmt<'t>, is_top: bool) -> Result<Operand> {
        let mut operations = vec![select];
        let mut left = select.larg().expect("it has a left operand");
        while !is_member(left) {
            operations.push(left);
            left = left.larg().expect("it has a left operand");
        }
        let first = self.operand(left)?;
        let (mut columns, mut places) = (first.columns, first.places);
        let mut left_members = members(&first.tree);
        let mut steps = Vec::with_capacity(operations.len());
        for (at, operation) in operations.iter().rev().enumerate() {
            if is_top && at + 1 == operations.len() {
                self.recursive_columns(&columns);
            }
            let right = self.operand(operation.rarg().expect("it has a right operand"))?;
            let sides = Sides {
                left: (&columns, &places, &left_members),
                right: (&right.columns, &right.places, &members(&right.tree)),
            };
            let combined = self.combine(*operation, sides)?;
            left_members.clear();
            columns = combined.columns.clone();
            places = combined.places;
            steps.push(SetStep {
                kind: combined.kind,
                is_all: operation.all(),
                right: right.tree,
                columns: combined.columns,
                keys: combined.keys,
            });
        }
        let tree = SetTree::Chain { first: Box::new(first.tree), steps };
        Ok(Operand { tree, columns, places })
    }

    /// A member: a subquery of its own.
    fn member(&mut self, select: SelectStmt<'t>) -> Result<Operand> {
        let query = self.in_level(|this| {
            this.level().resolves_unknown = false;
            this.query(Node::SelectStmt(select))
        })?;
        if !self.here().namespace.is_empty()
            && let Some(at) = names_outer(Part::Query(&query), 0)
        {
            let message = "UNION/INTERSECT/EXCEPT member statement cannot refer to other relations of same query level";
            return Err(fault("42P10", at, message));
        }
        let columns = query_columns(&query);
        let places = query.columns().map(|target| target.expression.location).collect();
        let number = self.here().range_table.len() + 1;
        let name = format!("*SELECT* {number}").into();
        let kind = EntryKind::Subquery(Box::new(query));
        let place =
            self.add_entry(Entry { name, columns: columns.clone(), kind, is_lateral: false });
        Ok(Operand { tree: SetTree::Member(place), columns, places })
    }

    fn combine(&mut self, operation: SelectStmt<'t>, sides: Sides<'_>) -> Result<Combined> {
        let (kind, clause) = match operation.op() {
            SetOperation::Intersect => (SetKind::Intersect, "INTERSECT"),
            SetOperation::Except => (SetKind::Except, "EXCEPT"),
            _ => (SetKind::Union, "UNION"),
        };
        let (left, right) = (sides.left, sides.right);
        if left.0.len() != right.0.len() {
            let at = right.1.first().copied().unwrap_or(NOWHERE);
            let message = format!("each {clause} query must have the same number of columns");
            return Err(fault("42601", at, message));
        }
        let mut combined =
            Combined { kind, columns: Vec::new(), places: Vec::new(), keys: Vec::new() };
        for place in 0..left.0.len() {
            let value = |(columns, places, _): Side<'_>| {
                let column = &columns[place];
                Expression::new(ExpressionKind::CaseOperand, column.type_oid, places[place])
                    .typmod(column.typmod)
                    .collation(column.collation)
            };
            let (a, b) = (value(left), value(right));
            let common = self.common_type([&a, &b].into_iter(), clause)?;
            for (side, value) in [(left, &a), (right, &b)] {
                self.fit_member(side, place, value, common, clause)?;
            }
            let fitted = |value: &Expression| {
                let mut value = value.clone();
                if value.type_oid == oid::UNKNOWN {
                    value.type_oid = common;
                }
                value
            };
            let (a, b) = (fitted(&a), fitted(&b));
            let typmod = self.common_typmod([&a, &b].into_iter(), common);
            let at = if left.0[place].type_oid == oid::UNKNOWN { b.location } else { a.location };
            if !(operation.all() && kind == SetKind::Union) {
                combined.keys.push(self.equality_key(place, common, at)?);
            }
            combined.columns.push(EntryColumn {
                name: left.0[place].name.clone(),
                type_oid: common,
                typmod,
                collation: self.collation_of(common),
            });
            combined.places.push(a.location);
        }
        Ok(combined)
    }

    /// A column of an operand must have a way to the common type; a literal of a member is read as one.
    fn fit_member(
        &mut self,
        side: Side<'_>,
        place: usize,
        value: &Expression,
        common: crate::facts::Oid,
        clause: &str,
    ) -> Result<()> {
        if value.type_oid != oid::UNKNOWN {
            return self.coerce_to_common(value.clone(), common, clause).map(drop);
        }
        let [member] = side.2[..] else { return Ok(()) };
        let entry = &mut self.level().range_table[member];
        entry.columns[place].type_oid = common;
        let EntryKind::Subquery(query) = &mut entry.kind else { return Ok(()) };
        let Some(at) = (0..query.targets.len()).filter(|at| !query.targets[*at].is_junk).nth(place)
        else {
            return Ok(());
        };
        let taken =
            std::mem::replace(&mut query.targets[at].expression, Expression::null(oid::TEXT));
        let done = self.coerce_to_common(taken, common, clause)?;
        if let EntryKind::Subquery(query) = &mut self.level().range_table[member].kind {
            query.targets[at].expression = done;
        }
        Ok(())
    }
}

/// Columns of an operand, where they stand, and its member where it is one.
type Side<'a> = (&'a Vec<EntryColumn>, &'a Vec<Location>, &'a Vec<usize>);

#[derive(Clone, Copy)]
struct Sides<'a> {
    left: Side<'a>,
    right: Side<'a>,
}

struct Combined {
    kind: SetKind,
    columns: Vec<EntryColumn>,
    places: Vec<Location>,
    keys: Vec<SortKey>,
}

fn locked(strength: syntax::LockClauseStrength) -> Box<crate::error::AnalysisError> {
    let name = super::lock::name(strength);
    fault("0A000", NOWHERE, format!("{name} is not allowed with UNION/INTERSECT/EXCEPT"))
}

/// Whether an operand is a query of its own.
fn is_member(select: SelectStmt<'_>) -> bool {
    select.op() == SetOperation::None
        || !select.sort_clause().is_empty()
        || select.limit_offset().is_some()
        || select.limit_count().is_some()
        || !select.locking_clause().is_empty()
        || select.with_clause().is_some()
}

fn members(tree: &SetTree) -> Vec<usize> {
    match tree {
        SetTree::Member(place) => vec![*place],
        SetTree::Chain { .. } => Vec::new(),
    }
}

fn first_member(tree: &SetTree) -> usize {
    match tree {
        SetTree::Member(place) => *place,
        SetTree::Chain { first, .. } => first_member(first),
    }
}

/// Where a query names a column of the next one out.
fn names_outer(part: Part<'_>, depth: usize) -> Option<Location> {
    let mut found = None;
    match part {
        Part::Expression(value) => {
            if let ExpressionKind::Column(column) = value.kind
                && column.levels == depth
            {
                return Some(value.location);
            }
            value.parts(&mut |part| found = found.or_else(|| names_outer(part, depth)));
        }
        Part::Query(query) => {
            query.parts(&mut |part| found = found.or_else(|| names_outer(part, depth + 1)));
        }
    }
    found
}
