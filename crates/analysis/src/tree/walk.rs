//! What lies right below an expression or a query.

use super::*;

/// A part of a tree.
pub(crate) enum Part<'a> {
    /// An expression of the same query.
    Expression(&'a Expression),
    /// A query within: one level further in.
    Query(&'a Query),
}

/// Sees expressions one by one.
type See<'s, 'a> = &'s mut dyn FnMut(Part<'a>);

fn each<'a>(list: impl IntoIterator<Item = &'a Expression>, see: See<'_, 'a>) {
    list.into_iter().for_each(|expression| see(Part::Expression(expression)));
}

impl Expression {
    /// Shows the parts right below.
    pub(crate) fn parts<'a>(&'a self, see: See<'_, 'a>) {
        use ExpressionKind::*;
        match &self.kind {
            Constant(_) | Column(_) | Parameter(_) | ArgumentDefault(_) | CaseOperand
            | Session(_) => {}
            LinkColumn(_) | Assigned { .. } | Default | CurrentOf(_) => {}
            Call { arguments: list, .. } | Operator(_, list) | And(list) | Or(list) => {
                each(list, see)
            }
            Coalesce(list) | Extreme { arguments: list, .. } | Row(list) | Xml(_, list) => {
                each(list, see);
            }
            Array { elements: list, .. } | Grouping { arguments: list, .. } => each(list, see),
            Distinct(_, pair) | NullIf(_, pair) | Elements { operands: pair, .. } => {
                each(&**pair, see);
            }
            Named(_, _, one) | Not(one) | Test(_, one) | Field(one, _) | Collate(one) => {
                see(Part::Expression(one));
            }
            Cast { operand, .. } => see(Part::Expression(operand)),
            RowComparison { left, right, .. } => each(left.iter().chain(right), see),
            Case { operand, whens, otherwise } => {
                each(operand.as_deref(), see);
                whens.iter().for_each(|(when, then)| each([when, then], see));
                see(Part::Expression(otherwise));
            }
            Link { test, query, .. } => {
                each(test.as_deref(), see);
                see(Part::Query(query));
            }
            Subscript { array, upper, lower, assigned } => {
                see(Part::Expression(array));
                each(upper.iter().chain(lower).flatten(), see);
                each(assigned.as_deref(), see);
            }
            FieldAssigned(row, fields) => {
                see(Part::Expression(row));
                each(fields.iter().map(|(_, value)| value), see);
            }
            Aggregate(call) => {
                each(call.direct.iter().chain(&call.arguments), see);
                each(call.filter.as_deref(), see);
            }
            Window(call) => {
                each(&call.arguments, see);
                each(call.filter.as_deref(), see);
            }
        }
    }
}

impl Query {
    /// Shows the parts right below: queries of WITH and FROM, and all expressions.
    pub(crate) fn parts<'a>(&'a self, see: See<'_, 'a>) {
        self.ctes.iter().for_each(|cte| see(Part::Query(&cte.query)));
        self.range_table.iter().for_each(|entry| entry.parts(see));
        self.from.iter().for_each(|item| item.parts(see));
        each(self.targets.iter().map(|target| &target.expression), see);
        each(self.returning.iter().map(|target| &target.expression), see);
        each(&self.condition, see);
        each(&self.having, see);
        for window in &self.windows {
            each(window.frame.start.iter().chain(&window.frame.end), see);
        }
        each(self.limit.iter().chain(&self.offset), see);
        self.assigned.iter().for_each(|query| see(Part::Query(query)));
        if let Some(conflict) = &self.conflict {
            each(&conflict.arbiter, see);
            each(&conflict.arbiter_condition, see);
            each(conflict.update.iter().flatten().map(|target| &target.expression), see);
            each(&conflict.condition, see);
        }
    }
}

impl Entry {
    fn parts<'a>(&'a self, see: See<'_, 'a>) {
        match &self.kind {
            EntryKind::Subquery(query) => see(Part::Query(query)),
            EntryKind::Functions { calls, .. } => each(calls.iter().map(|(call, _)| call), see),
            EntryKind::Values(rows) => each(rows.iter().flatten(), see),
            EntryKind::XmlTable(arguments) => each(arguments, see),
            // What a join's columns are is said by those who name them.
            EntryKind::Join(_) | EntryKind::Relation(_) | EntryKind::Cte(..) => {}
            EntryKind::Excluded | EntryKind::Recursive(..) => {}
        }
    }
}

impl FromItem {
    fn parts<'a>(&'a self, see: See<'_, 'a>) {
        match self {
            FromItem::Entry(_) => {}
            FromItem::Sample { arguments, seed, .. } => each(arguments.iter().chain(seed), see),
            FromItem::Join { left, right, condition, .. } => {
                left.parts(see);
                right.parts(see);
                each(condition, see);
            }
        }
    }
}
