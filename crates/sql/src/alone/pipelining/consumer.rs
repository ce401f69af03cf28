//! One consumer's way through a list: shared as long as it keeps up, then by itself.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use futures::{FutureExt, StreamExt};
use tokio::time::{Instant, Sleep};

use super::host::Place;
use super::pages::{Entry, Found, Page, Progress, SharedPages, StatementId};

/// Reads a sub-plan's rows; leaves the list when dropped.
pub struct Consumer {
    list: Arc<SharedPages>,
    statement: StatementId,
    entry: Entry,
    /// Where it will read on, if it must by itself.
    place: Place,
    /// The list is full: since when, and a timer for the next look.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    way: Way,
    took: Took,
}

/// How it reads.
enum Way {
    Shared,
    Alone(SendableRecordBatchStream),
    Ended,
}

/// What sharing has meant for one consumer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// How far the sub-plan was when it came.
    pub progress: Progress,
    /// Whether the sub-plan ran already.
    pub is_late: bool,
    /// Whether pages were kept for it from the begin, since its statement has the sub-plan several times.
    pub is_again: bool,
    /// Most others at a time, but for those of its own statement.
    pub others: usize,
    /// What producing its pages has cost all together.
    pub cost: Duration,
    /// The part of it that others have borne.
    pub saved: Duration,
    /// It was too slow for the others.
    pub is_detached: bool,
}

impl Consumer {
    /// One of a statement that has entered a list.
    pub fn new(
        list: Arc<SharedPages>,
        statement: StatementId,
        entry: Entry,
        is_late: bool,
    ) -> Consumer {
        let took = Took {
            progress: entry.progress,
            is_late,
            is_again: false,
            others: 0,
            cost: Duration::ZERO,
            saved: Duration::ZERO,
            is_detached: false,
        };
        let place = Place { stretch: entry.stretch, rows: 0 };
        Consumer { list, statement, entry, place, waiting: None, way: Way::Shared, took }
    }

    /// Another one of the same statement, which will read the same later: pages are kept for it until it begins, as long
    /// as there is memory. `None` where this one has lost its own place.
    pub fn expect(&self) -> Option<Consumer> {
        let entry = self.list.expect(&self.entry)?;
        let mut expected = Consumer::new(self.list.clone(), self.statement, entry, true);
        expected.took.is_again = true;
        Some(expected)
    }

    /// It was expected and begins to read; whether its place was kept.
    pub fn begin(&mut self) -> bool {
        let progress = self.list.begin(&self.entry);
        self.took.progress = progress.unwrap_or(self.took.progress);
        progress.is_some()
    }

    /// The list.
    pub fn list(&self) -> &Arc<SharedPages> {
        &self.list
    }

    /// The stretch at which it came in.
    pub fn entry(&self) -> u64 {
        self.entry.stretch
    }

    /// What sharing has meant so far.
    pub fn took(&self) -> Took {
        self.took
    }

    /// The next rows.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        loop {
            match &mut self.way {
                Way::Ended => return Poll::Ready(None),
                Way::Alone(rest) => return rest.poll_next_unpin(context),
                Way::Shared => {}
            }
            match ready!(self.poll_found(context)) {
                Err(error) => {
                    self.leave();
                    return Poll::Ready(Some(Err(error)));
                }
                Ok(Found::Page(page)) => return Poll::Ready(Some(Ok(self.take(page)))),
                Ok(Found::End) => self.leave(),
                Ok(Found::Detached) => {
                    self.leave();
                    self.took.is_detached = true;
                    let rest = self.list.host.replay(self.place, self.entry.stretch);
                    self.way = Way::Alone(rest);
                }
                Ok(Found::Full(_)) => unreachable!("waited for"),
            }
        }
    }

    /// Waits while the list is full.
    fn poll_found(&mut self, context: &mut Context<'_>) -> Poll<Result<Found>> {
        loop {
            let since = self.waiting.as_ref().map(|(since, _)| *since);
            let found = ready!(self.list.read(&self.entry, since, context));
            let Ok(Found::Full(later)) = found else {
                self.waiting = None;
                return Poll::Ready(found);
            };
            let now = Instant::now();
            let (_, timer) = self
                .waiting
                .get_or_insert_with(|| (now, Box::pin(tokio::time::sleep_until(later))));
            timer.as_mut().reset(later);
            ready!(timer.poll_unpin(context));
        }
    }

    fn take(&mut self, page: Page) -> RecordBatch {
        if page.stretch != self.place.stretch {
            self.place = Place { stretch: page.stretch, rows: 0 };
        }
        self.place.rows += page.batch.num_rows();
        self.took.others = self.took.others.max(self.list.others(self.statement));
        self.took.cost += page.cost;
        if page.producer != self.entry.id {
            self.took.saved += page.cost;
        }
        page.batch
    }

    fn leave(&mut self) {
        if matches!(self.way, Way::Shared) {
            self.way = Way::Ended;
            self.list.leave(self.entry.id);
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.leave();
    }
}
