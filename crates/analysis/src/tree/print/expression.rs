//! Expressions.

use std::fmt::Write;

use super::super::{
    Aggregate, CastForm, CastVia, Column, Constant, Expression, ExpressionKind, FunctionRef,
    LinkKind, SortKey, Test, WindowCall,
};
use super::{Printer, type_text};
use crate::facts::operator;

/// The collation of a database; what has another is told.
const DEFAULT_COLLATION: u32 = 100;

impl<'a> Printer<'a> {
    /// An expression with its type. Subqueries go to `queries`, and are named by their place there.
    pub(super) fn expression(
        &self,
        expression: &'a Expression,
        queries: &mut Vec<&'a super::Query>,
    ) -> String {
        let mut text = self.bare(&expression.kind, queries);
        if !matches!(expression.kind, ExpressionKind::Default) {
            let _ = write!(text, ":{}", type_text(expression.type_oid, expression.typmod));
        }
        if ![0, DEFAULT_COLLATION].contains(&expression.collation) {
            let _ = write!(text, " collate {}", expression.collation);
        }
        text
    }

    fn list(&self, all: &'a [Expression], queries: &mut Vec<&'a super::Query>) -> String {
        all.iter().map(|one| self.expression(one, queries)).collect::<Vec<_>>().join(", ")
    }

    fn bare(&self, kind: &'a ExpressionKind, queries: &mut Vec<&'a super::Query>) -> String {
        use ExpressionKind::*;
        match kind {
            Constant(constant) => constant_text(constant),
            Column(column) => self.column(*column),
            Parameter(number) => format!("${number}"),
            Call { function, arguments, is_variadic } => {
                let variadic = if *is_variadic { "variadic " } else { "" };
                format!("{}({variadic}{})", name(function), self.list(arguments, queries))
            }
            ArgumentDefault(place) => format!("default {place}"),
            Named(name, _, value) => format!("{name} => {}", self.expression(value, queries)),
            Operator(operator, operands) => match &operands[..] {
                [only] => format!("({} {})", operator.0.name, self.expression(only, queries)),
                _ => self.joined(&format!(" {} ", operator.0.name), operands, queries),
            },
            Distinct(_, pair) => self.joined(" is distinct from ", &pair[..], queries),
            NullIf(_, pair) => format!("nullif({})", self.list(&pair[..], queries)),
            Elements { operator, is_any, operands } => {
                let every = if *is_any { "any" } else { "all" };
                let [value, array] = &operands[..] else { unreachable!("two operands") };
                let (value, array) =
                    (self.expression(value, queries), self.expression(array, queries));
                format!("({value} {} {every} ({array}))", operator.0.name)
            }
            RowComparison { operators, left, right } => {
                let operator = operators.first().map_or("", |first| first.0.name);
                let (left, right) = (self.list(left, queries), self.list(right, queries));
                format!("(({left}) {operator} ({right}))")
            }
            And(all) => self.joined(" and ", all, queries),
            Or(all) => self.joined(" or ", all, queries),
            Not(inner) => format!("not {}", self.expression(inner, queries)),
            Test(test, inner) => {
                format!("({} {})", self.expression(inner, queries), test_text(*test))
            }
            Case { operand, whens, otherwise } => {
                self.case(operand.as_deref(), whens, otherwise, queries)
            }
            CaseOperand => "operand".to_owned(),
            Coalesce(all) => format!("coalesce({})", self.list(all, queries)),
            Extreme { is_greatest, arguments } => {
                let name = if *is_greatest { "greatest" } else { "least" };
                format!("{name}({})", self.list(arguments, queries))
            }
            Array { elements, .. } => format!("array[{}]", self.list(elements, queries)),
            Row(all) => format!("row({})", self.list(all, queries)),
            Session(name) => (*name).to_owned(),
            Link { kind, test, query } => {
                queries.push(query);
                let test = test.as_deref().map(|test| self.expression(test, queries));
                link_text(*kind, test, queries.len())
            }
            LinkColumn(number) => format!("column {number} of it"),
            Assigned { source, column } => format!("column {column} of assigned {source}"),
            Subscript { array, upper, lower, assigned } => {
                let array = self.expression(array, queries);
                let bounds = self.bounds(lower, upper, queries);
                let assigned = assigned.as_deref().map(|value| self.expression(value, queries));
                let assigned = assigned.map_or(String::new(), |value| format!(" := {value}"));
                format!("{array}{bounds}{assigned}")
            }
            Field(row, number) => format!("({}).{number}", self.expression(row, queries)),
            FieldAssigned(row, fields) => {
                let row = self.expression(row, queries);
                let field = |(number, value): &'a (i16, Expression)| {
                    format!("{number} := {}", self.expression(value, &mut *queries))
                };
                let fields: Vec<String> = fields.iter().map(field).collect();
                format!("{row} with ({})", fields.join(", "))
            }
            Cast { via, form, operand, .. } => {
                let form = if *form == CastForm::Explicit { "cast" } else { "implicitly" };
                format!("{form} {}({})", via_text(via), self.expression(operand, queries))
            }
            Collate(inner) => format!("collate({})", self.expression(inner, queries)),
            Aggregate(call) => self.aggregate(call, queries),
            Window(call) => self.window_call(call, queries),
            Grouping { arguments, levels } => {
                format!("{}grouping({})", "^".repeat(*levels), self.list(arguments, queries))
            }
            Default => "default".to_owned(),
            CurrentOf(cursor) => format!("current of {cursor}"),
            Xml(name, arguments) => format!("{name}({})", self.list(arguments, queries)),
        }
    }

    fn joined(
        &self,
        between: &str,
        all: &'a [Expression],
        queries: &mut Vec<&'a super::Query>,
    ) -> String {
        let all: Vec<String> = all.iter().map(|one| self.expression(one, queries)).collect();
        format!("({})", all.join(between))
    }

    fn column(&self, column: Column) -> String {
        let Column { levels, entry, number } = column;
        let outer = "^".repeat(levels);
        let entry = self.at(levels).and_then(|query| query.range_table.get(entry));
        let Some(entry) = entry else { return format!("{outer}{}.{number}", column.entry) };
        let name = match number {
            0 => "*".to_owned(),
            1.. => match entry.columns.get(number as usize - 1) {
                Some(column) => column.name.to_string(),
                None => number.to_string(),
            },
            _ => format!("system column {number}"),
        };
        format!("{outer}{}.{name}", entry.name)
    }

    fn case(
        &self,
        operand: Option<&'a Expression>,
        whens: &'a [(Expression, Expression)],
        otherwise: &'a Expression,
        queries: &mut Vec<&'a super::Query>,
    ) -> String {
        let mut text = "case".to_owned();
        if let Some(operand) = operand {
            let _ = write!(text, " {}", self.expression(operand, queries));
        }
        for (when, then) in whens {
            let (when, then) = (self.expression(when, queries), self.expression(then, queries));
            let _ = write!(text, " when {when} then {then}");
        }
        let _ = write!(text, " else {} end", self.expression(otherwise, queries));
        text
    }

    fn bounds(
        &self,
        lower: &'a [Option<Expression>],
        upper: &'a [Option<Expression>],
        queries: &mut Vec<&'a super::Query>,
    ) -> String {
        let mut text = String::new();
        for (place, upper) in upper.iter().enumerate() {
            let mut bound =
                |one: &'a Option<Expression>| one.as_ref().map(|one| self.expression(one, queries));
            let lower = lower.get(place).map(|lower| bound(lower).unwrap_or_default() + ":");
            let upper = bound(upper).unwrap_or_default();
            let _ = write!(text, "[{}{upper}]", lower.unwrap_or_default());
        }
        text
    }

    fn aggregate(&self, call: &'a Aggregate, queries: &mut Vec<&'a super::Query>) -> String {
        let distinct = if call.is_distinct { "distinct " } else { "" };
        let shown = call.arguments.len() - call.junk;
        let mut text = format!("{}{}(", "^".repeat(call.levels), name(&call.function));
        if !call.direct.is_empty() {
            let _ = write!(text, "{}; ", self.list(&call.direct, queries));
        }
        let is_of_rows = call.arguments.is_empty() && call.direct.is_empty();
        let shown =
            if is_of_rows { "*".to_owned() } else { self.list(&call.arguments[..shown], queries) };
        let _ = write!(text, "{distinct}{shown}");
        if !call.order.is_empty() {
            let key = |key: &SortKey| match call.arguments.get(key.target) {
                Some(argument) => self.expression(argument, &mut Vec::new()) + &order_text(key),
                None => order_text(key),
            };
            let _ = write!(
                text,
                " order by {}",
                call.order.iter().map(key).collect::<Vec<_>>().join(", ")
            );
        }
        text.push(')');
        self.filter(call.filter.as_deref(), &mut text, queries);
        text
    }

    fn window_call(&self, call: &'a WindowCall, queries: &mut Vec<&'a super::Query>) -> String {
        let mut text = format!("{}({})", name(&call.function), self.list(&call.arguments, queries));
        self.filter(call.filter.as_deref(), &mut text, queries);
        let _ = write!(text, " over window {}", call.window);
        text
    }

    fn filter(
        &self,
        filter: Option<&'a Expression>,
        text: &mut String,
        queries: &mut Vec<&'a super::Query>,
    ) {
        if let Some(filter) = filter {
            let _ = write!(text, " filter ({})", self.expression(filter, queries));
        }
    }
}

/// `<` or `>`, and where NULLs go otherwise than by that.
pub(super) fn order_text(key: &SortKey) -> String {
    let Some(order) = operator(key.order) else { return String::new() };
    let nulls = if key.nulls_first { " nulls first" } else { "" };
    format!(" by {}{nulls}", order.name)
}

fn name(function: &FunctionRef) -> &'static str {
    function.0.name
}

fn constant_text(constant: &Constant) -> String {
    match constant {
        Constant::Null => "null".to_owned(),
        Constant::Boolean(value) => value.to_string(),
        Constant::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

fn test_text(test: Test) -> &'static str {
    match test {
        Test::Null => "is null",
        Test::NotNull => "is not null",
        Test::True => "is true",
        Test::NotTrue => "is not true",
        Test::False => "is false",
        Test::NotFalse => "is not false",
        Test::Unknown => "is unknown",
        Test::NotUnknown => "is not unknown",
    }
}

fn via_text(via: &CastVia) -> String {
    match via {
        CastVia::Function(function) => format!("by {}", name(function)),
        CastVia::Relabel => "as it is ".to_owned(),
        CastVia::Text => "by text".to_owned(),
        CastVia::Elements(each) => format!("each {}", via_text(each)),
        CastVia::Domain => "checked".to_owned(),
        CastVia::Row => "by columns".to_owned(),
    }
}

fn link_text(kind: LinkKind, test: Option<String>, number: usize) -> String {
    let test = test.map_or(String::new(), |test| format!(" {test} of"));
    let how = match kind {
        LinkKind::Exists => "exists",
        LinkKind::All => "all",
        LinkKind::Any => "any",
        LinkKind::RowComparison => "row",
        LinkKind::Scalar => "value of",
        LinkKind::Multiple => "columns of",
        LinkKind::Array => "array of",
    };
    format!("({how}{test} subquery {number})")
}
