//! COPY FROM STDIN.

use std::sync::Arc;

use engine::heartbeat::{BulkLoad, Drawn, LoadPlan};
use engine::storage::CHUNK_ROWS;
use engine::types::{
    BlockColumn, ColumnDefault, ColumnId, DataType, Error, Result, RowBlock, SequenceId, SqlState,
    TableSchema, Value, ValueRef,
};

use super::forced::{ForcedFields, exists_in, flags};
use super::lines::{Fields, Line, read};
use super::options::Format;
use crate::session::{CopyIn, Session};
use crate::statement::{assignment, expression};
use crate::text::{fit_string, parse_value, rescale_numeric};

/// Bytes of strings after which a block of rows goes on although it could have more.
const BLOCK_HEAP: usize = 16 << 20;

/// Starts a COPY. Outside a block it is a transaction of its own, so that all its rows come or
/// none.
pub fn start(
    session: &mut Session,
    table: Arc<TableSchema>,
    columns: Vec<ColumnId>,
    format: Format,
) -> Result<Box<dyn CopyIn>> {
    let planner = session.database().planner.clone();
    let rules = expression::rules(&planner, &session.catalog(), &table)?;
    let not_given = (0..table.columns.len()).map(|at| ColumnId(at as u32));
    let not_given = not_given.filter(|column| !columns.contains(column));
    let defaults = not_given.map(|column| Ok((column, default(session, &table, column)?)));
    let defaults = defaults.collect::<Result<Vec<_>>>()?;
    let (name, header) = (table.name.clone(), u64::from(format.header));
    let context = move |row: u64| format!("COPY {name}, line {}", row + 1 + header);
    let context: Option<Box<dyn Fn(u64) -> String + Send + Sync>> = Some(Box::new(context));
    let plan = Arc::new(LoadPlan { table: table.id, rules, context });
    let forced = forced(&table, &columns, &format)?;
    session.refuse_altered_table(&table)?;
    let load = match session.in_block() && !session.writes_at_once(table.id) {
        true => None,
        false => Some(session.database().engine().begin_load(plan.clone())?),
    };
    if load.as_ref().is_some_and(|load| load.schema().columns != table.columns) {
        let message =
            "could not serialize access due to concurrent change of the table's definition";
        return Err(Error::new(SqlState::SerializationFailure, message));
    }
    Ok(Box::new(CopyFrom {
        skip_header: format.header,
        types: columns.iter().map(|id| table.columns[id.index()].data_type).collect(),
        block: RowBlock::new(&table),
        table,
        columns,
        format,
        forced,
        defaults,
        plan,
        load,
        pending: Vec::new(),
        fields: Fields::default(),
        line: 0,
        count: 0,
        drawn: Drawn::default(),
        ended: false,
    }))
}

/// What FORCE_NOT_NULL and FORCE_NULL say of the columns; `None` where there is neither.
fn forced(
    table: &TableSchema,
    columns: &[ColumnId],
    format: &Format,
) -> Result<Option<ForcedFields>> {
    if format.force_not_null.is_empty() && format.force_null.is_empty() {
        return Ok(None);
    }
    let names = columns.iter().map(|id| &*table.columns[id.index()].name);
    let exists = |name: &str| exists_in(table, name);
    Ok(Some(ForcedFields {
        not_null: flags("FORCE_NOT_NULL", &format.force_not_null, names.clone(), exists)?,
        null: flags("FORCE_NULL", &format.force_null, names, exists)?,
        text: String::from_utf8_lossy(&format.null).into_owned(),
    }))
}

/// What a column gets that the client gives no value for.
enum Default {
    Value(Value),
    Next(SequenceId),
}

/// A sequence's value, whatever the column's type.
fn whole(value: &Value) -> i64 {
    match value {
        Value::SmallInt(value) => i64::from(*value),
        Value::Integer(value) => i64::from(*value),
        Value::BigInt(value) => *value,
        other => unreachable!("a sequence gives whole numbers, not {other:?}"),
    }
}

fn default(session: &mut Session, table: &TableSchema, column: ColumnId) -> Result<Default> {
    let column = &table.columns[column.index()];
    let value = match &column.default {
        _ if column.dropped => Value::Null,
        ColumnDefault::Sequence { id, .. } => return Ok(Default::Next(*id)),
        // What is generated the engine fills in.
        ColumnDefault::None | ColumnDefault::Generated(_) => Value::Null,
        ColumnDefault::Constant(value) => value.clone(),
        ColumnDefault::Expression(text) => {
            let text = expression::at_time(text, session.started())?;
            let planner = session.database().planner.clone();
            let catalog = session.catalog();
            planner.scope(&catalog, &[])?.constant(&text, Some(column.data_type))?
        }
    };
    assignment::cast(value, column.data_type).map(Default::Value)
}

struct CopyFrom {
    table: Arc<TableSchema>,
    columns: Vec<ColumnId>,
    types: Vec<DataType>,
    format: Format,
    forced: Option<ForcedFields>,
    defaults: Vec<(ColumnId, Default)>,
    plan: Arc<LoadPlan>,
    /// Outside a block: where the rows go. Inside one they go into its write set.
    load: Option<BulkLoad>,
    skip_header: bool,
    /// Bytes of an unfinished line.
    pending: Vec<u8>,
    fields: Fields,
    block: RowBlock,
    line: u64,
    /// Rows that were handed on.
    count: u64,
    /// What its rows took of sequences since they were handed on last.
    drawn: Drawn,
    /// The client sent `\.`: what follows is ignored.
    ended: bool,
}

impl CopyFrom {
    /// Cuts all complete lines off `input` until a block is full; gives the bytes used.
    fn lines(&mut self, session: &Session, input: &[u8], last: bool) -> Result<usize> {
        let mut used = 0;
        while !self.ended && !self.is_full() {
            let (line, length) = read(&self.format, &input[used..], last, &mut self.fields)
                .map_err(|error| self.in_line(error, None, 1))?;
            used += length;
            match line {
                Line::Incomplete => break,
                Line::End => self.ended = true,
                Line::Row => {
                    let line = &input[used - length..used];
                    self.row(session).map_err(|fault| with_line(fault, line))?;
                }
            }
        }
        Ok(used)
    }

    fn is_full(&self) -> bool {
        self.block.rows() == CHUNK_ROWS || self.block.heap() >= BLOCK_HEAP
    }

    fn row(&mut self, session: &Session) -> Result<()> {
        self.line += 1;
        if std::mem::take(&mut self.skip_header) {
            return Ok(());
        }
        if self.fields.len() > self.columns.len() {
            let message = "extra data after last expected column";
            return Err(self.in_line(Error::new(SqlState::BadCopyFormat, message), None, 0));
        }
        for (position, (column, data_type)) in self.columns.iter().zip(&self.types).enumerate() {
            if position == self.fields.len() {
                return Err(self.missing(position));
            }
            let to = self.block.column_mut(column.index());
            let field = self.fields.get(position);
            let field = field.map(|text| match &self.forced {
                Some(forced) => forced.read(position, text),
                None => text,
            });
            if let Err(error) = field.and_then(|field| take_field(field, *data_type, to)) {
                return Err(self.in_line(error, Some(position), 0));
            }
        }
        self.end_row(session)
    }

    /// Fills the columns that the client gives no value for.
    fn end_row(&mut self, session: &Session) -> Result<()> {
        for (column, default) in &self.defaults {
            let to = self.block.column_mut(column.index());
            match default {
                Default::Value(value) => to.push(value.borrow()),
                Default::Next(id) => {
                    let data_type = self.table.columns[column.index()].data_type;
                    let value = session.database().engine().next_value(*id, data_type)?;
                    self.drawn.note(*id, whole(&value));
                    to.push(value.borrow());
                }
            }
        }
        self.block.end_row();
        Ok(())
    }

    /// Rows whose values somebody else has read.
    async fn values(&mut self, session: &mut Session, rows: Vec<Vec<Value>>) -> Result<()> {
        for values in rows {
            if let Err(fault) = self.value_row(session, values) {
                self.block.abandon_row();
                self.flush(session).await?;
                return Err(fault);
            }
            if self.is_full() {
                self.flush(session).await?;
            }
        }
        Ok(())
    }

    fn value_row(&mut self, session: &Session, values: Vec<Value>) -> Result<()> {
        self.line += 1;
        for (position, value) in values.into_iter().enumerate() {
            let (column, data_type) = (self.columns[position], self.types[position]);
            let value =
                fitted(value, data_type).map_err(|error| self.in_line(error, Some(position), 0))?;
            self.block.column_mut(column.index()).push(value.borrow());
        }
        self.end_row(session)
    }

    /// A line that ends before this column.
    fn missing(&self, position: usize) -> Error {
        let name = &self.table.columns[self.columns[position].index()].name;
        let message = format!("missing data for column \"{name}\"");
        self.in_line(Error::new(SqlState::BadCopyFormat, message), None, 0)
    }

    /// Says where a fault lies, as PostgreSQL's CONTEXT does.
    fn in_line(&self, error: Error, position: Option<usize>, ahead: u64) -> Error {
        let mut place = format!("COPY {}, line {}", self.table.name, self.line + ahead);
        if let Some(position) = position
            && error.state != SqlState::InvalidByteSequence
        {
            let column = &self.table.columns[self.columns[position].index()].name;
            place.push_str(&format!(", column {column}"));
            if let Ok(Some(text)) = self.fields.get(position) {
                place.push_str(&format!(": \"{}\"", shortened(text)));
            }
        }
        error.context(place)
    }

    /// Hands the block on.
    async fn flush(&mut self, session: &mut Session) -> Result<()> {
        if self.block.rows() == 0 {
            return Ok(());
        }
        let mut block = std::mem::replace(&mut self.block, RowBlock::new(&self.table));
        session.note_drawn(&std::mem::take(&mut self.drawn));
        let before = self.count;
        self.count += block.rows() as u64;
        match &mut self.load {
            Some(load) => load.append(&mut block),
            None => session.load_into_block(&self.plan, &mut block, before).await,
        }
    }

    /// Reads `input`, and hands on full blocks. Of several faults the first row's is told.
    async fn take(&mut self, session: &mut Session, input: &[u8], last: bool) -> Result<usize> {
        let mut used = 0;
        loop {
            let lines = session.in_zone(|| self.lines(session, &input[used..], last));
            match lines {
                Ok(length) => used += length,
                Err(fault) => {
                    self.block.abandon_row();
                    self.flush(session).await?;
                    return Err(fault);
                }
            }
            if !self.is_full() {
                return Ok(used);
            }
            self.flush(session).await?;
        }
    }

    /// After a fault the transaction can only be rolled back; one of our own is gone at once.
    fn give_up(&mut self, session: &mut Session) {
        self.ended = true;
        self.block = RowBlock::new(&self.table);
        self.load = None;
        if session.in_block() {
            session.block_mut().fail();
        }
    }

    async fn finish(&mut self, session: &mut Session) -> Result<String> {
        let pending = std::mem::take(&mut self.pending);
        self.take(session, &pending, true).await?;
        self.flush(session).await?;
        if let Some(load) = &mut self.load {
            let empty = session.database().engine().begin_load(self.plan.clone())?;
            session.commit_load(std::mem::replace(load, empty)).await?;
        }
        Ok(format!("COPY {}", self.count))
    }
}

/// Shows the whole line where a fault names neither a column nor broken bytes.
fn with_line(fault: Error, line: &[u8]) -> Error {
    let Some(place) = fault.context.as_ref().filter(|place| !place.contains(", column ")) else {
        return fault;
    };
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\n', '\r']);
    if fault.state == SqlState::InvalidByteSequence {
        return fault;
    }
    let place = format!("{place}: \"{}\"", shortened(line));
    fault.context(place)
}

/// What a fault shows of a client's data at most.
const SHOWN_CHARACTERS: usize = 100;

fn shortened(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        None => text.into(),
        Some((end, _)) => format!("{}...", &text[..end]).into(),
    }
}

/// A string no longer and a number no more precise than its type allows.
fn fitted(value: Value, data_type: DataType) -> Result<Value> {
    match (value, data_type) {
        (Value::Text(text), _) => Ok(Value::Text(fit_string(&text, data_type)?.into())),
        (Value::Numeric(value, own), DataType::Numeric { precision, scale }) => {
            Ok(Value::Numeric(rescale_numeric(value, own, precision, scale)?, scale))
        }
        (other, _) => Ok(other),
    }
}

/// Adds the value of a field to its column.
fn take_field(field: Option<&str>, data_type: DataType, to: &mut BlockColumn) -> Result<()> {
    match field {
        None => to.push(ValueRef::Null),
        // Without a copy in between.
        Some(text) if data_type.is_string() => {
            to.push(ValueRef::Text(fit_string(text, data_type)?))
        }
        Some(text) => to.push(parse_value(text, data_type)?.borrow()),
    }
    Ok(())
}

#[async_trait::async_trait]
impl CopyIn for CopyFrom {
    fn columns(&self) -> &[DataType] {
        &self.types
    }

    fn is_binary(&self) -> bool {
        self.format.binary
    }

    async fn rows(&mut self, session: &mut Session, rows: Vec<Vec<Value>>) -> Result<()> {
        let outcome = self.values(session, rows).await;
        if outcome.is_err() {
            self.give_up(session);
        }
        outcome
    }

    async fn data(&mut self, session: &mut Session, bytes: &[u8]) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        let outcome = if self.pending.is_empty() {
            let used = self.take(session, bytes, false).await;
            used.map(|used| self.pending.extend_from_slice(&bytes[used..]))
        } else {
            let mut pending = std::mem::take(&mut self.pending);
            pending.extend_from_slice(bytes);
            let used = self.take(session, &pending, false).await;
            used.map(|used| {
                pending.drain(..used);
                self.pending = pending;
            })
        };
        if outcome.is_err() {
            self.give_up(session);
        }
        outcome
    }

    async fn done(mut self: Box<Self>, session: &mut Session) -> Result<String> {
        let outcome = self.finish(session).await;
        if outcome.is_err() {
            self.give_up(session);
        }
        outcome
    }

    async fn fail(&mut self, session: &mut Session, _message: &str) {
        self.give_up(session);
    }
}
