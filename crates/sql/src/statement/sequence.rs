//! CREATE, ALTER and DROP SEQUENCE, and the functions that read and advance one.

use datafusion::sql::sqlparser::ast::{self, Expr, SequenceOptions};
use engine::types::{
    ColumnId, DataType, Definition, Error, Result, SequenceId, SequenceSchema, SqlState, TableId,
};

use super::constraint::unsupported;
use super::data_type::data_type;
use super::naming::{in_public, split, undefined_column};
use crate::catalog::Catalog;
use crate::session::Session;

/// A sequence's options, as far as given.
#[derive(Clone, Debug)]
pub struct SequenceDraft {
    limits: (i64, i64),
    increment: i64,
    min: Option<i64>,
    max: Option<i64>,
    start: Option<i64>,
    cycle: bool,
}

impl SequenceDraft {
    /// The options of a sequence whose values are of an integer type.
    pub fn for_type(data_type: DataType) -> SequenceDraft {
        let limits = limits(data_type);
        SequenceDraft { limits, increment: 1, min: None, max: None, start: None, cycle: false }
    }

    /// Takes what the statement says.
    pub fn apply(&mut self, options: &[SequenceOptions]) -> Result<()> {
        for option in options {
            match option {
                SequenceOptions::IncrementBy(expr, _) => self.increment = integer(expr)?,
                SequenceOptions::MinValue(value) => self.min = optional(value.as_ref())?,
                SequenceOptions::MaxValue(value) => self.max = optional(value.as_ref())?,
                SequenceOptions::StartWith(expr, _) => self.start = Some(integer(expr)?),
                SequenceOptions::Cache(expr) if integer(expr)? < 1 => {
                    let message = format!("CACHE ({expr}) must be greater than zero");
                    return Err(invalid(message));
                }
                SequenceOptions::Cache(_) => {}
                SequenceOptions::Cycle(no) => self.cycle = !no,
            }
        }
        Ok(())
    }

    /// The definition, checked.
    pub fn build(
        &self,
        id: SequenceId,
        name: &str,
        owner: Option<(TableId, ColumnId)>,
    ) -> Result<SequenceSchema> {
        let ascending = self.increment >= 0;
        let min = self.min.unwrap_or(if ascending { 1 } else { self.limits.0 });
        let max = self.max.unwrap_or(if ascending { self.limits.1 } else { -1 });
        let start = self.start.unwrap_or(if ascending { min } else { max });
        let (increment, cycle) = (self.increment, self.cycle);
        let name = name.into();
        let built = SequenceSchema { id, name, start, increment, min, max, cycle, owner };
        check(&built, self.limits).map(|()| built)
    }
}

/// 22023 for bounds that leave nothing, or leave the start outside.
fn check(sequence: &SequenceSchema, limits: (i64, i64)) -> Result<()> {
    let SequenceSchema { start, increment, min, max, .. } = *sequence;
    if increment == 0 {
        return Err(invalid("INCREMENT must not be zero"));
    }
    for (word, value) in [("MAXVALUE", max), ("MINVALUE", min)] {
        if !(limits.0..=limits.1).contains(&value) {
            let named = type_of(limits);
            return Err(invalid(format!(
                "{word} ({value}) is out of range for sequence data type {named}"
            )));
        }
    }
    if min >= max {
        return Err(invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
    }
    if start < min {
        return Err(invalid(format!("START value ({start}) cannot be less than MINVALUE ({min})")));
    }
    if start > max {
        return Err(invalid(format!(
            "START value ({start}) cannot be greater than MAXVALUE ({max})"
        )));
    }
    Ok(())
}

/// What a sequence becomes by options that leave the others as they are.
pub fn altered(found: &SequenceSchema, options: &[SequenceOptions]) -> Result<SequenceSchema> {
    let mut draft = SequenceDraft {
        increment: found.increment,
        min: Some(found.min),
        max: Some(found.max),
        start: Some(found.start),
        cycle: found.cycle,
        ..SequenceDraft::for_type(DataType::BigInt)
    };
    draft.apply(options)?;
    draft.build(found.id, &found.name, found.owner)
}

/// A sequence that stands outside its bounds.
pub fn outside(sequence: &SequenceSchema, last: i64) -> Option<Error> {
    let SequenceSchema { min, max, .. } = sequence;
    let message = match last {
        last if last > *max => {
            format!("RESTART value ({last}) cannot be greater than MAXVALUE ({max})")
        }
        last if last < *min => {
            format!("RESTART value ({last}) cannot be less than MINVALUE ({min})")
        }
        _ => return None,
    };
    Some(invalid(message))
}

/// The integer type of these limits.
fn type_of(found: (i64, i64)) -> DataType {
    let types = [DataType::SmallInt, DataType::Integer];
    types.into_iter().find(|known| limits(*known) == found).unwrap_or(DataType::BigInt)
}

/// The smallest and the largest value of an integer type.
pub fn limits(data_type: DataType) -> (i64, i64) {
    match data_type {
        DataType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        DataType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

fn optional(value: Option<&Expr>) -> Result<Option<i64>> {
    value.map(integer).transpose()
}

fn integer(expr: &Expr) -> Result<i64> {
    let text = expr.to_string().replace(' ', "");
    text.trim_start_matches('+').parse().map_err(|_| {
        Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{text}\""))
    })
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// Names of collations that order by bytes, which is the only order here.
pub fn accept_collation(name: &ast::ObjectName) -> Result<()> {
    let name = name.to_string();
    let bare = name.rsplit('.').next().unwrap_or(&name).trim_matches('"');
    if ["c", "posix", "default", "ucs_basic"].iter().any(|known| bare.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    Err(unsupported(&format!("collation {name}")))
}

/// CREATE SEQUENCE, taken apart.
pub struct CreateSequence<'a> {
    /// Its name.
    pub name: &'a ast::ObjectName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// AS type
    pub data_type: Option<&'a ast::DataType>,
    /// The rest.
    pub options: &'a [SequenceOptions],
    /// OWNED BY table.column
    pub owned_by: Option<&'a ast::ObjectName>,
}

/// Runs CREATE SEQUENCE.
pub async fn create_sequence(
    session: &mut Session,
    statement: CreateSequence<'_>,
) -> Result<String> {
    let name = in_public(statement.name)?;
    let values = match statement.data_type {
        Some(named) => data_type(named)?,
        None => DataType::BigInt,
    };
    if !matches!(values, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
        return Err(invalid("sequence type must be smallint, integer, or bigint"));
    }
    let mut draft = SequenceDraft::for_type(values);
    draft.apply(statement.options)?;
    let database = session.database().clone();
    let _defining = session.define_alone().await?;
    let catalog = session.catalog();
    if catalog.has_relation(&name) {
        return session.exists(&name, statement.if_not_exists).map(|()| "CREATE SEQUENCE".into());
    }
    let owner = match statement.owned_by {
        Some(column) => owner(&catalog, column)?,
        None => None,
    };
    let sequence = draft.build(database.ids.sequence(&catalog), &name, owner)?;
    session.define(Definition::CreateSequence(sequence)).await?;
    Ok("CREATE SEQUENCE".to_owned())
}

/// `table.column`, or `NONE`.
fn owner(catalog: &Catalog, name: &ast::ObjectName) -> Result<Option<(TableId, ColumnId)>> {
    let (table, column) = split(name)?;
    let Some(table) = table else { return Ok(None) };
    let schema =
        catalog.table(None, &table).ok_or_else(|| super::naming::undefined_table(&table))?;
    let (id, _) = schema.column(&column).ok_or_else(|| undefined_column(&table, &column))?;
    Ok(Some((schema.id, id)))
}
