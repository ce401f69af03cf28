//! Requests under way as hosts of equal activations that come meanwhile.
//!
//! Simultaneous pipelining of whole statements ("Sharing Data and Work Across Concurrent Analytical Queries", section 2.3):
//! an activation that equals a request of a running batch, and whose snapshot sees the same rows of all tables that the
//! statement reads, is its satellite. It waits for that answer in place of a batch of its own. No answer has a row before
//! its batch is done, so that the window of opportunity is open to the end.
//! Its work goes on for it when those whom the batch was formed of have left ([`super::audience`]).
//! Called by [`super::Reads::submit`] for each activation of a heavy lane, by [`super::lead`] and [`super::generation`] for
//! the requests of each batch, and by [`super::batch`] when a request is answered.
//! Absent here: whether an answer is an error. Satellites of a request that fails ask by themselves.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::HashTable;
use parking_lot::Mutex;

use super::batch::{self, Batch, Request};
use super::lane::Lane;
use crate::heartbeat::{Activation, Template};
use crate::storage::{Snapshot, Store, Table};
use crate::types::{TableId, TemplateId, Value, Version};

/// The hosts of a lane.
#[derive(Default)]
pub struct Hosts(Mutex<UnderWay>);

#[derive(Default)]
struct UnderWay {
    hosts: HashTable<Host>,
    /// The next host's number.
    next: u64,
    /// Of all hosts.
    satellites: usize,
}

struct Host {
    number: u64,
    hash: u64,
    template: TemplateId,
    parameters: Arc<[Value]>,
    seen: Arc<[Seen]>,
    satellites: Vec<Activation>,
}

/// A table that a statement reads, and the last version that has changed what its batch sees of it.
struct Seen {
    id: TableId,
    table: Arc<Table>,
    changed: Version,
}

/// A request's place among the hosts, which it leaves when it is answered or dropped.
pub struct Hosting {
    /// `None` once it has left.
    place: Option<Place>,
}

/// Where a request under way is found among its lane's hosts.
#[derive(Clone)]
pub struct Place {
    lane: Arc<Lane>,
    number: u64,
    hash: u64,
}

impl Hosts {
    /// Makes an activation the satellite of an equal request under way; given back where there is none, or where `limit`
    /// satellites wait already.
    pub fn follow(
        &self,
        activation: Activation,
        store: &Store,
        limit: usize,
    ) -> Option<Activation> {
        // Whose figures are wanted has a batch to tell of.
        if activation.figures.is_some() {
            return Some(activation);
        }
        let hash = batch::hash(&activation.template, &activation.parameters);
        let own = activation.snapshot.as_ref().map(Snapshot::version);
        let version = own.unwrap_or_else(|| store.published());
        let mut under_way = self.0.lock();
        let has_room = under_way.satellites < limit;
        let is_host = |host: &Host| {
            host.template == activation.template.id
                && batch::equal(&host.parameters, &activation.parameters)
                && host.seen.iter().all(|seen| seen.is_same(store, version))
        };
        let Some(host) = under_way.hosts.find_mut(hash, is_host).filter(|_| has_room) else {
            return Some(activation);
        };
        host.satellites.push(activation);
        under_way.satellites += 1;
        None
    }

    /// Makes hosts of a batch's requests.
    pub fn enter(lane: &Arc<Lane>, batch: &mut Batch, store: &Store) {
        let version = batch.snapshot.version();
        let mut under_way = lane.hosts.0.lock();
        let same_template = |a: &Request, b: &Request| a.template.id == b.template.id;
        for requests in batch.requests.chunk_by_mut(same_template) {
            let Some(seen) = Seen::of(&requests[0].template, store, version) else { continue };
            for request in requests {
                request.hosting = Some(under_way.enter(lane, request, seen.clone()));
            }
        }
    }
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let under_way = self.0.lock();
        write!(f, "{} hosts, {} satellites", under_way.hosts.len(), under_way.satellites)
    }
}

impl UnderWay {
    fn enter(&mut self, lane: &Arc<Lane>, request: &Request, seen: Arc<[Seen]>) -> Hosting {
        let Request { hash, parameters, .. } = request;
        let (number, hash) = (self.next, *hash);
        self.next += 1;
        let host = Host {
            number,
            hash,
            template: request.template.id,
            parameters: parameters.clone(),
            seen,
            satellites: Vec::new(),
        };
        self.hosts.insert_unique(hash, host, |host| host.hash);
        Hosting { place: Some(Place { lane: lane.clone(), number, hash }) }
    }

    fn leave(&mut self, number: u64, hash: u64) -> Vec<Activation> {
        let left = self.hosts.find_entry(hash, |host| host.number == number);
        let satellites = left.map_or_else(|_| Vec::new(), |entry| entry.remove().0.satellites);
        self.satellites -= satellites.len();
        satellites
    }
}

impl Seen {
    /// Of all tables of a template; `None` where it is not known any more when one of them was changed.
    fn of(template: &Template, store: &Store, version: Version) -> Option<Arc<[Seen]>> {
        let program = template.program();
        let seen = program.planned_for.iter().map(|planned| {
            let id = planned.table;
            let table = store.table(id)?;
            let changed = table.last_change(version)?;
            Some(Seen { id, table, changed })
        });
        seen.collect()
    }

    fn is_same(&self, store: &Store, version: Version) -> bool {
        let table = store.table(self.id);
        table.is_some_and(|table| Arc::ptr_eq(&table, &self.table))
            && self.table.last_change(version) == Some(self.changed)
    }
}

impl Hosting {
    /// How many satellites it has.
    pub fn satellites(&self) -> usize {
        self.place.as_ref().map_or(0, |place| place.with(|satellites| satellites.len()))
    }

    /// Whether somebody follows who was not cancelled.
    pub fn is_awaited(&self) -> bool {
        self.place.as_ref().is_some_and(Place::is_awaited)
    }

    /// Where to look for it; `None` once it has left.
    pub fn place(&self) -> Option<Place> {
        self.place.clone()
    }

    /// Ends it: who follows.
    pub fn end(mut self) -> Vec<Activation> {
        self.leave()
    }

    fn leave(&mut self) -> Vec<Activation> {
        let Some(Place { lane, number, hash }) = self.place.take() else { return Vec::new() };
        lane.hosts.0.lock().leave(number, hash)
    }
}

impl Place {
    /// Whether somebody follows who was not cancelled.
    pub fn is_awaited(&self) -> bool {
        let waits = |satellite: &Activation| !satellite.cancelled.load(Ordering::Relaxed);
        self.with(|satellites| satellites.iter().any(waits))
    }

    /// What `look` sees in its satellites.
    fn with<T>(&self, look: impl FnOnce(&[Activation]) -> T) -> T {
        let under_way = self.lane.hosts.0.lock();
        let host = under_way.hosts.find(self.hash, |host| host.number == self.number);
        look(host.map_or(&[], |host| &host.satellites[..]))
    }
}

impl Drop for Hosting {
    fn drop(&mut self) {
        // Nobody is left where it has ended; where it has not, nobody could answer.
        drop(self.leave());
    }
}
