//! CREATE TABLE.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, ColumnOption, Expr};
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, DataType, Definition, Error, Result, SequenceSchema,
    SqlState, TableSchema, Value,
};

use super::constraint::{Draft, of_column, unsupported};
use super::data_type::{ColumnType, column_type};
use super::expression;
use super::naming::{choose, duplicate_relation, fold, in_public, table};
use super::sequence::{self, SequenceDraft};
use crate::session::Session;

/// Columns that a table may have.
const COLUMN_LIMIT: usize = 1600;

/// Runs CREATE TABLE.
pub async fn create_table(session: &mut Session, statement: &ast::CreateTable) -> Result<String> {
    if statement.query.is_some() {
        return super::create_table_as::create_table_as(session, statement).await;
    }
    let name = in_public(&statement.name)?;
    for parent in statement.inherits.iter().flatten() {
        table(&session.catalog(), parent)?;
    }
    refuse_options(statement)?;
    let _defining = session.define_alone().await?;
    if session.catalog().has_relation(&name) {
        return session.exists(&name, statement.if_not_exists).map(|()| "CREATE TABLE".into());
    }
    let built = build(session, &name, statement)?;
    define(session, built).await?;
    Ok("CREATE TABLE".to_owned())
}

/// A table and the sequences of its serial and identity columns.
pub struct Built {
    /// The table.
    pub table: TableSchema,
    /// Its sequences, to be created before.
    pub sequences: Vec<SequenceSchema>,
}

/// Creates sequences and table; where the table fails, the sequences go again.
pub async fn define(session: &mut Session, built: Built) -> Result<()> {
    let ids: Vec<_> = built.sequences.iter().map(|sequence| sequence.id).collect();
    for sequence in built.sequences {
        session.define(Definition::CreateSequence(sequence)).await?;
    }
    let created = session.define(Definition::CreateTable(built.table)).await;
    if created.is_err() {
        for id in ids {
            session.take_back(Definition::DropSequence(id)).await?;
        }
    }
    created
}

fn refuse_options(statement: &ast::CreateTable) -> Result<()> {
    let refused = [
        (statement.temporary, "CREATE TEMPORARY TABLE"),
        (statement.external, "CREATE EXTERNAL TABLE"),
        (statement.inherits.is_some(), "INHERITS"),
        (statement.partition_by.is_some() || statement.partition_of.is_some(), "PARTITION"),
        (statement.like.is_some(), "CREATE TABLE LIKE"),
        (statement.or_replace, "CREATE OR REPLACE TABLE"),
    ];
    match refused.iter().find(|(is, _)| *is) {
        Some((_, what)) => Err(unsupported(what)),
        None => Ok(()),
    }
}

fn build(session: &Session, name: &str, statement: &ast::CreateTable) -> Result<Built> {
    let database = session.database();
    let catalog = session.catalog();
    let schema = TableSchema {
        id: database.ids.table(&catalog),
        schema: "public".into(),
        name: name.into(),
        columns: Vec::new(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let mut draft = Draft { schema, catalog: &catalog, ids: &database.ids };
    let mut sequences = Vec::new();
    for column in &statement.columns {
        add_column(session, &mut draft, column, &mut sequences)?;
    }
    // Keys first: a foreign key may refer to the table itself.
    for foreign in [false, true] {
        for column in &statement.columns {
            let options = column.options.iter();
            let is_foreign = |option: &ColumnOption| matches!(option, ColumnOption::ForeignKey(_));
            for option in options.filter(|option| is_foreign(&option.option) == foreign) {
                add_column_constraint(&mut draft, column, option)?;
            }
        }
        let is_foreign =
            |c: &&ast::TableConstraint| matches!(c, ast::TableConstraint::ForeignKey(_));
        for constraint in statement.constraints.iter().filter(|c| is_foreign(c) == foreign) {
            draft.add(constraint, None)?;
        }
    }
    expression::validate_rules(&database.planner, &catalog, &draft.schema)?;
    Ok(Built { table: draft.schema, sequences })
}

/// Adds the constraint that a column definition carries.
pub fn add_column_constraint(
    draft: &mut Draft<'_>,
    column: &ast::ColumnDef,
    option: &ast::ColumnOptionDef,
) -> Result<()> {
    match of_column(&option.option, &column.name) {
        Some(mut constraint) => {
            name_constraint(&mut constraint, option.name.as_ref());
            draft.add(&constraint, Some(&column.name))
        }
        None => Ok(()),
    }
}

fn name_constraint(constraint: &mut ast::TableConstraint, name: Option<&ast::Ident>) {
    let slot = match constraint {
        ast::TableConstraint::PrimaryKey(c) => &mut c.name,
        ast::TableConstraint::Unique(c) => &mut c.name,
        ast::TableConstraint::ForeignKey(c) => &mut c.name,
        ast::TableConstraint::Check(c) => &mut c.name,
        _ => return,
    };
    if name.is_some() {
        *slot = name.cloned();
    }
}

/// Adds a column without its constraints; the sequence of a serial or identity column goes to
/// `sequences`.
pub fn add_column(
    session: &Session,
    draft: &mut Draft<'_>,
    column: &ast::ColumnDef,
    sequences: &mut Vec<SequenceSchema>,
) -> Result<ColumnId> {
    let name = fold(&column.name);
    if draft.schema.column(&name).is_some() {
        let message = format!("column \"{name}\" specified more than once");
        return Err(Error::new(SqlState::DuplicateColumn, message));
    }
    if SYSTEM_COLUMNS.contains(&&*name) {
        let message = format!("column name \"{name}\" conflicts with a system column name");
        return Err(Error::new(SqlState::DuplicateColumn, message));
    }
    if draft.schema.columns.len() >= COLUMN_LIMIT {
        let message = format!("tables can have at most {COLUMN_LIMIT} columns");
        return Err(Error::new(SqlState::TooManyColumns, message));
    }
    let declared = column_type(&column.data_type)?;
    let (ColumnType::Plain(data_type) | ColumnType::Serial(data_type)) = declared;
    let id = ColumnId(draft.schema.columns.len() as u32);
    draft.schema.columns.push(ColumnSchema {
        name: name.as_str().into(),
        data_type,
        not_null: matches!(declared, ColumnType::Serial(_)),
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    });
    if matches!(declared, ColumnType::Serial(_)) {
        let options = SequenceDraft::for_type(data_type);
        own_sequence(session, draft, id, options, sequences, Identity::No)?;
    }
    refuse_conflicts(column, &draft.schema.name, matches!(declared, ColumnType::Serial(_)))?;
    for option in &column.options {
        apply_option(session, draft, id, &option.option, sequences)?;
    }
    Ok(id)
}

/// 42601 for a column that is declared in two ways.
fn refuse_conflicts(column: &ast::ColumnDef, table: &str, serial: bool) -> Result<()> {
    let has = |wanted: &dyn Fn(&ColumnOption) -> bool| {
        column.options.iter().filter(|option| wanted(&option.option)).count()
    };
    let defaults = has(&|option| matches!(option, ColumnOption::Default(_))) + usize::from(serial);
    let is_identity = |option: &ColumnOption| match option {
        ColumnOption::Generated { generation_expr, .. } => Some(generation_expr.is_none()),
        _ => None,
    };
    let identities = has(&|option| is_identity(option) == Some(true));
    let generated = has(&|option| is_identity(option) == Some(false));
    let nullable = has(&|option| matches!(option, ColumnOption::Null)) > 0;
    let filled = has(&|option| matches!(option, ColumnOption::NotNull)) > 0;
    let name = fold(&column.name);
    let place = format!("for column \"{name}\" of table \"{table}\"");
    let message = match () {
        () if nullable && (filled || serial) => {
            format!("conflicting NULL/NOT NULL declarations {place}")
        }
        () if defaults > 1 => format!("multiple default values specified {place}"),
        () if identities > 1 => format!("multiple identity specifications {place}"),
        () if generated > 1 => format!("multiple generation clauses specified {place}"),
        () if defaults == 1 && identities == 1 => {
            format!("both default and identity specified {place}")
        }
        () if defaults == 1 && generated == 1 => {
            format!("both default and generation expression specified {place}")
        }
        () if identities == 1 && generated == 1 => {
            format!("both identity and generation expression specified {place}")
        }
        () => return Ok(()),
    };
    Err(Error::new(SqlState::SyntaxError, message))
}

/// Names of columns that every table of PostgreSQL has.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

#[derive(Clone, Copy, PartialEq)]
enum Identity {
    No,
    ByDefault,
    Always,
}

fn own_sequence(
    session: &Session,
    draft: &mut Draft<'_>,
    column: ColumnId,
    options: SequenceDraft,
    sequences: &mut Vec<SequenceSchema>,
    identity: Identity,
) -> Result<()> {
    let table = draft.schema.name.clone();
    let column_name = draft.schema.columns[column.index()].name.clone();
    let taken =
        |name: &str| draft.catalog.has_relation(name) || sequences.iter().any(|s| &*s.name == name);
    let name = choose(&[&table, &column_name], "seq", taken);
    let id = session.database().ids.sequence(draft.catalog);
    sequences.push(options.build(id, &name, Some((draft.schema.id, column)))?);
    let slot = &mut draft.schema.columns[column.index()];
    slot.not_null = true;
    slot.default = ColumnDefault::Sequence {
        id,
        always: identity == Identity::Always,
        identity: identity != Identity::No,
    };
    Ok(())
}

/// Makes a column an identity column.
pub fn identity(
    session: &Session,
    draft: &mut Draft<'_>,
    id: ColumnId,
    always: bool,
    options: &[ast::SequenceOptions],
    sequences: &mut Vec<SequenceSchema>,
) -> Result<()> {
    let data_type = draft.schema.columns[id.index()].data_type;
    if !matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
        let message = "identity column type must be smallint, integer, or bigint";
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    let mut sequence = SequenceDraft::for_type(data_type);
    sequence.apply(options)?;
    let identity = if always { Identity::Always } else { Identity::ByDefault };
    own_sequence(session, draft, id, sequence, sequences, identity)
}

fn apply_option(
    session: &Session,
    draft: &mut Draft<'_>,
    id: ColumnId,
    option: &ColumnOption,
    sequences: &mut Vec<SequenceSchema>,
) -> Result<()> {
    let column = &mut draft.schema.columns[id.index()];
    match option {
        ColumnOption::Null => {}
        ColumnOption::NotNull => column.not_null = true,
        ColumnOption::Default(expr) => {
            let database = session.database();
            let data_type = column.data_type;
            column.default =
                expression::default(&database.planner, draft.catalog, expr, data_type)?;
        }
        ColumnOption::Generated { generated_as, sequence_options, generation_expr, .. } => {
            if let Some(expr) = generation_expr {
                column.default = ColumnDefault::Generated(expr.to_string().into());
                return Ok(());
            }
            let always = matches!(generated_as, ast::GeneratedAs::Always);
            let options = sequence_options.as_deref().unwrap_or_default();
            identity(session, draft, id, always, options, sequences)?;
        }
        ColumnOption::PrimaryKey(_)
        | ColumnOption::Unique(_)
        | ColumnOption::ForeignKey(_)
        | ColumnOption::Check(_)
        | ColumnOption::Comment(_) => {}
        ColumnOption::Collation(name) => sequence::accept_collation(name)?,
        other => return Err(unsupported(&format!("the column option {other}"))),
    }
    Ok(())
}

impl Session {
    /// What CREATE ... does where the name is taken: 42P07, or with IF NOT EXISTS a notice.
    pub(crate) fn exists(&mut self, name: &str, if_not_exists: bool) -> Result<()> {
        if !if_not_exists {
            return Err(duplicate_relation(name));
        }
        let message = format!("relation \"{name}\" already exists, skipping");
        self.notice(Error::new(SqlState::DuplicateTable, message));
        Ok(())
    }
}

/// A plain column, as CREATE TABLE AS makes them.
pub fn plain_column(name: &str, data_type: DataType) -> ColumnSchema {
    ColumnSchema {
        name: Arc::from(name),
        data_type,
        not_null: false,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    }
}

/// Whether an expression is `nextval('name')`, and the name.
pub fn nextval_argument(expr: &Expr) -> Option<String> {
    let Expr::Function(function) = expr else { return None };
    let name = function.name.0.last()?.as_ident()?;
    if !name.value.eq_ignore_ascii_case("nextval") {
        return None;
    }
    text_constant(only_argument(function)?)
}

fn only_argument(function: &ast::Function) -> Option<&Expr> {
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument))] => Some(argument),
        _ => None,
    }
}

/// A string constant, also one cast to `regclass` or `text`.
pub fn text_constant(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        Expr::Cast { expr, .. } | Expr::Nested(expr) => text_constant(expr),
        // What the dialect makes of a cast to `regclass`.
        Expr::Function(call) if call.name.to_string() == "__regclass" => {
            text_constant(only_argument(call)?)
        }
        _ => None,
    }
}
