//! Tables about the system itself: `pg_catalog`, `information_schema`, `shareddb`.
//!
//! A catalog comes in, relations whose rows are made when a query asks for them go out. What depends on user tables is
//! ours; what is the same in every PostgreSQL database comes from `datafusion-pg-catalog`.

mod constraint;
mod definition;
mod information_schema;
mod key_usage;
mod lookup;
mod pg_attribute;
mod pg_class;
mod pg_constraint;
mod pg_database;
mod pg_db_role_setting;
mod pg_depend;
mod pg_index;
mod pg_locks;
mod pg_namespace;
mod pg_rewrite;
mod pg_roles;
mod pg_sequence;
mod privileges;
mod rows;
mod shared;

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::logical_expr::TableSource;

use super::Catalog;
use rows::Rows;

pub use constraint::{Constraint, constraints};
pub use definition::{
    column_default, constraint_definition, index_definition, quoted, view_definition,
};
pub use lookup::{
    find_relation, find_role, find_schema, find_type, formatted_type, plain_relation_name,
    relation_name, role_name, schema_name, type_name,
};
pub use pg_namespace::SCHEMAS;

/// A system table as DataFusion's planner sees it.
#[derive(Debug)]
pub struct SystemRelation {
    catalog: Arc<Catalog>,
    schema: SchemaRef,
    make: Make,
}

/// How rows are made.
#[derive(Clone, Copy, Debug)]
enum Make {
    Catalog(fn(&Catalog) -> Rows),
    Engine(&'static engine::system::SystemTable),
}

impl SystemRelation {
    /// Its rows now.
    pub fn rows(&self) -> Result<RecordBatch> {
        match self.make {
            Make::Catalog(make) => make(&self.catalog).batch(),
            Make::Engine(table) => shared::batch(table, &self.catalog),
        }
    }
}

impl TableSource for SystemRelation {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The system table of that name.
pub fn relation(catalog: &Arc<Catalog>, schema: &str, name: &str) -> Option<Arc<dyn TableSource>> {
    let (make, arrow) = match schema {
        "shareddb" => {
            let table = engine::system::TABLES.iter().find(|table| table.name == name)?;
            (Make::Engine(table), shared::schema(table))
        }
        _ => {
            let make = table(schema, name)?;
            // The columns of a table over nothing are those over everything.
            (Make::Catalog(make), make(&Catalog::default()).schema())
        }
    };
    Some(Arc::new(SystemRelation { catalog: catalog.clone(), schema: arrow, make }))
}

fn table(schema: &str, name: &str) -> Option<fn(&Catalog) -> Rows> {
    Some(match (schema, name) {
        ("pg_catalog", "pg_class") => pg_class::rows,
        ("pg_catalog", "pg_attribute") => pg_attribute::rows,
        ("pg_catalog", "pg_attrdef") => pg_attribute::defaults,
        ("pg_catalog", "pg_index") => pg_index::rows,
        ("pg_catalog", "pg_indexes") => pg_index::indexes,
        ("pg_catalog", "pg_constraint") => pg_constraint::rows,
        ("pg_catalog", "pg_namespace") => pg_namespace::rows,
        ("pg_catalog", "pg_database") => pg_database::rows,
        ("pg_catalog", "pg_db_role_setting") => pg_db_role_setting::rows,
        ("pg_catalog", "pg_depend") => pg_depend::rows,
        ("pg_catalog", "pg_locks") => pg_locks::rows,
        ("pg_catalog", "pg_rewrite") => pg_rewrite::rows,
        ("pg_catalog", "pg_roles") => pg_roles::roles,
        ("pg_catalog", "pg_authid") => pg_roles::authid,
        ("pg_catalog", "pg_user") => pg_roles::users,
        ("pg_catalog", "pg_shadow") => pg_roles::shadow,
        ("pg_catalog", "pg_auth_members") => pg_roles::members,
        ("pg_catalog", "pg_group") => pg_roles::groups,
        ("pg_catalog", "pg_default_acl") => pg_roles::defaults,
        ("pg_catalog", "pg_tables") => pg_class::tables,
        ("pg_catalog", "pg_views") => pg_class::views,
        ("pg_catalog", "pg_sequence") => pg_sequence::rows,
        ("pg_catalog", "pg_sequences") => pg_sequence::sequences,
        ("information_schema", "tables") => information_schema::tables,
        ("information_schema", "columns") => information_schema::columns,
        ("information_schema", "schemata") => information_schema::schemata,
        ("information_schema", "views") => information_schema::views,
        ("information_schema", "sequences") => information_schema::sequences,
        ("information_schema", "table_privileges" | "role_table_grants") => privileges::tables,
        ("information_schema", "column_privileges" | "role_column_grants") => privileges::columns,
        ("information_schema", "usage_privileges" | "role_usage_grants") => privileges::usage,
        ("information_schema", "applicable_roles") => privileges::applicable_roles,
        ("information_schema", "table_constraints") => key_usage::table_constraints,
        ("information_schema", "check_constraints") => key_usage::check_constraints,
        ("information_schema", "key_column_usage") => key_usage::key_column_usage,
        ("information_schema", "constraint_column_usage") => key_usage::constraint_column_usage,
        ("information_schema", "referential_constraints") => key_usage::referential_constraints,
        _ => return None,
    })
}
