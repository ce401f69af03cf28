//! FROM: what stands in it, and joins that merge columns as joins with conditions.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query,
    SetExpr, Statement, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Value,
};
use engine::types::SqlState;

use super::super::introspection::call;
use super::scope::{Column, Joined, Scope};
use super::{Given, Merging, fault, renamed};
use crate::catalog::types;
use crate::template::{fold, parse};

/// Functions that give one column, which is called as they are.
const OF_ONE_COLUMN: &[&str] = &["generate_series", "generate_subscripts", "unnest"];

/// Which side's rows stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Both,
    Left,
    Right,
    Full,
}

impl Merging<'_> {
    /// An item of FROM, beside those before it.
    pub fn item(
        &mut self,
        item: &mut TableWithJoins,
        before: &Joined,
        outer: Option<&Scope<'_>>,
    ) -> Result<Joined> {
        let mut left = self.factor(&mut item.relation, &[before], outer)?;
        for join in &mut item.joins {
            let right = self.factor(&mut join.relation, &[before, &left], outer)?;
            left = self.join(left, right, &mut join.join_operator, outer)?;
        }
        Ok(left)
    }

    /// One table of FROM; what stands before it is seen by LATERAL only.
    fn factor(
        &mut self,
        factor: &mut TableFactor,
        before: &[&Joined],
        outer: Option<&Scope<'_>>,
    ) -> Result<Joined> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                Ok(self.table(name, alias.as_ref()))
            }
            TableFactor::Derived { lateral, subquery, alias: Some(alias), .. } => {
                let given = match *lateral {
                    true => {
                        let seen = before.iter().copied().cloned();
                        let seen = seen.reduce(Joined::beside).unwrap_or_default();
                        self.query(subquery, Some(&Scope::new(&seen, outer)))?
                    }
                    false => self.query(subquery, outer)?,
                };
                let given = renamed(alias, given);
                name_all(alias, given.as_deref());
                Ok(Joined::relation(&alias.name, given))
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.item(table_with_joins, &Joined::default(), outer)
            }
            TableFactor::NestedJoin { .. } => self.nested(factor, outer),
            other => Ok(called(other)),
        }
    }

    fn table(&self, name: &ObjectName, alias: Option<&TableAlias>) -> Joined {
        let own = name.0.last().and_then(|part| part.as_ident()).cloned();
        let own = own.unwrap_or_else(|| Ident::new(""));
        let mut named = self.named.iter().rev();
        let given = match named.find(|(known, _)| name.0.len() == 1 && *known == fold(&own)) {
            Some((_, given)) => given.clone(),
            None => (self.tables)(name),
        };
        match alias {
            Some(alias) => Joined::relation(&alias.name, renamed(alias, given)),
            None => Joined::relation(&own, given),
        }
    }

    /// A join in parentheses under an alias, which hides what is in it: a subquery.
    fn nested(&mut self, factor: &mut TableFactor, outer: Option<&Scope<'_>>) -> Result<Joined> {
        let TableFactor::NestedJoin { table_with_joins, alias } = factor else {
            return Ok(Joined::default());
        };
        let subquery = all_of(TableWithJoins::clone(table_with_joins))?;
        let alias = alias.take();
        *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
        self.factor(factor, &[], outer)
    }

    fn join(
        &mut self,
        left: Joined,
        right: Joined,
        operator: &mut JoinOperator,
        outer: Option<&Scope<'_>>,
    ) -> Result<Joined> {
        use JoinOperator::{CrossJoin, FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
        let side = match operator {
            Left(_) | LeftOuter(_) => Side::Left,
            Right(_) | RightOuter(_) => Side::Right,
            FullOuter(_) => Side::Full,
            _ => Side::Both,
        };
        let (Join(how) | Inner(how) | Left(how) | LeftOuter(how) | Right(how) | RightOuter(how)
        | FullOuter(how) | CrossJoin(how)) = operator
        else {
            return Ok(left.beside(right));
        };
        let names = match how {
            JoinConstraint::Using(columns) => {
                let last = |name: &ObjectName| name.0.last()?.as_ident().map(fold);
                columns.iter().filter_map(last).collect()
            }
            JoinConstraint::Natural => common(&left, &right)?,
            JoinConstraint::On(condition) => {
                let joined = left.beside(right);
                self.resolve(condition, &Scope::new(&joined, outer))?;
                return Ok(joined);
            }
            JoinConstraint::None => return Ok(left.beside(right)),
        };
        let (joined, condition) = merge(left, right, &names, side)?;
        *how = JoinConstraint::On(condition);
        Ok(joined)
    }
}

/// `SELECT * FROM ..`
fn all_of(from: TableWithJoins) -> Result<Box<Query>> {
    let parsed = parse("SELECT * FROM item").map_err(|e| DataFusionError::External(Box::new(e)))?;
    let Some(Statement::Query(mut query)) = parsed.into_iter().next() else {
        return internal_err!("a query was parsed");
    };
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.from = vec![from];
    }
    Ok(query)
}

/// An alias that names some columns names all: the planner wants it so.
fn name_all(alias: &mut TableAlias, given: Option<&[Given]>) {
    let known = alias.columns.len();
    if known > 0 {
        let rest = given.unwrap_or_default().iter().skip(known);
        alias.columns.extend(rest.map(|(name, _)| TableAliasColumnDef {
            name: Ident::with_quote('"', name),
            data_type: None,
        }));
    }
}

/// What a relation is called.
pub fn name_of(factor: &TableFactor) -> Option<String> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => Some(fold(&alias.name)),
        TableFactor::Table { name, .. } => name.0.last()?.as_ident().map(fold),
        _ => None,
    }
}

/// A function whose columns can be told.
fn called(factor: &TableFactor) -> Joined {
    let unknown = || Joined { is_complete: false, ..Joined::default() };
    let (name, alias) = match factor {
        TableFactor::Table { name, alias, with_ordinality: false, .. }
        | TableFactor::Function { name, alias, with_ordinality: false, .. } => {
            (name.0.last().and_then(|part| part.as_ident()), alias)
        }
        _ => return unknown(),
    };
    let Some(name) = name.filter(|name| OF_ONE_COLUMN.contains(&&*fold(name))) else {
        return unknown();
    };
    let alias_name = alias.as_ref().map_or(name, |alias| &alias.name);
    let column = alias.as_ref().and_then(|alias| alias.columns.first());
    let column = column.map_or(alias_name, |column| &column.name);
    Joined::relation(alias_name, Some(vec![(fold(column), None)]))
}

/// The names that both sides have, in the left side's order.
fn common(left: &Joined, right: &Joined) -> Result<Vec<String>> {
    if !(left.is_complete && right.is_complete) {
        return Err(unknown("NATURAL JOIN"));
    }
    let has = |column: &&Column| right.named(&column.name).next().is_some();
    Ok(left.columns.iter().filter(has).map(|column| column.name.clone()).collect())
}

fn unknown(what: &str) -> DataFusionError {
    let message = format!("{what} with a function whose columns are not known is not supported");
    fault(SqlState::FeatureNotSupported, message)
}

/// What two sides joined by these columns have, and the condition that joins them.
fn merge(left: Joined, right: Joined, names: &[String], side: Side) -> Result<(Joined, Expr)> {
    let mut merged = Vec::with_capacity(names.len());
    let mut condition: Option<Expr> = None;
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            let message = format!("column name \"{name}\" appears more than once in USING clause");
            return Err(fault(SqlState::DuplicateColumn, message));
        }
        let (first, second) = (one(&left, name, "left")?, one(&right, name, "right")?);
        let test = binary(first.expr.clone(), BinaryOperator::Eq, second.expr.clone());
        condition = Some(match condition {
            Some(before) => binary(before, BinaryOperator::And, test),
            None => test,
        });
        merged.push(merged_column(first, second, side)?);
    }
    let stays = |column: &Column| !names.contains(&column.name);
    let mut joined = left.beside(right);
    joined.columns.retain(stays);
    joined.columns.splice(0..0, merged);
    let always = || Expr::value(Value::Boolean(true));
    Ok((joined, condition.unwrap_or_else(always)))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// A side's only column of a name.
fn one<'a>(joined: &'a Joined, name: &'a str, side: &str) -> Result<&'a Column> {
    let mut found = joined.named(name);
    match (found.next(), found.next()) {
        (Some(column), None) => Ok(column),
        (Some(_), Some(_)) => {
            let message =
                format!("common column name \"{name}\" appears more than once in {side} table");
            Err(fault(SqlState::AmbiguousColumn, message))
        }
        (None, _) if !joined.is_complete => Err(unknown("JOIN USING")),
        (None, _) => {
            let message = format!(
                "column \"{name}\" specified in USING clause does not exist in {side} table"
            );
            Err(fault(SqlState::UndefinedColumn, message))
        }
    }
}

fn merged_column(left: &Column, right: &Column, side: Side) -> Result<Column> {
    // Of equal ones either is the column: that of the type that both have in common needs no cast.
    let takes_right = side == Side::Right || side == Side::Both && rank(right) > rank(left);
    let (own, other) = if takes_right { (right, left) } else { (left, right) };
    let known = own.data_type.is_some() && other.data_type.is_some();
    let differ = !known || own.data_type != other.data_type;
    if known && differ && kind(own) != kind(other) {
        let name = |column: &Column| column.data_type.as_ref().map(types::from_arrow);
        let (first, second) = (name(left), name(right));
        let message = format!(
            "JOIN/USING types {} and {} cannot be matched",
            first.map(|t| t.to_string()).unwrap_or_default(),
            second.map(|t| t.to_string()).unwrap_or_default()
        );
        return Err(fault(SqlState::DatatypeMismatch, message));
    }
    let both = || vec![left.expr.clone(), right.expr.clone()];
    let expr = match side {
        Side::Full => call("coalesce", both()),
        _ if differ && !(side == Side::Both && known) => as_common(own, other),
        _ => own.expr.clone(),
    };
    let widest = if rank(other) > rank(own) { other } else { own };
    let data_type = widest.data_type.clone().filter(|_| known);
    Ok(Column { name: left.name.clone(), expr, data_type, is_merged: true })
}

/// A column as the type that it has in common with another.
fn as_common(own: &Column, other: &Column) -> Expr {
    let always = Expr::value(Value::Boolean(true));
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition: always, result: own.expr.clone() }],
        else_result: Some(Box::new(other.expr.clone())),
    }
}

/// Larger types of a kind take in smaller ones.
fn rank(column: &Column) -> u8 {
    match column.data_type.as_ref() {
        Some(ArrowType::Int32 | ArrowType::Timestamp(_, None)) => 1,
        Some(ArrowType::Int64 | ArrowType::Timestamp(_, Some(_))) => 2,
        Some(ArrowType::Decimal128(..)) => 3,
        Some(ArrowType::Float32) => 4,
        Some(ArrowType::Float64) => 5,
        _ => 0,
    }
}

/// Types of one kind have a type in common.
fn kind(column: &Column) -> u8 {
    match column.data_type.as_ref() {
        Some(data_type) if data_type.is_numeric() => 0,
        Some(data_type) if data_type.is_temporal() => 1,
        Some(ArrowType::Boolean) => 2,
        Some(data_type) if types::is_string(data_type) => 3,
        _ => 4,
    }
}
