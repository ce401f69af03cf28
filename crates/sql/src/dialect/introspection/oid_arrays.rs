//! `array_agg` of a column of ids is `oid[]`: ids are plain integers here, so it is told by the column's name.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, CastKind, DataType, Expr, Ident, ObjectName, VisitorMut,
};

use super::calls::{arguments, plain_name};

/// Columns of the catalog that hold ids of types and relations.
const COLUMNS: [&str; 8] =
    ["oid", "atttypid", "typelem", "typarray", "typbasetype", "attrelid", "indrelid", "indexrelid"];

/// Casts such calls.
pub struct OidArrays;

impl VisitorMut for OidArrays {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if collects_ids(expr) {
            let oid = DataType::Custom(ObjectName::from(vec![Ident::new("oid")]), Vec::new());
            *expr = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(expr.clone()),
                data_type: DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(oid), None)),
                array: false,
                format: None,
            };
        }
        ControlFlow::Continue(())
    }
}

fn collects_ids(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else { return false };
    if plain_name(function) != "array_agg" {
        return false;
    }
    let name = match arguments(function).unwrap_or_default().as_slice() {
        [Expr::Identifier(name)] => name.value.to_lowercase(),
        [Expr::CompoundIdentifier(names)] => {
            names.last().map(|name| name.value.to_lowercase()).unwrap_or_default()
        }
        _ => return false,
    };
    COLUMNS.contains(&name.as_str())
}
