//! CREATE VIEW.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, ObjectName, Visit, Visitor};
use engine::types::{DataType, Definition, Error, Result, SqlState};

use super::constraint::unsupported;
use super::modifying_queries;
use super::naming::{fold, in_public, split};
use crate::bounded::Planned;
use crate::catalog::{Catalog, VIEWS_ENTRY, ViewDefinition};
use crate::rights::ObjectKind;
use crate::session::{Session, forgotten, owned};
use crate::template::QueryTemplate;

/// Runs CREATE VIEW.
pub async fn create_view(session: &mut Session, statement: &ast::CreateView) -> Result<String> {
    if statement.materialized {
        return Err(unsupported("CREATE MATERIALIZED VIEW"));
    }
    if statement.temporary {
        return Err(unsupported("CREATE TEMPORARY VIEW"));
    }
    let name = in_public(&statement.name)?;
    let _defining = session.define_alone().await?;
    let catalog = session.catalog();
    let replaces = statement.or_replace && catalog.view(&name).is_some();
    if catalog.has_relation(&name) && !replaces {
        return session.exists(&name, statement.if_not_exists).map(|()| "CREATE VIEW".into());
    }
    if modifying_queries::refuse(&statement.query).is_err() {
        let message = "views must not contain data-modifying statements in WITH";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let described = columns_of(session.query_template(&statement.query)).await?;
    let columns: Vec<String> = statement.columns.iter().map(|column| fold(&column.name)).collect();
    let output = output_columns(&described, &columns)?;
    if replaces {
        let before = columns_of(session.query_template(&whole_view(&name)?)).await?;
        keeps_columns(&before, &output)?;
    }
    let text = statement.query.to_string();
    let mut views: Vec<ViewDefinition> =
        catalog.views().into_iter().map(|view| ViewDefinition::clone(view)).collect();
    views.retain(|view| view.name != name);
    let role = session.standing().role;
    let owner = match replaces {
        true => Vec::new(),
        false => owned(&catalog, role, &name, ObjectKind::Relation),
    };
    views.push(ViewDefinition { name, text, columns });
    session.put_views(&views, owner).await?;
    Ok("CREATE VIEW".to_owned())
}

/// A view's columns: the query's, under the names that the statement gives the first of them.
fn output_columns(
    described: &[(String, DataType)],
    names: &[String],
) -> Result<Vec<(String, DataType)>> {
    if names.len() > described.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    let names = names.iter().map(Some).chain(std::iter::repeat(None));
    let columns: Vec<_> = described
        .iter()
        .zip(names)
        .map(|((column, data_type), name)| (name.unwrap_or(column).clone(), *data_type))
        .collect();
    for (at, (name, _)) in columns.iter().enumerate() {
        if columns[..at].iter().any(|(before, _)| before == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
    }
    Ok(columns)
}

/// The names and types of a query's columns.
async fn columns_of(planned: Planned<Arc<QueryTemplate>>) -> Result<Vec<(String, DataType)>> {
    let template = planned.await?;
    let names = template.columns.iter().map(|column| column.name.to_string());
    Ok(names.zip(template.output.iter().map(|column| column.data_type)).collect())
}

/// All of a view.
fn whole_view(name: &str) -> Result<ast::Query> {
    let text = format!("SELECT * FROM {}", super::returning::quoted(name));
    match crate::template::parse(&text)?.remove(0) {
        ast::Statement::Query(query) => Ok(*query),
        other => unreachable!("{other} is no query"),
    }
}

/// OR REPLACE may only add columns at the end.
fn keeps_columns(old: &[(String, DataType)], new: &[(String, DataType)]) -> Result<()> {
    let refuse = |message: String| Err(Error::new(SqlState::InvalidTableDefinition, message));
    if new.len() < old.len() {
        return refuse("cannot drop columns from view".to_owned());
    }
    for ((old_name, old_type), (name, data_type)) in old.iter().zip(new) {
        if old_name != name {
            let message = format!("cannot change name of view column \"{old_name}\" to \"{name}\"");
            let hint =
                "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.";
            return refuse(message).map_err(|error| error.hint(hint));
        }
        if old_type != data_type {
            return refuse(format!(
                "cannot change data type of view column \"{name}\" from {old_type} to {data_type}"
            ));
        }
    }
    Ok(())
}

impl Session {
    async fn put_views(
        &mut self,
        views: &[ViewDefinition],
        mut owners: Vec<Definition>,
    ) -> Result<()> {
        let value = Some(ViewDefinition::encode_all(views));
        owners.push(Definition::PutEntry { key: VIEWS_ENTRY.to_owned(), value });
        self.define_all(owners).await
    }

    /// Forgets views.
    pub(crate) async fn remove_views(&mut self, names: &[String]) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let catalog = self.catalog();
        let kept: Vec<ViewDefinition> = catalog
            .views()
            .into_iter()
            .filter(|view| !names.contains(&view.name))
            .map(|view| ViewDefinition::clone(view))
            .collect();
        let owners = names.iter().flat_map(|name| forgotten(&catalog, name)).collect();
        self.put_views(&kept, owners).await
    }
}

/// The views that name a relation, also through other views.
pub fn depending_on(catalog: &Catalog, relation: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut pending = vec![relation.to_owned()];
    while let Some(name) = pending.pop() {
        for view in catalog.views() {
            if !found.contains(&view.name) && names_relation(&view.text, &name) {
                found.push(view.name.clone());
                pending.push(view.name.clone());
            }
        }
    }
    found
}

/// The first view that reads a column of a relation, as far as its text tells.
pub fn reading(catalog: &Catalog, relation: &str, column: &str) -> Option<String> {
    let reads = |view: &&Arc<ViewDefinition>| {
        names_relation(&view.text, relation) && names_column(&view.text, column)
    };
    catalog.views().into_iter().find(reads).map(|view| view.name.clone())
}

fn names_column(text: &str, column: &str) -> bool {
    struct Columns<'a>(&'a str);
    impl Visitor for Columns<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
            let name = match expr {
                ast::Expr::Identifier(name) => Some(name),
                ast::Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            match name.is_some_and(|name| fold(name) == self.0) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_select(&mut self, select: &ast::Select) -> ControlFlow<()> {
            use ast::SelectItem::{QualifiedWildcard, Wildcard};
            let all = |item: &ast::SelectItem| matches!(item, Wildcard(_) | QualifiedWildcard(..));
            match select.projection.iter().any(all) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    let Ok(statements) = crate::template::parse(text) else { return false };
    statements.visit(&mut Columns(column)).is_break()
}

fn names_relation(text: &str, relation: &str) -> bool {
    struct Relations<'a>(&'a str);
    impl Visitor for Relations<'_> {
        type Break = ();

        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
            match split(name) {
                Ok((_, name)) if name == self.0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    let Ok(statements) = crate::template::parse(text) else { return false };
    statements.visit(&mut Relations(relation)).is_break()
}
