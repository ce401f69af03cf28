//! RETURNING.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Expr, Ident, SelectItem};
use engine::plan::OutputColumn;
use engine::types::{Result, Scalar, TableSchema, Value};

use super::constraint::unsupported;
use super::describe::describe_column;
use super::naming::fold;
use super::write::{output_column, scalar_type};
use crate::compile::Scope;
use crate::session::ColumnDescription;
use crate::template::{Parameters, output_name};

/// A RETURNING clause, compiled.
#[derive(Debug, Default)]
pub struct Returning {
    /// Values, over the row's columns.
    pub scalars: Vec<Scalar>,
    /// Names and types.
    pub output: Arc<[OutputColumn]>,
    /// What the client is told; `None` without the clause.
    pub columns: Option<Arc<[ColumnDescription]>>,
}

/// One output column of the clause: its name and what it computes.
pub struct Item {
    /// The name.
    pub name: String,
    /// The expression.
    pub expr: Expr,
}

/// The clause's items with `*` written out.
pub fn items(clause: &[SelectItem], table: &TableSchema, alias: &str) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for item in clause {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                items.push(Item { name: output_name(expr), expr: expr.clone() });
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                items.push(Item { name: fold(alias), expr: expr.clone() });
            }
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                items.extend(table.live_columns().map(|(_, column)| Item {
                    name: column.name.to_string(),
                    expr: Expr::CompoundIdentifier(vec![quoted(alias), quoted(&column.name)]),
                }));
            }
            other => return Err(unsupported(&format!("RETURNING {other}"))),
        }
    }
    Ok(items)
}

/// A name as stored, as an identifier.
pub fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// Compiles a clause over one table's row.
pub fn compile(
    clause: Option<&[SelectItem]>,
    table: &TableSchema,
    alias: &str,
    scope: &Scope<'_>,
    parameters: &mut Parameters,
) -> Result<Returning> {
    let Some(clause) = clause else { return Ok(Returning::default()) };
    let items = items(clause, table, alias)?;
    let scalars = items.iter().map(|item| scope.scalar(&item.expr, None, parameters));
    let scalars = scalars.collect::<Result<Vec<Scalar>>>()?;
    let types: Vec<_> = table.columns.iter().map(|column| column.data_type).collect();
    let parameter_types = parameters.types();
    let typed = items.iter().zip(&scalars).map(|(item, scalar)| {
        let data_type = match scalar {
            // The value does not tell of which type it is.
            Scalar::Literal(Value::Null) => scope.data_type(&item.expr, parameters)?,
            _ => scalar_type(scalar, &types, &parameter_types),
        };
        Ok(output_column(&item.name, data_type))
    });
    let output: Arc<[OutputColumn]> = typed.collect::<Result<_>>()?;
    let described = output.iter().zip(&scalars).map(|(column, scalar)| {
        let origin = match scalar {
            Scalar::Column(column) => Some((table.id, *column)),
            _ => None,
        };
        describe_column(&column.name, column.data_type, origin)
    });
    let columns = Some(described.collect());
    Ok(Returning { scalars, output, columns })
}
