//! Catalog tables of what SharedDB does not have: triggers, policies, publications, inheritance.
//!
//! They are always empty, so a SELECT that joins one gives no row and computes nothing. Its expressions, which may
//! use what DataFusion lacks, become NULLs.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, GroupByExpr, Ident, JoinOperator, Query, Select, SelectItem,
    TableFactor, Value, Visit, Visitor, VisitorMut,
};

use super::calls::plain_name;
use crate::template::output_name;

const TABLES: [&str; 23] = [
    "pg_auth_members",
    "pg_default_acl",
    "pg_enum",
    "pg_event_trigger",
    "pg_foreign_data_wrapper",
    "pg_foreign_server",
    "pg_foreign_table",
    "pg_inherits",
    "pg_largeobject",
    "pg_largeobject_metadata",
    "pg_partitioned_table",
    "pg_policy",
    "pg_publication",
    "pg_publication_namespace",
    "pg_publication_rel",
    "pg_seclabel",
    "pg_shseclabel",
    "pg_statistic_ext",
    "pg_statistic_ext_data",
    "pg_subscription",
    "pg_subscription_rel",
    "pg_trigger",
    "pg_user_mapping",
];

/// Empties such SELECTs.
pub struct Absent;

impl VisitorMut for Absent {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if query.body.as_select().is_some_and(is_empty) {
            // What has no rows needs no order.
            query.order_by = None;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if is_empty(select)
            && let Some(projection) = select.projection.iter().map(null).collect()
        {
            select.projection = projection;
            select.from.clear();
            select.selection = Some(Expr::value(Value::Boolean(false)));
            select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
            select.having = None;
        }
        ControlFlow::Continue(())
    }
}

fn is_empty(select: &Select) -> bool {
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    // An aggregate over nothing is a row.
    (grouped || !aggregates(select))
        && select.from.iter().any(|from| {
            let inner = |operator: &JoinOperator| {
                matches!(
                    operator,
                    JoinOperator::Join(_)
                        | JoinOperator::Inner(_)
                        | JoinOperator::CrossJoin(_)
                        | JoinOperator::Left(_)
                        | JoinOperator::LeftOuter(_)
                )
            };
            let joined = |operator: &JoinOperator| {
                !matches!(operator, JoinOperator::Left(_) | JoinOperator::LeftOuter(_))
            };
            from.joins.iter().all(|join| inner(&join.join_operator))
                && (is_absent(&from.relation)
                    || from
                        .joins
                        .iter()
                        .any(|join| joined(&join.join_operator) && is_absent(&join.relation)))
        })
}

fn is_absent(factor: &TableFactor) -> bool {
    let TableFactor::Table { name, args: None, .. } = factor else { return false };
    let parts: Vec<String> = name
        .0
        .iter()
        .filter_map(|part| part.as_ident())
        .map(|ident| ident.value.to_ascii_lowercase())
        .collect();
    match parts.as_slice() {
        [table] => TABLES.contains(&table.as_str()),
        [schema, table] => schema == "pg_catalog" && TABLES.contains(&table.as_str()),
        _ => false,
    }
}

/// Whether the SELECT's items hold an aggregate of its own, not one of a subquery.
fn aggregates(select: &Select) -> bool {
    const NAMES: [&str; 9] =
        ["count", "sum", "min", "max", "avg", "array_agg", "string_agg", "bool_and", "bool_or"];
    #[derive(Default)]
    struct Finder {
        depth: usize,
    }
    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function)
                    if self.depth == 0 && NAMES.contains(&plain_name(function).as_str()) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    select.projection.visit(&mut Finder::default()).is_break()
}

/// The item as NULL of type text, under its own name; `None` for wildcards.
fn null(item: &SelectItem) -> Option<SelectItem> {
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr, Ident::with_quote('"', output_name(expr))),
        SelectItem::ExprWithAlias { expr, alias } => (expr, alias.clone()),
        _ => return None,
    };
    let data_type = match expr {
        Expr::Identifier(name) if matches!(name.value.as_str(), "oid" | "inhseqno") => {
            DataType::Integer(None)
        }
        _ => DataType::Text,
    };
    let null = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::value(Value::Null)),
        data_type,
        array: false,
        format: None,
    };
    Some(SelectItem::ExprWithAlias { expr: null, alias })
}
