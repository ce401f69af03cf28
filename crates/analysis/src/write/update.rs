//! UPDATE.

use syntax::{List, MultiAssignRef, Node, ResTarget, UpdateStmt};

use super::target::Written;
use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault, location};
use crate::facts::oid;
use crate::place::Place;
use crate::tree::{Command, Expression, ExpressionKind, FromItem, Query, Target};

/// What `(a, b) = ..` takes its values from.
enum Source {
    /// ROW(..), value by value.
    Row(Vec<Option<Expression>>),
    /// The place of a subquery, and its columns.
    Query(usize, Vec<Expression>),
}

impl<'t> Analyzer<'t, '_> {
    pub(crate) fn update(&mut self, node: UpdateStmt<'t>) -> Result<Query> {
        let mut query = Query { command: Command::Update, ..Query::default() };
        self.with_clause(node.with_clause())?;
        let written = self.written(node.relation().expect("UPDATE has a table"))?;
        query.from.push(FromItem::Entry(written.item.entry));
        let mut item = written.item.clone();
        item.is_lateral_only = true;
        item.is_lateral_possible = false;
        self.level().namespace.push(item);
        query.from.extend(self.analyze_from(node.from_clause())?);
        self.show_target();
        let sources = self.assigned_values(node.target_list())?;
        query.condition = self.condition_or_cursor(node.where_clause(), Place::Where)?;
        self.returning(node.returning_clause(), &mut query)?;
        query.targets = self.assignments(&written, node.target_list(), sources)?;
        self.finish(&mut query);
        Ok(query)
    }

    /// WHERE, or CURRENT OF a cursor.
    pub(super) fn condition_or_cursor(
        &mut self,
        node: Option<Node<'t>>,
        place: Place,
    ) -> Result<Option<Expression>> {
        if let Some(Node::CurrentOfExpr(current)) = node {
            let cursor = current.cursor_name().unwrap_or_default();
            let kind = ExpressionKind::CurrentOf(cursor.into());
            return Ok(Some(Expression::new(kind, oid::BOOL, NOWHERE)));
        }
        self.condition(node, place, "WHERE")
    }

    /// The values of SET, before they become columns.
    pub(super) fn assigned_values(
        &mut self,
        list: List<'t, ResTarget<'t>>,
    ) -> Result<Vec<Expression>> {
        self.in_place(Place::UpdateSource, |this| {
            let mut values = Vec::with_capacity(list.len());
            let mut source: Option<Source> = None;
            for target in list.iter() {
                let node = target.val().expect("SET gives a value");
                values.push(match node {
                    Node::MultiAssignRef(part) => this.part_of_source(part, &mut source)?,
                    node => this.value_or_default(node)?,
                });
            }
            Ok(values)
        })
    }

    /// A value, or DEFAULT.
    pub(super) fn value_or_default(&mut self, node: Node<'t>) -> Result<Expression> {
        match node {
            Node::SetToDefault(default) => {
                let at = location(default.location());
                Ok(Expression::new(ExpressionKind::Default, oid::UNKNOWN, at))
            }
            node => self.expression(node),
        }
    }

    /// One value of `(a, b) = ..`; the first of them analyses the source.
    fn part_of_source(
        &mut self,
        part: MultiAssignRef<'t>,
        source: &mut Option<Source>,
    ) -> Result<Expression> {
        let number = usize::try_from(part.colno()).unwrap_or(1);
        if number == 1 {
            *source = Some(self.source(part)?);
        }
        let taken = match source {
            Some(Source::Row(values)) => values.get_mut(number - 1).and_then(Option::take),
            Some(Source::Query(place, columns)) => columns.get(number - 1).map(|column| {
                let kind = ExpressionKind::Assigned { source: *place, column: number };
                Expression::new(kind, column.type_oid, column.location)
                    .typmod(column.typmod)
                    .collation(column.collation)
            }),
            None => None,
        };
        Ok(taken.expect("the source was counted"))
    }

    fn source(&mut self, part: MultiAssignRef<'t>) -> Result<Source> {
        let wanted = usize::try_from(part.ncolumns()).unwrap_or(0);
        match part.source() {
            Some(Node::SubLink(link)) if link.sub_link_type() == syntax::SubLinkType::Expr => {
                let query = self.subquery(link.subselect().expect("a subquery has its text"))?;
                let columns: Vec<Expression> =
                    query.columns().map(|target| target.expression.clone()).collect();
                if columns.len() != wanted {
                    let at = location(link.location());
                    let message = "number of columns does not match number of values";
                    return Err(fault("42601", at, message));
                }
                let assigned = &mut self.level().assigned;
                assigned.push(query);
                Ok(Source::Query(assigned.len() - 1, columns))
            }
            Some(Node::RowExpr(row)) => {
                let at = location(row.location());
                let values = self.values_or_defaults(row.args())?;
                let values: Vec<Option<Expression>> = values.into_iter().map(Some).collect();
                if values.len() != wanted {
                    let message = "number of columns does not match number of values";
                    return Err(fault("42601", at, message));
                }
                Ok(Source::Row(values))
            }
            other => {
                let at = match other {
                    Some(node) => self.expression(node)?.location,
                    None => NOWHERE,
                };
                let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                Err(fault("0A000", at, message))
            }
        }
    }

    /// SET: each value as one of its column.
    pub(super) fn assignments(
        &mut self,
        written: &Written,
        list: List<'t, ResTarget<'t>>,
        values: Vec<Expression>,
    ) -> Result<Vec<Target>> {
        self.in_place(Place::UpdateTarget, |this| {
            let mut targets: Vec<Target> = Vec::with_capacity(values.len());
            for (target, value) in list.iter().zip(values) {
                let at = location(target.location());
                let name = target.name().unwrap_or_default();
                let number = this.written_column(&written.relation, name, at)?;
                let entry = Some(written.item.entry);
                let steps = Some(target.indirection());
                let expression = this.assign(value, &written.relation, number, steps, entry, at)?;
                let name = name.into();
                targets.push(Target { expression, name, is_junk: false, column: number });
            }
            Ok(targets)
        })
    }
}
