//! CREATE TABLE ... AS query.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::CreateTable;
use engine::heartbeat::Answer;
use engine::plan::{InsertPlan, InsertSource, WriteAction, WritePlan};
use engine::types::{Definition, Error, Result, RowRules, Scalar, SqlState, TableSchema};

use super::create_table::plain_column;
use super::naming::{fold, in_public};
use crate::alone::long;
use crate::session::{PUBLIC, Session, check_at};

/// Creates the table from the query's columns and fills it where nobody sees it; only then it is shown, so that a crash in
/// between leaves no table, as a fault does.
pub async fn create_table_as(session: &mut Session, statement: &CreateTable) -> Result<String> {
    let Some(query) = &statement.query else { unreachable!("the caller looked") };
    let name = in_public(&statement.name)?;
    let database = session.database().clone();
    let _defining = session.define_alone().await?;
    let catalog = session.catalog();
    if catalog.has_relation(&name) {
        return session.exists(&name, statement.if_not_exists).map(|()| "CREATE TABLE AS".into());
    }
    let template = session.query_template(query).await?;
    let answer = session.read_all(&template, Vec::new()).await?;
    if statement.columns.len() > template.output.len() {
        let message = "too many column names were specified";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    let mut columns = Vec::with_capacity(template.output.len());
    for (position, column) in template.output.iter().enumerate() {
        let named = statement.columns.get(position).map(|column| fold(&column.name));
        let column_name = named.unwrap_or_else(|| column.name.to_string());
        if columns.iter().any(|c: &engine::types::ColumnSchema| *c.name == *column_name) {
            let message = format!("column \"{column_name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        columns.push(plain_column(&column_name, column.data_type));
    }
    let id = database.ids.table(&catalog);
    let schema = TableSchema {
        id,
        schema: session.unseen_schema(),
        name: name.into(),
        columns,
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    };
    session.define(Definition::CreateTable(schema.clone())).await?;
    let filled = match rows_of(session, answer).await {
        Ok(rows) => fill_and_show(session, schema, rows).await,
        Err(error) => Err(error),
    };
    if filled.is_err() {
        session.take_back(Definition::DropTable(id)).await?;
    }
    filled.map(|count| format!("SELECT {count}"))
}

/// The query's rows as those of an INSERT, which takes long where they are many.
async fn rows_of(session: &Session, answer: Answer) -> Result<Vec<Vec<InsertSource>>> {
    long(session.limits().clone(), move || insert_rows(&answer)).await?
}

fn insert_rows(answer: &Answer) -> Result<Vec<Vec<InsertSource>>> {
    let width = answer.output.len();
    let mut rows = Vec::with_capacity(answer.rows());
    for part in &answer.parts {
        for row in 0..part.rows() {
            check_at(row)?;
            let values = (0..width).map(|column| part.cell(row, column).to_owned());
            rows.push(values.map(|value| InsertSource::Scalar(Scalar::Literal(value))).collect());
        }
    }
    Ok(rows)
}

/// Gives the number of rows.
async fn fill_and_show(
    session: &mut Session,
    schema: TableSchema,
    rows: Vec<Vec<InsertSource>>,
) -> Result<usize> {
    let count = rows.len();
    if !rows.is_empty() {
        let plan = Arc::new(WritePlan {
            action: WriteAction::Insert(InsertPlan {
                table: schema.id,
                rows,
                on_conflict: None,
                rules: RowRules::default(),
            }),
            returning: Vec::new(),
            output: Arc::new([]),
            parameters: Vec::new(),
            text: "CREATE TABLE AS".into(),
        });
        session.write(&plan, schema.id, Vec::new()).await?;
    }
    if *schema.schema != *PUBLIC {
        let shown = TableSchema { schema: PUBLIC.into(), ..schema };
        session.define(Definition::AlterTable(shown)).await?;
    }
    Ok(count)
}
