//! What PostgreSQL calls an output column that has no alias (`FigureColname`).
//!
//! DataFusion would name it after the expression's text, which changes when literals are lifted, and refuses
//! two columns of one name. So every unnamed item gets PostgreSQL's name as an alias, made unique by a suffix
//! that [`visible_name`] takes off again.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, CastKind, DataType, ExactNumberInfo, Expr, Ident, ObjectNamePart, Select,
    SelectItem, SetExpr, Statement, TimezoneInfo, VisitMut, VisitorMut,
};

/// Separates a name from the number that makes it unique; cannot come from a client's text unquoted.
const SUFFIX: char = '\u{1}';

/// The name without the suffix.
pub fn visible_name(name: &str) -> &str {
    name.split(SUFFIX).next().unwrap_or(name)
}

/// Gives every unnamed output column of every SELECT its name.
pub fn name_columns(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Namer);
}

struct Namer;

impl VisitorMut for Namer {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut used = HashSet::new();
        for item in &mut select.projection {
            name_item(item, &mut used);
        }
        ControlFlow::Continue(())
    }
}

/// Gives an item its name, another one than those that are used.
pub fn name_item(item: &mut SelectItem, used: &mut HashSet<String>) {
    match item {
        SelectItem::UnnamedExpr(expr) => {
            let name = output_name(expr);
            let is_column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
            let first = used.insert(name.clone());
            if !(is_column && first) {
                let alias = Ident::with_quote('"', unique(name, first, used));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        SelectItem::ExprWithAlias { alias, .. } => {
            let name = fold(alias);
            if !used.insert(name.clone()) {
                *alias = Ident::with_quote('"', unique(name, false, used));
            }
        }
        _ => {}
    }
}

fn unique(name: String, first: bool, used: &mut HashSet<String>) -> String {
    if first {
        return name;
    }
    let free = (2..).map(|n| format!("{name}{SUFFIX}{n}")).find(|n| !used.contains(n));
    let free = free.expect("some number is not used yet");
    used.insert(free.clone());
    free
}

/// An identifier as stored: letters of ASCII in lower case unless quoted.
pub fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}

/// PostgreSQL's name of an unnamed output column.
pub fn output_name(expr: &Expr) -> String {
    figure(expr).unwrap_or_else(|| "?column?".to_owned())
}

/// Whether a cast around the expression would rather give its own name.
fn is_weak(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_weak(expr),
        Expr::TypedString(_) | Expr::Interval(_) => true,
        Expr::Case { else_result, .. } => else_result.as_deref().is_none_or(is_weak),
        other => figure(other).is_none(),
    }
}

fn figure(expr: &Expr) -> Option<String> {
    let word = match expr {
        Expr::Identifier(ident) => return Some(fold(ident)),
        Expr::CompoundIdentifier(parts) => return parts.last().map(fold),
        Expr::Function(function) => return function.name.0.last().and_then(part_name),
        Expr::Nested(inner) => return figure(inner),
        Expr::Cast { expr, data_type, kind: CastKind::Cast | CastKind::DoubleColon, .. } => {
            let own = if is_weak(expr) { None } else { figure(expr) };
            return Some(own.unwrap_or_else(|| type_name(data_type)));
        }
        Expr::TypedString(typed) => return Some(type_name(&typed.data_type)),
        Expr::Subquery(query) => return query_name(&query.body),
        Expr::Case { else_result, .. } => {
            return else_result
                .as_deref()
                .filter(|otherwise| !is_weak(otherwise))
                .and_then(figure)
                .or_else(|| Some("case".to_owned()));
        }
        Expr::Exists { negated: false, .. } => "exists",
        Expr::Array(_) => "array",
        Expr::Extract { .. } => "extract",
        Expr::Substring { shorthand: true, .. } => "substr",
        Expr::Substring { .. } => "substring",
        Expr::Position { .. } => "position",
        Expr::Trim { .. } => "btrim",
        Expr::Overlay { .. } => "overlay",
        Expr::Ceil { .. } => "ceil",
        Expr::Floor { .. } => "floor",
        Expr::Interval(_) => "interval",
        Expr::AtTimeZone { .. } => "timezone",
        _ => return None,
    };
    Some(word.to_owned())
}

fn part_name(part: &ObjectNamePart) -> Option<String> {
    part.as_ident().map(fold)
}

fn query_name(body: &SetExpr) -> Option<String> {
    match body {
        SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::UnnamedExpr(expr) => figure(expr),
            SelectItem::ExprWithAlias { alias, .. } => Some(visible_name(&fold(alias)).to_owned()),
            _ => None,
        },
        _ => None,
    }
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => "int4".to_owned(),
        DataType::BigInt(_) | DataType::Int8(_) => "int8".to_owned(),
        DataType::SmallInt(_) | DataType::Int2(_) => "int2".to_owned(),
        DataType::Real | DataType::Float4 => "float4".to_owned(),
        DataType::Double(_) | DataType::DoublePrecision | DataType::Float8 => "float8".to_owned(),
        DataType::Boolean | DataType::Bool => "bool".to_owned(),
        DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => "numeric".to_owned(),
        DataType::Varchar(_) | DataType::CharacterVarying(_) => "varchar".to_owned(),
        DataType::Char(_) | DataType::Character(_) => "bpchar".to_owned(),
        DataType::Float(ExactNumberInfo::Precision(1..=24)) => "float4".to_owned(),
        DataType::Float(_) => "float8".to_owned(),
        DataType::Timestamp(_, zone) => timestamp_name(*zone).to_owned(),
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => type_name(item),
        DataType::Custom(name, _) => name.0.last().and_then(part_name).unwrap_or_default(),
        other => other.to_string().to_lowercase(),
    }
}

fn timestamp_name(zone: TimezoneInfo) -> &'static str {
    match zone {
        TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => "timestamptz",
        TimezoneInfo::WithoutTimeZone | TimezoneInfo::None => "timestamp",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::parse;

    fn named(text: &str) -> String {
        let mut statement = parse(text).unwrap().remove(0);
        name_columns(&mut statement);
        statement.to_string()
    }

    #[test]
    fn names_are_postgresqls() {
        assert_eq!(
            named(
                "SELECT count(*), 1 + 1, a::int, t.b, (SELECT max(x) FROM u), CASE WHEN a THEN 1 END FROM t"
            ),
            "SELECT count(*) AS \"count\", 1 + 1 AS \"?column?\", a::INT AS \"a\", t.b, \
             (SELECT max(x) AS \"max\" FROM u) AS \"max\", CASE WHEN a THEN 1 END AS \"case\" FROM t"
        );
    }

    #[test]
    fn equal_names_stay_apart_inside() {
        let text = named("SELECT 1, 2, a, a FROM t");
        assert!(text.contains("1 AS \"?column?\""), "{text}");
        assert!(text.contains("2 AS \"?column?\u{1}"), "{text}");
        assert_eq!(visible_name("?column?\u{1}3"), "?column?");
    }
}
