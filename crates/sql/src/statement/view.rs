//! CREATE VIEW.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, ObjectName, Visit, Visitor};
use engine::types::{Definition, Error, Result, SqlState};

use super::constraint::unsupported;
use super::naming::{fold, in_public, split};
use crate::catalog::{Catalog, VIEWS_ENTRY, ViewDefinition};
use crate::session::Session;

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
    let width = session.describe_query(&statement.query)?.len();
    let columns: Vec<String> = statement.columns.iter().map(|column| fold(&column.name)).collect();
    if columns.len() > width {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    let text = statement.query.to_string();
    let mut views: Vec<ViewDefinition> =
        catalog.views().into_iter().map(|view| ViewDefinition::clone(view)).collect();
    views.retain(|view| view.name != name);
    views.push(ViewDefinition { name, text, columns });
    session.put_views(&views).await?;
    Ok("CREATE VIEW".to_owned())
}

impl Session {
    async fn put_views(&mut self, views: &[ViewDefinition]) -> Result<()> {
        let value = Some(ViewDefinition::encode_all(views));
        self.define(Definition::PutEntry { key: VIEWS_ENTRY.to_owned(), value }).await
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
        self.put_views(&kept).await
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
