//! Types by their names in `pg_catalog`, in quotes or with the schema: `"int4"`, `pg_catalog.varchar(10)`, `_int4`.
//!
//! The parser knows types by its key words and takes every other name for a type of somebody else's. Behind it a name of
//! PostgreSQL's own becomes what the parser makes of the key word, so that nobody else has to ask how a type was written.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTableOperation, ArrayElemTypeDef, DataType, Expr, Ident, ObjectName,
    Statement, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use crate::catalog::types::plain_type_name;

/// Names of `pg_catalog` that the parser has a key word for.
const KEYWORDS: [&str; 21] = [
    "bit",
    "bool",
    "bytea",
    "date",
    "float4",
    "float8",
    "int2",
    "int4",
    "int8",
    "interval",
    "jsonb",
    "numeric",
    "regclass",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "timetz",
    "uuid",
    "varbit",
    "varchar",
];

/// Names types as the parser's key words do.
pub fn name_types(node: &mut impl VisitMut) {
    let _ = node.visit(&mut TypeNames);
}

struct TypeNames;

impl VisitorMut for TypeNames {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<()> {
        match statement {
            Statement::CreateTable(create) => {
                create.columns.iter_mut().for_each(|column| settle(&mut column.data_type));
            }
            Statement::AlterTable(alter) => {
                alter.operations.iter_mut().filter_map(named_by).for_each(settle);
            }
            Statement::Prepare { data_types, .. } => data_types.iter_mut().for_each(settle),
            Statement::CreateSequence { data_type, .. } => data_type.iter_mut().for_each(settle),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Cast { data_type, .. } => settle(data_type),
            Expr::TypedString(typed) => settle(&mut typed.data_type),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The type that an action of ALTER TABLE names.
fn named_by(operation: &mut AlterTableOperation) -> Option<&mut DataType> {
    match operation {
        AlterTableOperation::AddColumn { column_def, .. } => Some(&mut column_def.data_type),
        AlterTableOperation::AlterColumn {
            op: AlterColumnOperation::SetDataType { data_type, .. },
            ..
        } => Some(data_type),
        _ => None,
    }
}

fn settle(data_type: &mut DataType) {
    match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => settle(item),
        DataType::Custom(name, modifiers) => {
            if let Some(known) = plain_type_name(name).and_then(|plain| known(&plain, modifiers)) {
                *data_type = known;
            }
        }
        _ => {}
    }
}

/// Names that it has none for, and that arrays are made of.
const OTHER_ITEMS: [&str; 4] = ["bpchar", "char", "name", "oid"];

/// What the parser makes of a name of `pg_catalog`; an array's is its elements' behind an underscore.
fn known(name: &str, modifiers: &[String]) -> Option<DataType> {
    if let Some(item) = name.strip_prefix('_') {
        let item = by_keyword(item, &[]).or_else(|| other_item(item))?;
        return Some(DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(item), None)));
    }
    by_keyword(name, modifiers)
}

fn by_keyword(name: &str, modifiers: &[String]) -> Option<DataType> {
    if !KEYWORDS.contains(&name) {
        return None;
    }
    let text = match modifiers {
        [] => name.to_owned(),
        modifiers => format!("{name}({})", modifiers.join(", ")),
    };
    Parser::new(&PostgreSqlDialect {}).try_with_sql(&text).ok()?.parse_data_type().ok()
}

fn other_item(name: &str) -> Option<DataType> {
    let quoted = || ObjectName::from(vec![Ident::with_quote('"', name)]);
    OTHER_ITEMS.contains(&name).then(|| DataType::Custom(quoted(), Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> String {
        let dialect = PostgreSqlDialect {};
        let mut statement = Parser::parse_sql(&dialect, text).expect("it parses").remove(0);
        name_types(&mut statement);
        statement.to_string()
    }

    #[test]
    fn names_become_key_words() {
        assert_eq!(
            named("SELECT $1::\"pg_catalog\".\"int4\", CAST(a AS PG_CATALOG.Text), b::_int4[]"),
            "SELECT $1::INT4, CAST(a AS TEXT), b::INT4[][]"
        );
        assert_eq!(
            named("CREATE TABLE t (a \"pg_catalog\".\"varchar\"(10), b \"numeric\"(5, 2)[])"),
            "CREATE TABLE t (a VARCHAR(10), b NUMERIC(5,2)[])"
        );
        assert_eq!(
            named("ALTER TABLE t ADD COLUMN a \"bool\", ALTER COLUMN b SET DATA TYPE \"int8\""),
            "ALTER TABLE t ADD COLUMN a BOOL, ALTER COLUMN b SET DATA TYPE INT8"
        );
        assert_eq!(named("PREPARE p (\"int4\") AS SELECT $1"), "PREPARE p (INT4) AS SELECT $1");
    }

    #[test]
    fn names_of_others_stay() {
        for text in [
            "SELECT a::\"INT4\"",
            "SELECT a::public.int4",
            "SELECT a::\"char\"",
            "SELECT a::\"integer\"",
            "SELECT a::__int4",
        ] {
            assert_eq!(named(text), text);
        }
    }
}
