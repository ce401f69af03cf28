//! ALTER TABLE.

use datafusion::sql::sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation as Operation, DropBehavior, Ident,
    RenameTableNameKind, TableConstraint,
};
use engine::heartbeat::Answer;
use engine::types::{
    ColumnDefault, ColumnId, Definition, Error, ForeignKey, Result, SqlState, TableId, TableSchema,
    Value,
};

use super::alter_type::literal;
use super::constraint::{Draft, unsupported};
use super::create_table::{add_column, add_column_constraint};
use super::drop::dependents;
use super::naming::{duplicate_relation, fold, in_public, table, undefined_column};
use super::{alter_type, expression, foreign_key, generated, view};
use crate::catalog::Catalog;
use crate::session::Session;
use std::sync::Arc;

/// Runs ALTER TABLE, one operation after the other.
pub async fn alter_table(session: &mut Session, statement: &ast::AlterTable) -> Result<String> {
    let _defining = session.define_alone().await?;
    let catalog = session.catalog();
    if statement.if_exists && catalog.table(None, &in_public(&statement.name)?).is_none() {
        let message = format!("relation \"{}\" does not exist, skipping", statement.name);
        session.notice(Error::new(SqlState::SuccessfulCompletion, message));
        return Ok("ALTER TABLE".to_owned());
    }
    let mut id = table(&catalog, &statement.name)?.id;
    let mut changes = alter_type::changes(&statement.operations);
    for operation in &statement.operations {
        let catalog = session.catalog();
        let Some(schema) = catalog.table_by_id(id) else {
            unreachable!("definitions change one after another");
        };
        if !alter_type::is_change(operation) {
            id = alter(session, &catalog, schema, operation).await?;
        } else if !changes.is_empty() {
            // The first of them makes them all.
            id =
                alter_type::alter(session, &catalog, schema, &std::mem::take(&mut changes)).await?;
        }
    }
    Ok("ALTER TABLE".to_owned())
}

/// Gives the table's id from now on.
async fn alter(
    session: &mut Session,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
    operation: &Operation,
) -> Result<TableId> {
    let done = match operation {
        Operation::AddConstraint { constraint, not_valid: false } => {
            add_constraint(session, catalog, table, constraint).await
        }
        Operation::AddColumn { if_not_exists, column_def, .. } => {
            if *if_not_exists && table.column(&fold(&column_def.name)).is_some() {
                let message = format!(
                    "column \"{}\" of relation \"{}\" already exists, skipping",
                    fold(&column_def.name),
                    table.name
                );
                session.notice(Error::new(SqlState::DuplicateColumn, message));
                return Ok(table.id);
            }
            return add(session, catalog, table, column_def).await;
        }
        Operation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
            for name in column_names {
                drop_column(session, name, *if_exists, drop_behavior.as_ref(), table.id).await?;
            }
            Ok(())
        }
        Operation::DropConstraint { if_exists, name, drop_behavior } => {
            drop_constraint(session, catalog, table, name, *if_exists, drop_behavior.as_ref()).await
        }
        Operation::RenameColumn { old_column_name, new_column_name } => {
            rename_column(session, catalog, table, old_column_name, new_column_name).await
        }
        Operation::RenameTable { table_name } => {
            let (RenameTableNameKind::As(name) | RenameTableNameKind::To(name)) = table_name;
            rename_table(session, catalog, table, &in_public(name)?).await
        }
        Operation::RenameConstraint { old_name, new_name } => {
            rename_constraint(session, table, &fold(old_name), &fold(new_name)).await
        }
        Operation::AlterColumn { column_name, op } => {
            alter_column(session, table, column_name, op).await
        }
        Operation::OwnerTo { .. } => Err(unsupported("ALTER TABLE ... OWNER TO beside others")),
        other => Err(unsupported(&format!("ALTER TABLE {other}"))),
    };
    done.map(|()| table.id)
}

/// A column of that name.
pub fn column(table: &TableSchema, name: &Ident) -> Result<ColumnId> {
    let name = fold(name);
    let found = table.column(&name).map(|(id, _)| id);
    found.ok_or_else(|| undefined_column(&table.name, &name))
}

fn is_cascade(behavior: Option<&DropBehavior>) -> bool {
    matches!(behavior, Some(DropBehavior::Cascade))
}

async fn add_constraint(
    session: &mut Session,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
    constraint: &TableConstraint,
) -> Result<()> {
    let database = session.database().clone();
    // What operations before it have done is not taken back.
    let is_first = !session.has_defined();
    let mut draft = Draft { schema: table.clone(), catalog, ids: &database.ids };
    draft.add(constraint, None)?;
    let mut changed = draft.schema;
    expression::validate_rules(&database.planner, &session.catalog(), &changed)?;
    check_rows(session, table, &changed).await?;
    let added: Vec<_> = changed.indexes.split_off(table.indexes.len());
    if changed != *table {
        session.define(Definition::AlterTable(changed)).await?;
    }
    for index in added {
        let definition = Definition::CreateIndex { table: table.id, index };
        let created = match is_first {
            true => session.define_index(definition).await,
            false => session.define(definition).await,
        };
        if created.is_err() {
            // NOT NULL came with the primary key: it goes with it.
            session.take_back(Definition::AlterTable(table.clone())).await?;
        }
        created?;
    }
    Ok(())
}

/// Rows that are there must keep new rules: 23502, 23514, 23503.
async fn check_rows(session: &mut Session, old: &TableSchema, new: &TableSchema) -> Result<()> {
    for (id, column) in new.live_columns() {
        if column.not_null && !old.columns.get(id.index()).is_some_and(|c| c.not_null) {
            let name = &column.name;
            let text =
                format!("SELECT 1 FROM {} WHERE {} IS NULL LIMIT 1", quote(&old.name), quote(name));
            if has_rows(session, &text).await? {
                let message =
                    format!("column \"{name}\" of relation \"{}\" contains null values", old.name);
                return Err(
                    Error::new(SqlState::NotNullViolation, message).column(&*old.name, &**name)
                );
            }
        }
    }
    for check in new.checks.iter().filter(|check| !old.checks.contains(check)) {
        let text =
            format!("SELECT 1 FROM {} WHERE NOT ({}) LIMIT 1", quote(&old.name), check.expression);
        if has_rows(session, &text).await? {
            return Err(violated(&old.name, &check.name));
        }
    }
    for key in new.foreign_keys.iter().filter(|key| !old.foreign_keys.contains(key)) {
        check_parents(session, old, new, key).await?;
    }
    Ok(())
}

/// 23503 where a row refers to nothing.
async fn check_parents(
    session: &mut Session,
    old: &TableSchema,
    new: &TableSchema,
    key: &ForeignKey,
) -> Result<()> {
    let catalog = session.catalog();
    let parent = catalog.table_by_id(key.parent).map_or(old, |parent| parent);
    let own = |column: &ColumnId| format!("child__.{}", quote(&new.columns[column.index()].name));
    let columns: Vec<String> = key.columns.iter().map(own).collect();
    let filled: Vec<String> = columns.iter().map(|own| format!("{own} IS NOT NULL")).collect();
    let pairs = columns.iter().zip(&key.parent_columns).map(|(own, other)| {
        format!("parent__.{} = {own}", quote(&parent.columns[other.index()].name))
    });
    let text = format!(
        "SELECT {} FROM {} AS child__ WHERE ({}) AND NOT EXISTS \
         (SELECT 1 FROM {} AS parent__ WHERE {}) LIMIT 1",
        columns.join(", "),
        quote(&old.name),
        filled.join(if key.is_full { " OR " } else { " AND " }),
        quote(&parent.name),
        pairs.collect::<Vec<_>>().join(" AND ")
    );
    let found = answer(session, &text).await?;
    match found.parts.iter().find(|part| part.rows() > 0) {
        Some(part) => Err(foreign_key::violated((new, key), parent, part)),
        None => Ok(()),
    }
}

fn quote(name: &str) -> String {
    super::returning::quoted(name).to_string()
}

async fn has_rows(session: &mut Session, text: &str) -> Result<bool> {
    Ok(answer(session, text).await?.rows() > 0)
}

async fn answer(session: &mut Session, text: &str) -> Result<Answer> {
    let mut statements = crate::template::parse(text)?;
    let ast::Statement::Query(query) = statements.remove(0) else {
        unreachable!("the text is a query");
    };
    let template = session.query_template(&query).await?;
    session.read_all(&template, Vec::new()).await
}

async fn add(
    session: &mut Session,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
    definition: &ast::ColumnDef,
) -> Result<TableId> {
    let name = fold(&definition.name);
    if table.column(&name).is_some() {
        let message = format!("column \"{name}\" of relation \"{}\" already exists", table.name);
        return Err(Error::new(SqlState::DuplicateColumn, message));
    }
    let database = session.database().clone();
    let mut draft = Draft { schema: table.clone(), catalog, ids: &database.ids };
    let mut sequences = Vec::new();
    let id = add_column(session, &mut draft, definition, &mut sequences)?;
    for option in &definition.options {
        add_column_constraint(&mut draft, definition, option)?;
    }
    let mut changed = draft.schema;
    let stored = database.engine().store().table(table.id);
    let has_rows = stored.is_some_and(|stored| stored.live_rows() > 0);
    let column = &mut changed.columns[id.index()];
    match &column.default {
        ColumnDefault::Constant(value) => column.missing = value.clone(),
        ColumnDefault::Expression(text) => {
            let expr = expression::at_time(text, session.started())?;
            let scope_catalog = session.catalog();
            let scope = database.planner.scope(&scope_catalog, &[])?;
            column.missing = scope.constant(&expr, Some(column.data_type))?;
        }
        ColumnDefault::Sequence { .. } if has_rows => {
            return Err(unsupported("adding a serial or identity column to a table with rows"));
        }
        _ => {}
    }
    let is_generated = generated::is_generated(column);
    if column.not_null && column.missing.is_null() && has_rows && !is_generated {
        let message =
            format!("column \"{name}\" of relation \"{}\" contains null values", table.name);
        return Err(Error::new(SqlState::NotNullViolation, message).column(&*table.name, name));
    }
    let added: Vec<_> = changed.indexes.split_off(table.indexes.len());
    expression::validate_rules(&database.planner, &session.catalog(), &changed)?;
    if is_generated {
        let table = alter_type::add_generated(session, catalog, table, changed, id).await?;
        for index in added {
            session.define(Definition::CreateIndex { table, index }).await?;
        }
        return Ok(table);
    }
    check_added(session, table, &changed, id).await?;
    for sequence in sequences {
        session.define(Definition::CreateSequence(sequence)).await?;
    }
    session.define(Definition::AlterTable(changed)).await?;
    for index in added {
        session.define(Definition::CreateIndex { table: table.id, index }).await?;
    }
    Ok(table.id)
}

/// Rows that are there must keep the CHECK constraints of a new column, with the value that they have in it.
async fn check_added(
    session: &mut Session,
    old: &TableSchema,
    new: &TableSchema,
    id: ColumnId,
) -> Result<()> {
    let column = &new.columns[id.index()];
    if column.missing.is_null() {
        return Ok(());
    }
    let (table, name) = (quote(&old.name), quote(&column.name));
    let value = literal(&column.missing, column.data_type);
    for check in new.checks.iter().skip(old.checks.len()) {
        let text = format!(
            "SELECT 1 FROM (SELECT *, {value} AS {name} FROM {table}) AS {table} WHERE NOT ({}) \
             LIMIT 1",
            check.expression
        );
        if has_rows(session, &text).await? {
            return Err(violated(&old.name, &check.name));
        }
    }
    Ok(())
}

/// 23514 for rows that are there.
fn violated(table: &str, check: &str) -> Error {
    let message =
        format!("check constraint \"{check}\" of relation \"{table}\" is violated by some row");
    Error::new(SqlState::CheckViolation, message).constraint(table, check)
}

async fn drop_column(
    session: &mut Session,
    name: &Ident,
    if_exists: bool,
    behavior: Option<&DropBehavior>,
    table: engine::types::TableId,
) -> Result<()> {
    let catalog = session.catalog();
    let Some(table) = catalog.table_by_id(table) else { return Ok(()) };
    let folded = fold(name);
    let id = match column(table, name) {
        Ok(id) => id,
        Err(_) if if_exists => {
            let message = format!(
                "column \"{folded}\" of relation \"{}\" does not exist, skipping",
                table.name
            );
            session.notice(Error::new(SqlState::SuccessfulCompletion, message));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let cascade = is_cascade(behavior);
    let mut details = Vec::new();
    for other in catalog.tables() {
        let keys = other.foreign_keys.iter();
        let keys = keys.filter(|key| key.parent == table.id && key.parent_columns.contains(&id));
        details.extend(keys.map(|key| {
            format!("constraint {} on table {} depends on column {folded}", key.name, other.name)
        }));
    }
    details.extend(generated::reader(table, id).map(|reader| {
        let (table, reader) = (&table.name, &reader.name);
        format!("column {reader} of table {table} depends on column {folded} of table {table}")
    }));
    details.extend(
        view::depending_on(&catalog, &table.name).into_iter().map(|view| {
            format!("view {view} may depend on column {folded} of table {}", table.name)
        }),
    );
    if !details.is_empty() {
        if cascade {
            return Err(unsupported("DROP COLUMN ... CASCADE on a column that others depend on"));
        }
        return Err(dependents(&format!("column {folded} of table {}", table.name), &details));
    }
    for index in table.indexes.iter().filter(|index| index.columns.contains(&id)) {
        session.define(Definition::DropIndex { table: table.id, index: index.id }).await?;
    }
    let catalog = session.catalog();
    let Some(table) = catalog.table_by_id(table.id) else { return Ok(()) };
    let mut changed = TableSchema::clone(table);
    let ids = &session.database().ids;
    let draft = Draft { schema: changed.clone(), catalog: &catalog, ids };
    let mentions =
        |text: &str| expression::parse(text).is_ok_and(|expr| draft.mentioned(&expr).contains(&id));
    changed.checks.retain(|check| !mentions(&check.expression));
    changed.foreign_keys.retain(|key| !key.columns.contains(&id));
    let column = &mut changed.columns[id.index()];
    let owned = match column.default {
        ColumnDefault::Sequence { id: sequence, .. } => Some(sequence),
        _ => None,
    };
    column.dropped = true;
    column.not_null = false;
    column.default = ColumnDefault::None;
    column.missing = Value::Null;
    let table = table.id;
    session.define(Definition::AlterTable(changed)).await?;
    let catalog = session.catalog();
    let is_owned = |sequence: &&std::sync::Arc<engine::types::SequenceSchema>| {
        Some(sequence.id) == owned && sequence.owner == Some((table, id))
    };
    if let Some(sequence) = catalog.sequences().into_iter().find(is_owned) {
        session.define(Definition::DropSequence(sequence.id)).await?;
    }
    Ok(())
}

async fn drop_constraint(
    session: &mut Session,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
    name: &Ident,
    if_exists: bool,
    behavior: Option<&DropBehavior>,
) -> Result<()> {
    let name = fold(name);
    let mut changed = table.clone();
    changed.checks.retain(|check| *check.name != *name);
    changed.foreign_keys.retain(|key| *key.name != *name);
    if changed != *table {
        return session.define(Definition::AlterTable(changed)).await;
    }
    let carries = |index: &&engine::types::IndexSchema| index.constraint && *index.name == *name;
    let Some(index) = table.indexes.iter().find(carries) else {
        let message =
            format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
        if if_exists {
            let message = format!("{message}, skipping");
            session.notice(Error::new(SqlState::SuccessfulCompletion, message));
            return Ok(());
        }
        return Err(Error::new(SqlState::UndefinedObject, message));
    };
    let mut keyed = index.columns.clone();
    keyed.sort();
    let (mut referencing, mut details) = (Vec::new(), Vec::new());
    for other in catalog.tables() {
        let uses = |key: &engine::types::ForeignKey| {
            let mut columns = key.parent_columns.clone();
            columns.sort();
            key.parent == table.id && columns == keyed
        };
        details.extend(other.foreign_keys.iter().filter(|key| uses(key)).map(|key| {
            let (key, table) = (&key.name, &other.name);
            format!("constraint {key} on table {table} depends on index {name}")
        }));
        if other.foreign_keys.iter().any(&uses) {
            let mut without = TableSchema::clone(other);
            without.foreign_keys.retain(|key| !uses(key));
            referencing.push(without);
        }
    }
    if !referencing.is_empty() && !is_cascade(behavior) {
        let object = format!("constraint {name} on table {}", table.name);
        return Err(dependents(&object, &details));
    }
    for other in referencing {
        session.define(Definition::AlterTable(other)).await?;
    }
    session.define(Definition::DropIndex { table: table.id, index: index.id }).await
}

async fn rename_column(
    session: &mut Session,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
    old: &Ident,
    new: &Ident,
) -> Result<()> {
    let id = column(table, old)?;
    let name = fold(new);
    if table.column(&name).is_some() {
        let message = format!("column \"{name}\" of relation \"{}\" already exists", table.name);
        return Err(Error::new(SqlState::DuplicateColumn, message));
    }
    let views = view::depending_on(catalog, &table.name);
    if !views.is_empty() {
        return Err(unsupported("renaming a column of a table that a view uses"));
    }
    let mut changed = table.clone();
    for check in &mut changed.checks {
        let renamed = expression::rename(&check.expression, &fold(old), &name)?;
        check.expression = renamed.into();
    }
    for column in &mut changed.columns {
        if let ColumnDefault::Generated(text) = &mut column.default {
            *text = expression::rename(text, &fold(old), &name)?.into();
        }
    }
    changed.columns[id.index()].name = name.into();
    session.define(Definition::AlterTable(changed)).await
}

async fn rename_table(
    session: &mut Session,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
    name: &str,
) -> Result<()> {
    if catalog.has_relation(name) {
        return Err(duplicate_relation(name));
    }
    if !view::depending_on(catalog, &table.name).is_empty() {
        return Err(unsupported("renaming a table that a view uses"));
    }
    let mut changed = table.clone();
    changed.name = name.into();
    session.define(Definition::AlterTable(changed)).await
}

async fn rename_constraint(
    session: &mut Session,
    table: &TableSchema,
    old: &str,
    new: &str,
) -> Result<()> {
    let mut changed = table.clone();
    let checks = changed.checks.iter_mut().map(|check| &mut check.name);
    let keys = changed.foreign_keys.iter_mut().map(|key| &mut key.name);
    match checks.chain(keys).find(|name| ***name == *old) {
        Some(name) => *name = new.into(),
        None if table.indexes.iter().any(|index| *index.name == *old) => {
            return Err(unsupported("renaming a constraint that an index carries"));
        }
        None => {
            let message =
                format!("constraint \"{old}\" for table \"{}\" does not exist", table.name);
            return Err(Error::new(SqlState::UndefinedObject, message));
        }
    }
    session.define(Definition::AlterTable(changed)).await
}

async fn alter_column(
    session: &mut Session,
    table: &TableSchema,
    name: &Ident,
    operation: &AlterColumnOperation,
) -> Result<()> {
    let id = column(table, name)?;
    let mut changed = table.clone();
    let target = &mut changed.columns[id.index()];
    if generated::is_generated(target) {
        refuse_default(table, &target.name, operation)?;
    }
    match operation {
        AlterColumnOperation::SetNotNull => {
            target.not_null = true;
            check_rows(session, table, &changed).await?;
        }
        AlterColumnOperation::DropNotNull => {
            let is_key = |key: &engine::types::IndexSchema| key.columns.contains(&id);
            if table.primary_key().is_some_and(is_key) {
                let message = format!("column \"{}\" is in a primary key", fold(name));
                return Err(Error::new(SqlState::InvalidTableDefinition, message));
            }
            target.not_null = false;
        }
        AlterColumnOperation::SetDefault { value } => {
            let planner = session.database().planner.clone();
            target.default =
                expression::default(&planner, &session.catalog(), value, target.data_type)?;
            foreign_key::refuse_computed_defaults(&changed)?;
        }
        AlterColumnOperation::DropDefault => target.default = ColumnDefault::None,
        AlterColumnOperation::SetDataType { .. } => unreachable!("told apart before"),
        AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
            let always = matches!(generated_as, Some(ast::GeneratedAs::Always));
            let options = sequence_options.as_deref().unwrap_or_default();
            return add_identity(session, table, id, always, options).await;
        }
    }
    session.define(Definition::AlterTable(changed)).await
}

/// 42601 for what gives a generated column a default.
fn refuse_default(
    table: &TableSchema,
    column: &str,
    operation: &AlterColumnOperation,
) -> Result<()> {
    let hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.";
    let message =
        format!("column \"{column}\" of relation \"{}\" is a generated column", table.name);
    let error = Error::new(SqlState::SyntaxError, message);
    match operation {
        AlterColumnOperation::SetDefault { .. } => Err(error),
        AlterColumnOperation::DropDefault => Err(error.hint(hint)),
        _ => Ok(()),
    }
}

/// ALTER COLUMN ... ADD GENERATED ... AS IDENTITY: rows that are there keep their values.
async fn add_identity(
    session: &mut Session,
    table: &TableSchema,
    id: ColumnId,
    always: bool,
    options: &[ast::SequenceOptions],
) -> Result<()> {
    let column = &table.columns[id.index()];
    let place = format!("column \"{}\" of relation \"{}\"", column.name, table.name);
    let refuse =
        |what: &str| Err(Error::new(SqlState::ObjectNotInState, format!("{place} {what}")));
    if !column.not_null {
        return refuse("must be declared NOT NULL before identity can be added");
    }
    match column.default {
        ColumnDefault::None => {}
        ColumnDefault::Sequence { identity: true, .. } => {
            return refuse("is already an identity column");
        }
        _ => return refuse("already has a default value"),
    }
    let (database, catalog) = (session.database().clone(), session.catalog());
    let mut draft = Draft { schema: table.clone(), catalog: &catalog, ids: &database.ids };
    let mut sequences = Vec::new();
    super::create_table::identity(session, &mut draft, id, always, options, &mut sequences)?;
    let changed = draft.schema;
    foreign_key::refuse_computed_defaults(&changed)?;
    for sequence in sequences {
        session.define(Definition::CreateSequence(sequence)).await?;
    }
    session.define(Definition::AlterTable(changed)).await
}
