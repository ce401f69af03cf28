//! COPY FROM STDIN.

use std::sync::Arc;

use engine::plan::{InsertPlan, InsertSource, WriteAction, WritePlan};
use engine::types::{
    Check, ColumnDefault, ColumnId, DataType, Error, Result, Scalar, SqlState, TableSchema, Value,
};

use super::lines::{Fields, Line, read};
use super::options::Format;
use crate::session::{Block, CopyIn, Session};
use crate::statement::expression;
use crate::text::parse_value;

/// Rows that go into the write set at once.
const CHUNK_ROWS: usize = 4096;

/// Starts a COPY. Outside a block it is a transaction of its own, so that all its rows come or
/// none.
pub fn start(
    session: &mut Session,
    table: Arc<TableSchema>,
    columns: Vec<ColumnId>,
    format: Format,
) -> Result<Box<dyn CopyIn>> {
    let own_transaction = !session.in_block();
    let planner = session.database().planner.clone();
    let catalog = planner.catalog();
    let checks = expression::checks(&planner, &catalog, &table)?;
    let defaults = table.columns.iter().map(|column| {
        Ok(match &column.default {
            ColumnDefault::Constant(value) => InsertSource::Scalar(Scalar::Literal(value.clone())),
            ColumnDefault::Sequence { id, .. } => InsertSource::NextValue(*id),
            ColumnDefault::Expression(text) if !column.dropped => {
                let text = expression::at_time(text, session.started())?;
                let value =
                    planner.scope(&catalog, &[])?.constant(&text, Some(column.data_type))?;
                InsertSource::Scalar(Scalar::Literal(value))
            }
            _ => InsertSource::Scalar(Scalar::Literal(Value::Null)),
        })
    });
    let defaults = defaults.collect::<Result<Vec<_>>>()?;
    if own_transaction {
        let transaction = session.new_transaction(false);
        *session.block_mut() = Block::Open(transaction);
    }
    let types = columns.iter().map(|id| table.columns[id.index()].data_type).collect();
    Ok(Box::new(CopyFrom {
        skip_header: format.header,
        table,
        columns,
        types,
        format,
        checks,
        defaults,
        own_transaction,
        pending: Vec::new(),
        fields: Fields::default(),
        rows: Vec::new(),
        line: 0,
        count: 0,
        ended: false,
    }))
}

struct CopyFrom {
    table: Arc<TableSchema>,
    columns: Vec<ColumnId>,
    types: Vec<DataType>,
    format: Format,
    checks: Vec<Check>,
    defaults: Vec<InsertSource>,
    own_transaction: bool,
    skip_header: bool,
    /// Bytes of an unfinished line.
    pending: Vec<u8>,
    fields: Fields,
    rows: Vec<Vec<InsertSource>>,
    line: u64,
    count: u64,
    /// The client sent `\.`: what follows is ignored.
    ended: bool,
}

impl CopyFrom {
    /// Cuts all complete lines off `input`; gives the bytes used.
    fn lines(&mut self, input: &[u8], last: bool) -> Result<usize> {
        let mut used = 0;
        while !self.ended && self.rows.len() < CHUNK_ROWS {
            let (line, length) = read(&self.format, &input[used..], last, &mut self.fields)
                .map_err(|error| self.in_line(error, None, 1))?;
            used += length;
            match line {
                Line::Incomplete => break,
                Line::End => self.ended = true,
                Line::Row => self.row()?,
            }
        }
        Ok(used)
    }

    fn row(&mut self) -> Result<()> {
        self.line += 1;
        if std::mem::take(&mut self.skip_header) {
            return Ok(());
        }
        self.check_width()?;
        let mut row = self.defaults.clone();
        for (position, (column, data_type)) in self.columns.iter().zip(&self.types).enumerate() {
            let value = match self.fields.get(position) {
                Ok(None) => Ok(Value::Null),
                Ok(Some(text)) => parse_value(text, *data_type),
                Err(error) => Err(error),
            };
            let value = value.map_err(|error| self.in_line(error, Some(position), 0))?;
            row[column.index()] = InsertSource::Scalar(Scalar::Literal(value));
        }
        self.rows.push(row);
        self.count += 1;
        Ok(())
    }

    fn check_width(&self) -> Result<()> {
        let found = self.fields.len();
        let message = if found > self.columns.len() {
            "extra data after last expected column".to_owned()
        } else if found < self.columns.len() {
            let name = &self.table.columns[self.columns[found].index()].name;
            format!("missing data for column \"{name}\"")
        } else {
            return Ok(());
        };
        Err(self.in_line(Error::new(SqlState::BadCopyFormat, message), None, 0))
    }

    /// Says where a fault lies, as PostgreSQL's CONTEXT does.
    fn in_line(&self, error: Error, position: Option<usize>, ahead: u64) -> Error {
        let mut place = format!("COPY {}, line {}", self.table.name, self.line + ahead);
        if let Some(position) = position {
            let column = &self.table.columns[self.columns[position].index()].name;
            place.push_str(&format!(", column {column}"));
            if let Ok(Some(text)) = self.fields.get(position) {
                place.push_str(&format!(": \"{text}\""));
            }
        }
        error.context(place)
    }

    async fn flush(&mut self, session: &mut Session) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let plan = Arc::new(WritePlan {
            action: WriteAction::Insert(InsertPlan {
                table: self.table.id,
                rows: std::mem::take(&mut self.rows),
                on_conflict: None,
                checks: self.checks.clone(),
            }),
            returning: Vec::new(),
            output: Arc::new([]),
            parameters: Vec::new(),
            text: "COPY".into(),
        });
        session.write(&plan, self.table.id, Vec::new()).await.map(|_| ())
    }

    /// Reads `input`, and writes full chunks.
    async fn take(&mut self, session: &mut Session, input: &[u8], last: bool) -> Result<usize> {
        let mut used = 0;
        loop {
            used += self.lines(&input[used..], last)?;
            if self.rows.len() < CHUNK_ROWS {
                return Ok(used);
            }
            self.flush(session).await?;
        }
    }

    /// After a fault the transaction can only be rolled back; one of our own is gone at once.
    fn give_up(&mut self, session: &mut Session) {
        self.rows.clear();
        self.ended = true;
        if self.own_transaction {
            if let Block::Open(transaction) | Block::Failed(transaction) = session.take_block() {
                session.abandon(transaction);
            }
        } else {
            session.block_mut().fail();
        }
    }

    async fn finish(&mut self, session: &mut Session) -> Result<String> {
        let pending = std::mem::take(&mut self.pending);
        self.take(session, &pending, true).await?;
        self.flush(session).await?;
        if self.own_transaction
            && let Block::Open(transaction) = session.take_block()
        {
            session.commit_transaction(transaction).await?;
        }
        Ok(format!("COPY {}", self.count))
    }
}

#[async_trait::async_trait]
impl CopyIn for CopyFrom {
    fn columns(&self) -> usize {
        self.columns.len()
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

    async fn fail(mut self: Box<Self>, session: &mut Session, _message: &str) {
        self.give_up(session);
    }
}
