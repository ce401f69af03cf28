//! Casts to `regclass`, `regtype` and their like, which are ids that are shown as names.
//!
//! A cast becomes a function that gives the id. Where the value is shown, as an item of a SELECT or cast to text, a second
//! function makes a name of it. `regproc` is always a name here, as in our `pg_type`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{CastKind, DataType, Expr, Select, SelectItem, VisitorMut};

use super::calls::{alias, call, plain_name};
use crate::catalog::types::plain_type_name;
use crate::template::output_name;

/// PostgreSQL's type, the function that gives the id, the function that gives the name.
const TYPES: [(&str, &str, &str); 7] = [
    ("regclass", "__regclass", "__regclass_name"),
    ("regtype", "__regtype", "__regtype_name"),
    ("regnamespace", "__regnamespace", "__regnamespace_name"),
    ("regrole", "__regrole", "__regrole_name"),
    ("regproc", "__regproc", "__regproc"),
    ("regprocedure", "__regproc", "__regproc"),
    ("regcollation", "__regcollation", "__regcollation_name"),
];

/// Functions that give an id, or NULL where a name is unknown, and those that give its name.
const LOOKUPS: [(&str, &str); 4] = [
    ("to_regclass", "__regclass_name"),
    ("to_regtype", "__regtype_name"),
    ("to_regnamespace", "__regnamespace_name"),
    ("to_regrole", "__regrole_name"),
];

fn lookup(expr: &Expr) -> Option<&'static str> {
    let Expr::Function(function) = expr else { return None };
    let name = plain_name(function);
    LOOKUPS.iter().find(|known| known.0 == name).map(|known| known.1)
}

fn functions(data_type: &DataType) -> Option<(&'static str, &'static str)> {
    let name = match data_type {
        DataType::Regclass => "regclass".to_owned(),
        DataType::Custom(name, arguments) if arguments.is_empty() => plain_type_name(name)?,
        _ => return None,
    };
    TYPES.iter().find(|known| known.0 == name).map(|known| (known.1, known.2))
}

/// Whether a cast shows the value as text.
fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Text | DataType::Varchar(_) | DataType::CharacterVarying(_) => true,
        DataType::Custom(name, _) => plain_type_name(name).as_deref() == Some("name"),
        _ => false,
    }
}

/// Puts functions in the places of such casts.
pub struct Names;

impl Names {
    /// An item that is such a cast shows its name. All items keep the names that they have before.
    fn show(&mut self, item: &mut SelectItem) {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &*item
        else {
            return;
        };
        if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
            return;
        }
        let alias = match &*item {
            SelectItem::ExprWithAlias { alias, .. } => alias.clone(),
            _ => alias(&output_name(expr)),
        };
        let shown = match expr {
            Expr::Cast { data_type, .. } => functions(data_type).map(|(_, name)| name),
            expr => lookup(expr),
        };
        let expr = match shown {
            Some(name) => call(name, vec![expr.clone()]),
            None => expr.clone(),
        };
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            self.show(item);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon, expr: inner, data_type, ..
        } = expr
        else {
            return ControlFlow::Continue(());
        };
        let replacement = match functions(data_type) {
            Some((id, _)) => Some(call(id, vec![inner.as_ref().clone()])),
            None if is_text(data_type) => named(inner),
            None => None,
        };
        if let Some(replacement) = replacement {
            *expr = replacement;
        }
        ControlFlow::Continue(())
    }
}

/// The name behind the id that such a function gives.
fn named(inner: &Expr) -> Option<Expr> {
    if let Some(name) = lookup(inner) {
        return Some(call(name, vec![inner.clone()]));
    }
    let Expr::Function(function) = inner else { return None };
    let name = plain_name(function);
    let known = TYPES.iter().find(|known| known.1 == name)?;
    Some(if known.1 == known.2 { inner.clone() } else { call(known.2, vec![inner.clone()]) })
}

#[cfg(test)]
mod tests {
    use crate::template::parse;

    fn rewritten(text: &str) -> String {
        parse(text).expect("it parses").remove(0).to_string()
    }

    #[test]
    fn ids_are_compared_and_names_are_shown() {
        assert_eq!(
            rewritten("SELECT c.oid::regclass FROM c WHERE c.oid = 'a'::pg_catalog.regclass"),
            "SELECT __regclass_name(__regclass(c.oid)) AS \"oid\" FROM c WHERE c.oid = __regclass('a')"
        );
        assert_eq!(
            rewritten("SELECT c.t::regtype::text || 'x' AS t FROM c"),
            "SELECT __regtype_name(__regtype(c.t)) || 'x' AS t FROM c"
        );
    }
}
