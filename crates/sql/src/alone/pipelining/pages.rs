//! The shared pages list: one producer, many consumers that pull, each at its own position.
//!
//! Nobody forwards pages (simultaneous pipelining, "Shared Pages Lists": forwarding is what makes one producer a
//! bottleneck). There is no producing thread either: whoever has read all pages and wants another one runs the producer
//! for everybody, so that a list goes on as long as anybody reads, whoever began it. The list is bounded. When it is
//! full, those in front wait for the slowest; one that is too slow ([`super::load::Load`]) is sent away to read on by
//! itself, so that nobody can hold up the others.
//!
//! For consumers that a statement will have later ([`super::repeated`]) pages are kept beyond that bound, as long as
//! there is memory and nobody else wants it ([`super::memory`]); of scans only up to the bound, since to read them
//! again costs less than to keep their rows.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use engine::types::Error;
use engine::types::limit::{Limit, current, within};
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::host::Host;
use super::load::Load;
use super::memory::Memory;
use super::waiting::Waiting;

/// Bytes of pages that a list holds for those behind.
const BOUND: usize = 1 << 20;
/// Bytes of pages that are kept though nobody is behind: until there are more, a list can be entered at its begin.
const KEPT: usize = BOUND / 2;
/// As whom lists take memory.
pub const PAGES: &str = "shared pages";

/// What the operators above a shared sub-plan take at a time.
#[derive(Clone, Debug)]
pub struct Page {
    /// The stretch that it belongs to, counted on around the end.
    pub stretch: u64,
    /// Its rows.
    pub batch: RecordBatch,
    /// What it took to produce it.
    pub cost: Duration,
    /// The consumer that produced it.
    pub producer: u64,
    bytes: usize,
    /// Whether the memory limit had room for it.
    is_counted: bool,
}

/// The list.
#[derive(Debug)]
pub struct SharedPages {
    pub(super) host: Arc<Host>,
    /// Whether rows may come in another order than alone.
    any_order: bool,
    pub(super) load: Arc<Load>,
    pub(super) waiting: Arc<Waiting>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pages: VecDeque<Page>,
    /// The number of the first page that is held.
    first: u64,
    /// The stretch that is produced, or comes next.
    stretch: u64,
    producer: Producer,
    /// What the next page has cost so far.
    cost: Duration,
    consumers: BTreeMap<u64, Reader>,
    next_consumer: u64,
    is_linear: bool,
    bytes: usize,
    /// Pages held that the memory limit had no room for.
    uncounted: usize,
    /// Somebody waits for room.
    is_awaited: bool,
    /// The producer was told that nobody wants its rows.
    is_abandoned: bool,
    reservation: MemoryReservation,
}

/// Where the rows come from.
enum Producer {
    /// Between two stretches.
    Between,
    Running(SendableRecordBatchStream),
    /// A consumer runs it now.
    Taken,
    Failed(Arc<DataFusionError>),
    /// Nobody reads any more.
    Ended,
}

impl std::fmt::Debug for Producer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Producer::Between => "Between",
            Producer::Running(_) => "Running",
            Producer::Taken => "Taken",
            Producer::Failed(_) => "Failed",
            Producer::Ended => "Ended",
        })
    }
}

/// What the list knows of a consumer.
#[derive(Debug)]
struct Reader {
    statement: StatementId,
    /// The number of the page that it reads next.
    position: u64,
    last_read: Instant,
    /// What ends the work that it reads for; `None`: nothing does.
    limit: Option<Arc<dyn Limit>>,
    /// Its statement has not come to it yet: nobody waits for it.
    is_expected: bool,
    /// It was too slow, or there was no memory to keep pages for it.
    is_detached: bool,
}

/// Whose consumers these are: a number of a query that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementId(pub u64);

/// Where a consumer came in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// As whom the list knows it.
    pub id: u64,
    /// The first stretch that it reads.
    pub stretch: u64,
    /// How far the sub-plan was.
    pub progress: Progress,
}

/// How far a sub-plan was when a consumer came in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// So much of a scan's present round, of 1.
    Round(f64),
    /// So many pages had been produced; how many there will be, nobody knew.
    Pages(u64),
}

/// What a consumer finds.
#[derive(Debug)]
pub enum Found {
    /// The next page.
    Page(Page),
    /// The round is complete.
    End,
    /// It was sent away.
    Detached,
    /// The list is full: another look at this time.
    Full(Instant),
}

/// What there is to do for a consumer, seen under the lock.
enum Next {
    Found(Found),
    Failed(Arc<DataFusionError>),
    Full,
    Busy,
    Produce(Producer),
}

impl SharedPages {
    /// An empty list with its first consumer.
    pub fn new(
        host: Arc<Host>,
        any_order: bool,
        load: Arc<Load>,
        statement: StatementId,
    ) -> (Arc<SharedPages>, Entry) {
        let pool = host.context().memory_pool();
        let state = State {
            pages: VecDeque::new(),
            first: 0,
            stretch: 0,
            producer: Producer::Between,
            cost: Duration::ZERO,
            consumers: BTreeMap::new(),
            next_consumer: 0,
            is_linear: host.is_linear(),
            bytes: 0,
            uncounted: 0,
            is_awaited: false,
            is_abandoned: false,
            reservation: MemoryConsumer::new(PAGES).register(pool),
        };
        let (waiting, state) = (Arc::default(), Mutex::new(state));
        let list = SharedPages { host, any_order, load, waiting, state };
        let entry = list.state.lock().enter(statement, 0, 0, Progress::Pages(0));
        (Arc::new(list), entry)
    }

    /// Lets a consumer in, if the window of opportunity is open: at the begin as long as all pages are held, later
    /// between two stretches of a linear one where order does not matter.
    pub fn enter(&self, any_order: bool, statement: StatementId) -> Option<Entry> {
        let mut state = self.state.lock();
        if state.is_abandoned || matches!(state.producer, Producer::Failed(_) | Producer::Ended) {
            return None;
        }
        let is_linear = state.is_linear;
        let progress = state.progress(&self.host);
        if state.first == 0 {
            // A sub-plan with a linear input may have read that from the middle.
            let is_same = is_linear || any_order || !self.any_order;
            return is_same.then(|| state.enter(statement, 0, 0, progress));
        }
        let stretch = match state.producer {
            Producer::Between => state.stretch,
            _ => state.stretch + 1,
        };
        let head = state.head();
        (is_linear && any_order).then(|| state.enter(statement, stretch, head, progress))
    }

    /// Keeps a place for another consumer of the same statement, beside one that has not read yet.
    pub fn expect(self: &Arc<Self>, beside: &Entry) -> Option<Entry> {
        let mut state = self.state.lock();
        let reader = state.consumers.get(&beside.id).filter(|reader| !reader.is_detached)?;
        let (statement, position) = (reader.statement, reader.position);
        let entry = state.enter(statement, beside.stretch, position, beside.progress);
        let expected = state.consumers.get_mut(&entry.id).expect("it has just entered");
        expected.is_expected = true;
        drop(state);
        if let Some(memory) = Memory::of(self.host.context()) {
            memory.keep(self);
        }
        Some(entry)
    }

    /// One that was expected begins to read, and the sub-plan is so far; `None` where its place was not kept.
    pub fn begin(&self, entry: &Entry) -> Option<Progress> {
        let mut state = self.state.lock();
        let progress = state.progress(&self.host);
        let reader = state.consumers.get_mut(&entry.id).filter(|reader| !reader.is_detached)?;
        (reader.is_expected, reader.last_read) = (false, Instant::now());
        reader.limit = current();
        Some(progress)
    }

    /// Somebody lacks memory: what is held beyond the bound goes, and those for whom it was held repeat it.
    pub fn give_way(&self) {
        let mut state = self.state.lock();
        state.let_go();
        state.let_go_of_distant();
        let has_room = state.free();
        drop(state);
        if has_room {
            self.waiting.wake_all();
        }
    }

    /// Consumers of other statements that read now.
    pub fn others(&self, statement: StatementId) -> usize {
        let state = self.state.lock();
        let other = |reader: &&Reader| reader.statement != statement && !reader.is_expected;
        state.consumers.values().filter(other).count()
    }

    /// What comes next for a consumer that has been here since `entry` and waits for room since `waiting`.
    pub fn read(
        self: &Arc<Self>,
        entry: &Entry,
        waiting: Option<Instant>,
        context: &Context<'_>,
    ) -> Poll<Result<Found>> {
        loop {
            let mut state = self.state.lock();
            match state.next(entry, entry.stretch + self.host.stretches()) {
                Next::Found(found) => {
                    let has_room = state.free();
                    drop(state);
                    if has_room {
                        self.waiting.wake_all();
                    }
                    return Poll::Ready(Ok(found));
                }
                Next::Failed(error) => return Poll::Ready(Err(DataFusionError::Shared(error))),
                Next::Full => {
                    let now = Instant::now();
                    let patience = self.load.patience();
                    match state.detach_slowest(now, waiting.unwrap_or(now), patience) {
                        Some(later) => {
                            state.is_awaited = true;
                            self.waiting.register(entry.id, context.waker());
                            return Poll::Ready(Ok(Found::Full(later)));
                        }
                        None => continue,
                    }
                }
                Next::Busy => {
                    self.waiting.register(entry.id, context.waker());
                    return Poll::Pending;
                }
                Next::Produce(producer) => {
                    self.waiting.register(entry.id, context.waker());
                    let stretch = state.stretch;
                    drop(state);
                    let turn = Turn { list: self, is_over: false };
                    if turn.produce(producer, stretch, entry.id).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// A consumer goes; the last one ends the producer.
    pub fn leave(&self, id: u64) {
        let mut state = self.state.lock();
        state.consumers.remove(&id);
        let ended = state.consumers.is_empty().then(|| {
            state.first += state.pages.len() as u64;
            state.pages.clear();
            state.reservation.free();
            std::mem::replace(&mut state.producer, Producer::Ended)
        });
        state.free();
        drop(state);
        drop(ended);
        self.waiting.wake_all();
    }
}

/// The producer is to end when all who read its pages are. Whoever might still come finds the list closed then. The limit of
/// a reader may be another list, whose pages are made of these; never one that these are made of: no circle of locks.
impl Limit for SharedPages {
    fn fault(&self) -> Option<Error> {
        let mut state = self.state.lock();
        let faults = |reader: &Reader| reader.limit.as_ref().and_then(|limit| limit.fault());
        let mut readers = state.consumers.values();
        let last = readers.next_back().and_then(faults)?;
        if !readers.all(|reader| faults(reader).is_some()) {
            return None;
        }
        state.is_abandoned = true;
        Some(last)
    }
}

impl State {
    /// The number of the next page to be produced.
    fn head(&self) -> u64 {
        self.first + self.pages.len() as u64
    }

    fn enter(
        &mut self,
        statement: StatementId,
        stretch: u64,
        position: u64,
        progress: Progress,
    ) -> Entry {
        let id = self.next_consumer;
        self.next_consumer += 1;
        let last_read = Instant::now();
        let (is_expected, is_detached, limit) = (false, false, current());
        let reader = Reader { statement, position, last_read, limit, is_expected, is_detached };
        self.consumers.insert(id, reader);
        Entry { id, stretch, progress }
    }

    fn progress(&self, host: &Host) -> Progress {
        match host.is_linear() {
            true if self.first == 0 && self.stretch >= host.stretches() => Progress::Round(1.0),
            true => {
                let stretches = host.stretches();
                Progress::Round((self.stretch % stretches) as f64 / stretches as f64)
            }
            false => Progress::Pages(self.head()),
        }
    }

    fn next(&mut self, entry: &Entry, end: u64) -> Next {
        let head = self.head();
        let reader = self.consumers.get_mut(&entry.id).expect("it has not left");
        if reader.is_detached {
            return Next::Found(Found::Detached);
        }
        while reader.position < head {
            let page = &self.pages[(reader.position - self.first) as usize];
            if page.stretch >= end {
                return Next::Found(Found::End);
            }
            reader.position += 1;
            if page.stretch >= entry.stretch {
                reader.last_read = Instant::now();
                return Next::Found(Found::Page(page.clone()));
            }
        }
        if self.stretch >= end {
            return Next::Found(Found::End);
        }
        match &self.producer {
            Producer::Failed(error) => Next::Failed(error.clone()),
            Producer::Taken => Next::Busy,
            _ => {
                if self.uncounted > 0 || (self.is_linear && self.bytes > BOUND) {
                    self.let_go();
                }
                self.free();
                if self.is_full() {
                    return Next::Full;
                }
                Next::Produce(std::mem::replace(&mut self.producer, Producer::Taken))
            }
        }
    }

    /// More is held than may be, for those behind; what is kept for one who is expected is held anyway. A page that the
    /// memory limit has no room for must be read by all before the next one comes.
    fn is_full(&self) -> bool {
        self.uncounted > 0 || (self.bytes > BOUND && !self.is_anybody_expected())
    }

    fn is_anybody_expected(&self) -> bool {
        self.consumers.values().any(|reader| reader.is_expected && !reader.is_detached)
    }

    /// No pages are kept any more for those who are expected.
    fn let_go(&mut self) {
        for reader in self.consumers.values_mut() {
            reader.is_detached |= reader.is_expected;
        }
    }

    /// Sends those away who are farther behind than they could be had nobody been expected.
    fn let_go_of_distant(&mut self) {
        let (mut held, mut nearest) = (0, self.head());
        for page in self.pages.iter().rev() {
            held += page.bytes;
            if held > BOUND {
                break;
            }
            nearest -= 1;
        }
        for reader in self.consumers.values_mut() {
            reader.is_detached |= reader.position < nearest;
        }
    }

    /// The position of the slowest.
    fn slowest(&self) -> u64 {
        let reading = self.consumers.values().filter(|reader| !reader.is_detached);
        reading.map(|reader| reader.position).min().unwrap_or(self.head())
    }

    /// Forgets pages that all have read, once they are too many to keep all; whether somebody waited for that.
    fn free(&mut self) -> bool {
        let keeps_all = self.first == 0 && self.bytes <= KEPT && self.uncounted == 0;
        if keeps_all {
            return false;
        }
        let slowest = self.slowest();
        let mut has_room = false;
        while self.first < slowest
            && let Some(page) = self.pages.pop_front()
        {
            self.first += 1;
            self.bytes -= page.bytes;
            match page.is_counted {
                true => self.reservation.shrink(page.bytes),
                false => self.uncounted -= 1,
            }
            has_room = true;
        }
        has_room && std::mem::take(&mut self.is_awaited)
    }

    fn push(&mut self, batch: RecordBatch, producer: u64) {
        let bytes = page_bytes(&batch);
        let is_counted = self.reservation.try_grow(bytes).is_ok();
        self.uncounted += usize::from(!is_counted);
        self.bytes += bytes;
        let cost = std::mem::take(&mut self.cost);
        self.pages.push_back(Page {
            stretch: self.stretch,
            batch,
            cost,
            producer,
            bytes,
            is_counted,
        });
    }

    /// Sends those away for whom the others have waited too long; else says when that will be.
    fn detach_slowest(
        &mut self,
        now: Instant,
        since: Instant,
        patience: super::load::Patience,
    ) -> Option<Instant> {
        let (slowest, mut next) = (self.slowest(), None);
        let mut is_free = false;
        let behind = |reader: &&mut Reader| !reader.is_detached && reader.position == slowest;
        for reader in self.consumers.values_mut().filter(behind) {
            let limit = patience.limit(since, reader.last_read);
            if now >= limit {
                (reader.is_detached, is_free) = (true, true);
            } else {
                next = Some(next.map_or(limit, |next: Instant| next.min(limit)));
            }
        }
        next.filter(|_| !is_free)
    }
}

/// One consumer's turn at the producer.
struct Turn<'a> {
    list: &'a Arc<SharedPages>,
    is_over: bool,
}

impl Turn<'_> {
    /// Runs the producer for one page, or to the end of its stretch.
    fn produce(mut self, producer: Producer, stretch: u64, consumer: u64) -> Poll<()> {
        let began = Instant::now();
        let waker = Waker::from(self.list.waiting.clone());
        let calls = self.list.waiting.calls();
        let mut stream = match producer {
            Producer::Running(stream) => stream,
            _ => match self.list.host.stretch(stretch) {
                Ok(stream) => stream,
                Err(error) => return self.end(|state| state.producer = failed(error)),
            },
        };
        // Whoever runs the producer does so for all: it goes on when that one's statement ends.
        let mut context = Context::from_waker(&waker);
        let polled = within(Some(self.list.clone()), || stream.poll_next_unpin(&mut context));
        let cost = began.elapsed();
        match polled {
            Poll::Ready(Some(Ok(batch))) => self.end(|state| {
                state.cost += cost;
                state.producer = Producer::Running(stream);
                if batch.num_rows() > 0 {
                    state.push(batch, consumer);
                }
            }),
            Poll::Ready(Some(Err(error))) => self.end(|state| state.producer = failed(error)),
            Poll::Ready(None) => self.end(|state| {
                state.cost += cost;
                state.stretch += 1;
                state.producer = Producer::Between;
            }),
            Poll::Pending => {
                self.is_over = true;
                let mut state = self.list.state.lock();
                state.cost += cost;
                state.producer = Producer::Running(stream);
                drop(state);
                // Called meanwhile, which others who came later have not heard: any of them may go on.
                if self.list.waiting.calls() != calls {
                    self.list.waiting.wake_all();
                }
                Poll::Pending
            }
        }
    }

    fn end(&mut self, change: impl FnOnce(&mut State)) -> Poll<()> {
        self.is_over = true;
        change(&mut self.list.state.lock());
        self.list.waiting.wake_all();
        Poll::Ready(())
    }
}

impl Drop for Turn<'_> {
    /// Nobody waits for a producer that panicked.
    fn drop(&mut self) {
        if !self.is_over {
            let error = DataFusionError::Internal("a shared sub-plan panicked".to_owned());
            self.list.state.lock().producer = failed(error);
            self.list.waiting.wake_all();
        }
    }
}

fn failed(error: DataFusionError) -> Producer {
    Producer::Failed(match error {
        DataFusionError::Shared(error) => error,
        error => Arc::new(error),
    })
}

/// What a page holds in memory, without what it only refers to in a table's chunks.
fn page_bytes(batch: &RecordBatch) -> usize {
    let column_bytes = |column: &Arc<dyn Array>| {
        let own = column.to_data().get_slice_memory_size();
        let own = own.unwrap_or_else(|_| column.get_array_memory_size());
        match column.data_type() {
            // Views of long strings hold their bytes too, in a chunk or in a buffer of their own.
            DataType::Utf8View => {
                let lengths = column.as_string_view().lengths().map(|length| length as usize);
                own + lengths.filter(|length| *length > 12).sum::<usize>()
            }
            _ => own,
        }
    };
    batch.columns().iter().map(column_bytes).sum::<usize>()
}
