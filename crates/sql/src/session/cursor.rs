//! Cursors by DECLARE: a query's answer, taken as far as the client asks.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use engine::env::memory::{Growth, Reservation, Share};
use engine::heartbeat::{Answer, AnswerPart};
use engine::plan::OutputColumn;
use engine::types::{Error, Result, SqlState, Value};
use futures::StreamExt;
use parking_lot::Mutex;

use super::prepared::{DeclareCursor, Plan};
use super::{ColumnDescription, ImplicitTransaction, Outcome, Rows, Session, Statement};
use crate::alone::Answers;
use crate::statement::command::Command;
use crate::statement::cursor::{Direction, Fetch};

/// A cursor, from DECLARE to CLOSE.
pub struct OpenCursor {
    columns: Arc<[ColumnDescription]>,
    /// Locked by nobody: only a cursor that one holds alone is moved.
    pieces: Mutex<Answers>,
    output: Option<Arc<[OutputColumn]>>,
    scroll: bool,
    hold: bool,
    /// Savepoints of the transaction when it was declared.
    depth: usize,
    /// What has come of the answer; without SCROLL, from the current row on.
    parts: VecDeque<AnswerPart>,
    /// Bytes of `parts`.
    bytes: usize,
    held: Reservation,
    /// Rows that have come.
    loaded: u64,
    /// Rows of them that are forgotten.
    forgotten: u64,
    /// The answer has come to its end.
    ended: bool,
    /// The current row, counted from 1; 0 before the first, one more than there are rows behind the last.
    position: u64,
}

impl std::fmt::Debug for OpenCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenCursor").field("position", &self.position).finish_non_exhaustive()
    }
}

/// Rows that follow each other, by their numbers.
struct Span {
    rows: Range<u64>,
    backward: bool,
}

impl Span {
    fn rows(&self) -> u64 {
        self.rows.end.saturating_sub(self.rows.start)
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        let (Range { start, end }, backward) = (self.rows.clone(), self.backward);
        (0..self.rows()).map(move |at| if backward { end - 1 - at } else { start + at })
    }
}

impl OpenCursor {
    fn new(rows: Rows) -> OpenCursor {
        OpenCursor {
            columns: rows.columns,
            pieces: Mutex::new(rows.pieces),
            output: None,
            scroll: false,
            hold: false,
            depth: 0,
            parts: VecDeque::new(),
            bytes: 0,
            held: Reservation::new(Share::Cursors),
            loaded: 0,
            forgotten: 0,
            ended: false,
            position: 0,
        }
    }

    /// Its columns.
    pub fn columns(&self) -> &Arc<[ColumnDescription]> {
        &self.columns
    }

    /// Takes pieces of the answer until so many rows have come, or all; 53200 where it has no room for them.
    async fn load(&mut self, rows: u64) -> Result<()> {
        while !self.ended && self.loaded < rows {
            match self.pieces.get_mut().next().await {
                None => self.ended = true,
                Some(piece) => self.keep(piece?)?,
            }
        }
        Ok(())
    }

    /// Moves forward without keeping the rows that it moves over, which a cursor that cannot go back never shows.
    async fn pass(&mut self, rows: u64) -> Result<()> {
        while !self.ended && self.loaded < rows {
            self.position = self.loaded + 1;
            self.forget();
            self.load(self.loaded + 1).await?;
        }
        Ok(())
    }

    fn keep(&mut self, piece: Answer) -> Result<()> {
        self.loaded += piece.rows() as u64;
        self.output = Some(piece.output);
        self.bytes += piece.parts.iter().map(AnswerPart::memory).sum::<usize>();
        self.parts.extend(piece.parts);
        self.held.grow_to(self.bytes)
    }

    /// Moves; gives the rows that it moves over or to. `silent`: nobody wants to see them.
    async fn go(&mut self, direction: Direction, silent: bool) -> Result<Span> {
        match direction {
            Direction::Forward(Some(0)) => self.to(self.position).await,
            Direction::Forward(count) => {
                let first = self.position + 1;
                let wanted = count.map_or(u64::MAX, |count| self.position.saturating_add(count));
                match silent && !self.scroll {
                    true => self.pass(wanted).await?,
                    false => self.load(wanted).await?,
                }
                let last = wanted.min(self.loaded);
                self.position = if wanted <= self.loaded { wanted } else { self.loaded + 1 };
                Ok(Span { rows: first..last + 1, backward: false })
            }
            Direction::Backward(count) => {
                self.may_go_back()?;
                let before = self.position;
                let last = count.map_or(0, |count| before.saturating_sub(count));
                self.position = last;
                Ok(Span { rows: last.max(1)..before, backward: true })
            }
            Direction::Absolute(number @ 0..) => self.to(number.unsigned_abs()).await,
            Direction::Absolute(number) => {
                self.load(u64::MAX).await?;
                self.to((self.loaded + 1).saturating_sub(number.unsigned_abs())).await
            }
            Direction::Relative(number) => {
                self.to(self.position.saturating_add_signed(number)).await
            }
        }
    }

    /// Moves to a row.
    async fn to(&mut self, row: u64) -> Result<Span> {
        if row < self.position {
            self.may_go_back()?;
        }
        self.load(row).await?;
        self.position = row.min(self.loaded + 1);
        let is_row = (1..=self.loaded).contains(&row);
        Ok(Span { rows: row..row + u64::from(is_row), backward: false })
    }

    fn may_go_back(&self) -> Result<()> {
        if self.scroll {
            return Ok(());
        }
        Err(Error::new(SqlState::ObjectNotInState, "cursor can only scan forward")
            .hint("Declare it with SCROLL option to enable backward scan."))
    }

    /// The rows of a span; 53200 where the process has no room for a copy of them.
    fn answer(&self, span: &Span) -> Result<Answer> {
        let Some(output) = &self.output else {
            return Ok(Answer::new(Arc::new([]), Vec::new()));
        };
        let (mut rows, mut growth) = (Vec::new(), Growth::default());
        for number in span.numbers() {
            let (part, row) = self.find(number);
            let cells = (0..output.len()).map(|position| part.cell(row, position).to_owned());
            let values: Vec<Value> = cells.collect();
            let heap: usize = values.iter().map(Value::heap).sum();
            growth.add(heap + size_of_val(&*values))?;
            rows.push(values);
        }
        Ok(Answer::new(output.clone(), vec![AnswerPart::Own(rows)]))
    }

    fn find(&self, number: u64) -> (&AnswerPart, usize) {
        let mut left = (number - 1 - self.forgotten) as usize;
        for part in &self.parts {
            match left.checked_sub(part.rows()) {
                Some(behind) => left = behind,
                None => return (part, left),
            }
        }
        unreachable!("rows that were loaded are kept until the cursor is past them")
    }

    /// Without SCROLL, what lies behind is needed no more.
    fn forget(&mut self) {
        while !self.scroll
            && let Some(part) = self.parts.front()
            && self.forgotten + (part.rows() as u64) < self.position
        {
            self.forgotten += part.rows() as u64;
            self.bytes -= part.memory();
            self.parts.pop_front();
        }
        self.held.shrink_to(self.bytes);
    }
}

/// What of an answer's rows a portal has sent.
#[derive(Debug, Default)]
pub struct Sent {
    /// All that it has sent.
    pub rows: u64,
    /// The piece that it is in, ...
    pub piece: Option<Answer>,
    /// ... and how many of the rows were of that.
    pub of_piece: u64,
}

/// What a statement does with a cursor that it names, or a portal of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorUse<'a> {
    /// FETCH and MOVE.
    Move(&'a str),
    /// CLOSE
    Close(&'a str),
    /// CLOSE ALL
    CloseAll,
}

impl Statement {
    /// What it does with a cursor; `None` where it names none.
    pub fn cursor_use(&self) -> Option<CursorUse<'_>> {
        match &self.prepared.plan {
            Plan::Command(Command::Fetch(fetch)) => Some(CursorUse::Move(&fetch.name)),
            Plan::Command(Command::Close(Some(name))) => Some(CursorUse::Close(name)),
            Plan::Command(Command::Close(None)) => Some(CursorUse::CloseAll),
            _ => None,
        }
    }
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::InvalidCursorName, format!("cursor \"{name}\" does not exist"))
}

impl Session {
    /// DECLARE: runs the query; rows are taken from it as they are fetched.
    pub(super) async fn declare_cursor(
        &mut self,
        declare: &DeclareCursor,
        parameters: Vec<Value>,
    ) -> Result<Outcome> {
        if !declare.hold
            && let Some(fault) = self.outside_block("DECLARE CURSOR")
        {
            return Err(fault);
        }
        if self.cursors.contains_key(&declare.name) {
            let message = format!("cursor \"{}\" already exists", declare.name);
            return Err(Error::new(SqlState::DuplicateCursor, message));
        }
        let implicit = ImplicitTransaction::Alone;
        let outcome = Box::pin(self.run(&declare.statement, parameters, implicit)).await;
        let Outcome::Rows(rows) = outcome? else {
            unreachable!("only queries are declared");
        };
        let depth = self.block.any().map_or(0, |transaction| transaction.depth());
        let (scroll, hold) = (declare.scroll, declare.hold);
        let mut cursor = OpenCursor { scroll, hold, depth, ..OpenCursor::new(rows) };
        if declare.hold && !self.in_block() {
            cursor.load(u64::MAX).await?;
        }
        self.cursors.insert(declare.name.clone(), cursor);
        Ok(Outcome::Command("DECLARE CURSOR".to_owned()))
    }

    /// Makes a cursor of a portal of the protocol, which goes on behind the rows that were sent. It ends with the transaction.
    pub fn adopt_portal(&mut self, name: &str, rows: Rows, sent: Sent) -> Result<()> {
        let mut cursor = OpenCursor::new(rows);
        let before = sent.rows - sent.of_piece;
        (cursor.loaded, cursor.forgotten, cursor.position) = (before, before, sent.rows);
        sent.piece.map_or(Ok(()), |piece| cursor.keep(piece))?;
        cursor.forget();
        self.cursors.insert(name.to_owned(), cursor);
        Ok(())
    }

    /// FETCH and MOVE.
    pub(super) async fn fetch_cursor(&mut self, fetch: &Fetch) -> Result<Outcome> {
        let cursor = self.cursors.get_mut(&fetch.name).ok_or_else(|| unknown(&fetch.name))?;
        let span = cursor.go(fetch.direction, fetch.silent).await?;
        if fetch.silent {
            cursor.forget();
            return Ok(Outcome::Command(format!("MOVE {}", span.rows())));
        }
        let answer = cursor.answer(&span)?;
        cursor.forget();
        Ok(Outcome::Rows(Rows::complete(cursor.columns().clone(), answer, "FETCH")))
    }

    /// CLOSE; `None`: ALL.
    pub(super) fn close_cursors(&mut self, name: Option<&str>) -> Result<String> {
        let Some(name) = name else {
            self.cursors.clear();
            return Ok("CLOSE CURSOR ALL".to_owned());
        };
        self.cursors.remove(name).ok_or_else(|| unknown(name))?;
        Ok("CLOSE CURSOR".to_owned())
    }

    /// Ends all cursors.
    pub(crate) fn forget_cursors(&mut self) {
        self.cursors.clear();
    }

    /// Ends a cursor, if it is there.
    pub fn close_cursor(&mut self, name: &str) {
        self.cursors.remove(name);
    }

    /// Whether there is a cursor of that name.
    pub fn has_cursor(&self, name: &str) -> bool {
        self.cursors.contains_key(name)
    }

    /// The columns of an open cursor, which the protocol may describe like a portal.
    pub fn cursor_columns(&self, name: &str) -> Option<Arc<[ColumnDescription]>> {
        self.cursors.get(name).map(|cursor| cursor.columns().clone())
    }

    /// Ends cursors with a transaction that commits. Those WITH HOLD stay, with all their rows.
    pub(super) async fn end_cursors(&mut self) -> Result<()> {
        self.cursors.retain(|_, cursor| cursor.hold);
        for cursor in self.cursors.values_mut() {
            cursor.load(u64::MAX).await?;
        }
        Ok(())
    }

    /// Ends cursors with a transaction that is rolled back. Those that were held before it stay.
    pub(super) fn abandon_cursors(&mut self) {
        self.cursors.retain(|_, cursor| cursor.hold && cursor.ended);
    }

    /// Ends cursors that were declared after a savepoint.
    pub(crate) fn end_cursors_after(&mut self, depth: usize) {
        self.cursors.retain(|_, cursor| cursor.depth <= depth);
    }
}
