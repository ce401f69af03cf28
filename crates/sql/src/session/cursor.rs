//! Cursors by DECLARE: a query's answer, taken as far as the client asks.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::heartbeat::{Answer, AnswerPart};
use engine::plan::OutputColumn;
use engine::types::{Error, Result, SqlState, Value};
use futures::StreamExt;
use parking_lot::Mutex;

use super::prepared::{DeclareCursor, FetchCursor};
use super::write::answer_of;
use super::{ColumnDescription, ImplicitTransaction, Outcome, Rows, Session};
use crate::alone::Answers;
use crate::statement::cursor::Direction;

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

impl OpenCursor {
    fn new(rows: Rows, declare: &DeclareCursor, depth: usize) -> OpenCursor {
        OpenCursor {
            columns: rows.columns,
            pieces: Mutex::new(rows.pieces),
            output: None,
            scroll: declare.scroll,
            hold: declare.hold,
            depth,
            parts: VecDeque::new(),
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

    /// Takes pieces of the answer until so many rows have come, or all.
    async fn load(&mut self, rows: u64) -> Result<()> {
        while !self.ended && self.loaded < rows {
            match self.pieces.get_mut().next().await {
                None => self.ended = true,
                Some(piece) => {
                    let piece = piece?;
                    self.loaded += piece.rows() as u64;
                    self.output = Some(piece.output);
                    self.parts.extend(piece.parts);
                }
            }
        }
        Ok(())
    }

    /// Moves; gives the numbers of the rows that it moves over or to.
    async fn go(&mut self, direction: Direction) -> Result<Vec<u64>> {
        match direction {
            Direction::Forward(Some(0)) => self.to(self.position).await,
            Direction::Forward(count) => {
                let first = self.position + 1;
                let wanted = count.map_or(u64::MAX, |count| self.position.saturating_add(count));
                self.load(wanted).await?;
                let last = wanted.min(self.loaded);
                self.position = if wanted <= self.loaded { wanted } else { self.loaded + 1 };
                Ok((first..=last).collect())
            }
            Direction::Backward(count) => {
                self.may_go_back()?;
                let before = self.position;
                let last = count.map_or(0, |count| before.saturating_sub(count));
                self.position = last;
                Ok((last.max(1)..before).rev().collect())
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
    async fn to(&mut self, row: u64) -> Result<Vec<u64>> {
        if row < self.position {
            self.may_go_back()?;
        }
        self.load(row).await?;
        self.position = row.min(self.loaded + 1);
        Ok(if (1..=self.loaded).contains(&row) { vec![row] } else { Vec::new() })
    }

    fn may_go_back(&self) -> Result<()> {
        if self.scroll {
            return Ok(());
        }
        Err(Error::new(SqlState::ObjectNotInState, "cursor can only scan forward")
            .hint("Declare it with SCROLL option to enable backward scan."))
    }

    /// The rows with these numbers.
    fn answer(&self, numbers: &[u64]) -> Answer {
        let Some(output) = &self.output else {
            return Answer::new(Arc::new([]), Vec::new());
        };
        let mut columns: Vec<Vec<Value>> = vec![Vec::with_capacity(numbers.len()); output.len()];
        for number in numbers {
            let (part, row) = self.find(*number);
            for (position, values) in columns.iter_mut().enumerate() {
                values.push(part.cell(row, position).to_owned());
            }
        }
        answer_of(output.clone(), &columns)
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
            self.parts.pop_front();
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
        if !declare.hold && !self.block.is_explicit() {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(Error::new(SqlState::NoActiveTransaction, message));
        }
        if self.cursors.contains_key(&declare.name) {
            let message = format!("cursor \"{}\" already exists", declare.name);
            return Err(Error::new(SqlState::DuplicateCursor, message));
        }
        // The statement's time is up when its own is: the query goes on with each FETCH.
        let deadline = self.deadline.take();
        let implicit = ImplicitTransaction::Alone;
        let outcome = Box::pin(self.run(&declare.statement, parameters, implicit)).await;
        self.deadline = deadline;
        let Outcome::Rows(rows) = outcome? else {
            unreachable!("only queries are declared");
        };
        let depth = self.block.any().map_or(0, |transaction| transaction.depth());
        let mut cursor = OpenCursor::new(rows, declare, depth);
        if declare.hold && !self.block.is_explicit() {
            cursor.load(u64::MAX).await?;
        }
        self.cursors.insert(declare.name.clone(), cursor);
        Ok(Outcome::Command("DECLARE CURSOR".to_owned()))
    }

    /// FETCH and MOVE.
    pub(super) async fn fetch_cursor(&mut self, fetch: &FetchCursor) -> Result<Outcome> {
        let cursor = self.cursors.get_mut(&fetch.name).ok_or_else(|| unknown(&fetch.name))?;
        let numbers = cursor.go(fetch.direction).await?;
        if fetch.silent {
            cursor.forget();
            return Ok(Outcome::Command(format!("MOVE {}", numbers.len())));
        }
        let answer = cursor.answer(&numbers);
        cursor.forget();
        Ok(Outcome::Rows(Rows::complete(cursor.columns().clone(), answer, "FETCH")))
    }

    /// CLOSE.
    pub(super) fn close_cursors(&mut self, name: Option<&str>) -> Result<Outcome> {
        match name {
            None => self.cursors.clear(),
            Some(name) => {
                self.cursors.remove(name).ok_or_else(|| unknown(name))?;
            }
        }
        Ok(Outcome::Command(
            if name.is_some() { "CLOSE CURSOR" } else { "CLOSE CURSOR ALL" }.into(),
        ))
    }

    /// Ends all cursors.
    pub(crate) fn forget_cursors(&mut self) {
        self.cursors.clear();
    }

    /// Ends a cursor, if it is there.
    pub fn close_cursor(&mut self, name: &str) {
        self.cursors.remove(name);
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
