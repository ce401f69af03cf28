//! The pass over a fact table as a ring of chunks, which outlives the generation that began it.
//!
//! A generation is a batch with its own snapshot, slots and run; its rider goes once around the ring, from wherever the
//! ring is when it gets on (CJOIN's continuous scan, "Sharing Data and Work Across Concurrent Analytical Queries",
//! section 3.3). In come riders, from [`super::run`] for a batch by itself and from [`super::generation`] while the ring
//! turns; out go riders that have gone around, with their groups. Workers take chunk after chunk ([`Ring::help`]): each
//! rider reads the chunk at its own snapshot, rows that several read alike meet the dimensions once for all of them
//! ([`crate::operators::MergedStars`]).
//!
//! One thread owns the ring: it lets riders on and takes them off; all others only turn it.

mod rider;
mod worker;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::{Condvar, Mutex, MutexGuard};

pub use self::rider::{Finished, Rider, StarPass};
use self::worker::Worker;
use super::pool::Loop;
use super::run::Rows;
use crate::operators::MergedStars;
use crate::storage::Table;
use crate::types::ChunkId;

/// A pass over a fact table.
pub struct Ring {
    table: Arc<Table>,
    state: Mutex<State>,
    /// Signalled when a rider has gone around, or a worker panicked.
    around: Condvar,
}

struct State {
    epoch: Arc<Epoch>,
    /// By rider of the epoch.
    turns: Vec<Turn>,
    /// The chunk that was handed out last.
    cursor: Option<ChunkId>,
    /// Riders that have gone around and whose chunks are all done.
    completed: Vec<Arc<Rider>>,
    /// By worker inside [`Ring::help`], whether the place is taken: builds belong to places.
    seats: Vec<bool>,
    panicked: bool,
}

/// Riders from one boarding or getting off to the next.
struct Epoch {
    riders: Vec<Arc<Rider>>,
    /// By rider, its position in `merged`.
    members: Vec<usize>,
    /// Their dimensions together, where there are several and they fit.
    merged: Option<Arc<MergedStars>>,
}

/// How far a rider is.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Position of its first chunk.
    start: usize,
    /// Chunks handed out.
    handed: usize,
    /// Whether its index probes were.
    probed: bool,
    /// Whether, after all of these, what workers have put off was.
    rested: bool,
}

/// A piece of work.
enum Morsel {
    /// All index probes of a rider.
    Probes(usize),
    /// A chunk, and the riders that want it.
    Chunk(ChunkId, Vec<usize>),
    /// Rows that workers have put off of a rider that is around.
    Rest(usize),
}

/// What a worker gets.
enum Taken {
    Morsel(Morsel),
    /// Others ride now.
    Changed,
    Nothing,
}

impl Ring {
    /// A ring with its first rider.
    pub fn new(pass: StarPass) -> (Arc<Ring>, Arc<Rider>) {
        let state = State {
            epoch: Arc::new(Epoch { riders: Vec::new(), members: Vec::new(), merged: None }),
            turns: Vec::new(),
            cursor: None,
            completed: Vec::new(),
            seats: Vec::new(),
            panicked: false,
        };
        let table = pass.fact.view().table().clone();
        let ring = Ring { table, state: Mutex::new(state), around: Condvar::new() };
        let rider = ring.board(pass);
        (Arc::new(ring), rider)
    }

    /// Owner: lets a rider on; it begins with the next chunk.
    pub fn board(&self, pass: StarPass) -> Arc<Rider> {
        // Nobody else lets riders on: what rides now and at the end of this function differs by those who get off.
        let mut riders = self.state.lock().riding();
        let rider = Arc::new(Rider::new(pass));
        riders.push(rider.clone());
        let stars: Vec<_> = riders.iter().map(|rider| rider.star()).collect();
        let merged = (stars.len() > 1).then(|| MergedStars::new(&stars)).flatten().map(Arc::new);
        let members = (0..riders.len()).collect();
        self.state.lock().change(Epoch { riders, members, merged });
        rider
    }

    /// Owner: takes the riders off that have gone around.
    pub fn completed(&self) -> Vec<Arc<Rider>> {
        let mut state = self.state.lock();
        let completed = std::mem::take(&mut state.completed);
        if !completed.is_empty() {
            let rides = |rider: &Arc<Rider>| !completed.iter().any(|off| Arc::ptr_eq(off, rider));
            let left = state.epoch.riders.iter().zip(&state.epoch.members);
            let left = left.filter(|(rider, _)| rides(rider));
            let (riders, members) = left.map(|(rider, n)| (rider.clone(), *n)).unzip();
            let merged = state.epoch.merged.clone();
            state.change(Epoch { riders, members, merged });
        }
        completed
    }

    /// Whether a rider has gone around.
    pub fn has_completed(&self) -> bool {
        !self.state.lock().completed.is_empty()
    }

    /// Owner: waits for a rider to go around where all chunks are handed out. Panics where a worker did.
    pub fn wait(&self) {
        let mut state = self.state.lock();
        while state.completed.is_empty() && !state.has_work() && !state.panicked {
            self.around.wait(&mut state);
        }
        assert!(!state.panicked, "a worker panicked in a shared operator");
    }

    /// Share of its way that the youngest rider has behind it.
    pub fn progress(&self) -> f64 {
        let state = self.state.lock();
        let youngest = state.turns.last().zip(state.epoch.riders.last());
        // Nobody: what still rides has its last chunks done at this moment.
        youngest
            .map_or(1.0, |(turn, rider)| turn.handed as f64 / rider.chunks().len().max(1) as f64)
    }

    /// Morsels left to be taken.
    pub fn morsels(&self) -> usize {
        let state = self.state.lock();
        let riders = state.epoch.riders.iter().zip(&state.turns);
        riders.map(|(rider, turn)| rider.chunks().len() + 1 - turn.handed).sum()
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    fn take(&self, epoch: &Arc<Epoch>) -> Taken {
        let mut state = self.state.lock();
        if !Arc::ptr_eq(&state.epoch, epoch) {
            return Taken::Changed;
        }
        let taken = state.next();
        if !state.completed.is_empty() {
            self.around.notify_all();
        }
        taken.map_or(Taken::Nothing, Taken::Morsel)
    }

    /// A rider's chunk is done.
    fn done(&self, rider: &Arc<Rider>) {
        if rider.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.state.lock().completed.push(rider.clone());
            self.around.notify_all();
        }
    }

    fn sit_down(&self) -> Seat<'_> {
        let mut state = self.state.lock();
        let free = state.seats.iter().position(|taken| !taken);
        let number = free.unwrap_or(state.seats.len());
        match free {
            Some(_) => state.seats[number] = true,
            None => state.seats.push(true),
        }
        Seat { ring: self, number }
    }
}

impl State {
    /// Whom something is left for.
    fn riding(&self) -> Vec<Arc<Rider>> {
        let riders = self.epoch.riders.iter().zip(&self.turns);
        let riding = riders.filter(|(rider, turn)| !turn.is_over(rider));
        riding.map(|(rider, _)| rider.clone()).collect()
    }

    fn change(&mut self, epoch: Epoch) {
        self.turns = epoch.riders.iter().map(|rider| self.turn(rider)).collect();
        self.epoch = Arc::new(epoch);
    }

    /// How far a rider is; one that is new begins after the chunk that was handed out last.
    fn turn(&self, rider: &Arc<Rider>) -> Turn {
        let known = self.epoch.riders.iter().position(|other| Arc::ptr_eq(other, rider));
        known.map_or_else(
            || {
                let start = rider.chunks().partition_point(|chunk| Some(*chunk) <= self.cursor);
                rider.begins_at(start);
                Turn { start, handed: 0, probed: false, rested: false }
            },
            |known| self.turns[known],
        )
    }

    fn has_work(&self) -> bool {
        self.epoch.riders.iter().zip(&self.turns).any(|(rider, turn)| !turn.is_over(rider))
    }

    fn next(&mut self) -> Option<Morsel> {
        self.put_off_abandoned();
        if let Some(rider) = self.turns.iter().position(|turn| !turn.probed) {
            self.turns[rider].probed = true;
            self.note_around(rider);
            return Some(Morsel::Probes(rider));
        }
        self.next_rest().or_else(|| self.next_chunk())
    }

    /// A rider that is around: what workers with nothing else to do have put off should not be left to its owner.
    fn next_rest(&mut self) -> Option<Morsel> {
        let mut turns = self.epoch.riders.iter().zip(&mut self.turns);
        let rider = turns.position(|(rider, turn)| turn.is_around(rider) && !turn.rested)?;
        self.turns[rider].rested = true;
        Some(Morsel::Rest(rider))
    }

    /// The next chunk around the ring that somebody wants, and who: every rider wants its own chunks in the same order.
    fn next_chunk(&mut self) -> Option<Morsel> {
        let riders = self.epoch.riders.iter().zip(&self.turns);
        let wanted: Vec<Option<ChunkId>> = riders.map(|(rider, turn)| turn.next(rider)).collect();
        let ahead = wanted.iter().flatten().filter(|chunk| Some(**chunk) > self.cursor).min();
        let chunk = *ahead.or_else(|| wanted.iter().flatten().min())?;
        let takes = |rider: &usize| wanted[*rider] == Some(chunk);
        let takers: Vec<usize> = (0..wanted.len()).filter(takes).collect();
        self.cursor = Some(chunk);
        for &rider in &takers {
            self.turns[rider].handed += 1;
            self.note_around(rider);
        }
        Some(Morsel::Chunk(chunk, takers))
    }

    fn note_around(&mut self, rider: usize) {
        if self.turns[rider].is_around(&self.epoch.riders[rider]) {
            self.epoch.riders[rider].is_around.store(true, Ordering::Relaxed);
        }
    }

    /// Riders that nobody waits for any more get off.
    fn put_off_abandoned(&mut self) {
        for (rider, turn) in self.epoch.riders.iter().zip(&mut self.turns) {
            if turn.is_over(rider) || !rider.is_abandoned() {
                continue;
            }
            let chunks = rider.chunks().len();
            let left = chunks - turn.handed + usize::from(!turn.probed) + usize::from(!turn.rested);
            (turn.handed, turn.probed, turn.rested) = (chunks, true, true);
            if rider.left.fetch_sub(left, Ordering::AcqRel) == left {
                self.completed.push(rider.clone());
            }
        }
    }
}

impl Turn {
    fn is_around(&self, rider: &Rider) -> bool {
        self.probed && self.handed == rider.chunks().len()
    }

    /// Whether nothing is left to be handed out.
    fn is_over(&self, rider: &Rider) -> bool {
        self.is_around(rider) && self.rested
    }

    fn next(&self, rider: &Rider) -> Option<ChunkId> {
        let chunks = rider.chunks();
        (self.handed < chunks.len()).then(|| chunks[(self.start + self.handed) % chunks.len()])
    }
}

impl Loop for Ring {
    fn has_work(&self) -> bool {
        self.state.lock().has_work()
    }

    fn help(&self, leave: &dyn Fn() -> bool) {
        let seat = self.sit_down();
        let mut changed = true;
        while changed {
            let epoch = self.state.lock().epoch.clone();
            let parameters: Vec<Rows<'_>> =
                epoch.riders.iter().map(|rider| rider.parameters()).collect();
            let mut worker = Worker::new(&epoch, &parameters, seat.number);
            changed = false;
            while !leave() {
                match self.take(&epoch) {
                    Taken::Morsel(morsel) => worker.run(morsel, &|rider| self.done(rider)),
                    Taken::Changed => {
                        changed = true;
                        break;
                    }
                    Taken::Nothing => break,
                }
            }
        }
    }
}

/// A worker's place while it helps.
struct Seat<'a> {
    ring: &'a Ring,
    number: usize,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut state: MutexGuard<'_, State> = self.ring.state.lock();
        state.seats[self.number] = false;
        if std::thread::panicking() {
            state.panicked = true;
            self.ring.around.notify_all();
        }
    }
}
