//! From waiting activations to a batch: cancelled ones answered, snapshots pinned, equal ones collapsed. And from a
//! request's answer to all who wait for it.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::hosts::Hosting;
use crate::heartbeat::encodings::Room;
use crate::heartbeat::{Activation, Sharing, Template, Witness};
use crate::storage::{Snapshot, Store};
use crate::types::{Error, SqlState, TemplateId, Value, ValueRef, Version};

/// Activations of one snapshot that share in the same way, equal ones as one.
pub struct Batch {
    /// What all of them read.
    pub snapshot: Snapshot,
    /// Distinct requests; slot `i` is `requests[i]`.
    pub requests: Vec<Request>,
}

/// One distinct request and everybody who waits for its answer.
pub struct Request {
    /// What to run.
    pub template: Arc<Template>,
    /// As the activations brought them.
    pub parameters: Arc<[Value]>,
    /// Of template and parameters.
    pub hash: u64,
    /// The same for all of a batch.
    pub sharing: Sharing,
    /// Who waits.
    pub waiting: Vec<Waiting>,
    /// Where equal activations that come meanwhile find it.
    pub hosting: Option<Hosting>,
}

/// What became of a request's satellites.
#[derive(Default)]
pub struct Followed {
    /// Answered with it.
    pub answered: usize,
    /// Its answer was an error, perhaps only its own: they have to ask by themselves.
    pub unanswered: Vec<Activation>,
}

/// One activation of a request.
pub struct Waiting {
    /// Set when it is cancelled.
    pub cancelled: Arc<std::sync::atomic::AtomicBool>,
    /// Where the heartbeat's figures go.
    pub figures: Option<Arc<std::sync::OnceLock<super::Figures>>>,
    /// Where the answer goes.
    pub receiver: Box<dyn crate::heartbeat::Receiver>,
}

/// The error of a cancelled activation.
pub fn cancelled() -> Error {
    Error::new(SqlState::QueryCanceled, "canceling statement due to user request")
}

impl Waiting {
    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// What the requests of a batch are answered from.
pub struct Source<'a> {
    snapshot: &'a Snapshot,
    witness: Option<Witness>,
}

impl Source<'_> {
    /// Of a batch of these requests.
    pub fn new<'a>(snapshot: &'a Snapshot, requests: &[Request]) -> Source<'a> {
        let mut waiting = requests.iter().flat_map(|request| &request.waiting);
        let is_witnessed = waiting.any(|one| one.receiver.is_witnessed());
        let members = requests.iter().map(|request| (&*request.template, &request.parameters));
        let witness = is_witnessed.then(|| Witness::new(snapshot, members));
        Source { snapshot, witness }
    }

    /// Tells all who want to know and wait for this request. Where only its satellites do, it is the only member that is
    /// known.
    fn tell(&self, request: &mut Request) {
        let Request { template, parameters, waiting, .. } = request;
        let wanting = waiting.iter_mut().filter(|one| one.receiver.is_witnessed());
        for one in wanting {
            match &self.witness {
                Some(witness) => one.receiver.witness(witness),
                None => {
                    let members = std::iter::once((&**template, &*parameters));
                    one.receiver.witness(&Witness::new(self.snapshot, members));
                }
            }
        }
    }
}

impl Request {
    /// Whether nobody waits for it any more.
    pub fn is_cancelled(&self) -> bool {
        let is_followed = || self.hosting.as_ref().is_some_and(Hosting::is_awaited);
        self.waiting.iter().all(Waiting::is_cancelled) && !is_followed()
    }

    /// Activations that wait for it, satellites included.
    pub fn activations(&self) -> usize {
        self.waiting.len() + self.hosting.as_ref().map_or(0, Hosting::satellites)
    }

    /// Gives the answer to everybody who waits: 57014 to those who were cancelled meanwhile.
    pub fn answer(
        mut self,
        mut answer: crate::types::Result<crate::heartbeat::Answer>,
        source: &Source<'_>,
        room: &Room,
    ) -> Followed {
        let satellites = self.hosting.take().map_or_else(Vec::new, Hosting::end);
        let mut followed = Followed::default();
        match &mut answer {
            Err(_) => followed.unanswered = satellites,
            Ok(answer) => {
                followed.answered = satellites.len();
                self.waiting.extend(satellites.into_iter().map(Waiting::of));
                if self.waiting.len() > 1 {
                    answer.encodings = room.encodings(answer.rows() * answer.output.len());
                }
            }
        }
        source.tell(&mut self);
        let mut waiting = self.waiting.into_iter();
        let last = waiting.next_back();
        for one in waiting {
            one.answer(answer.clone());
        }
        if let Some(last) = last {
            last.answer(answer);
        }
        followed
    }
}

impl Waiting {
    fn of(activation: Activation) -> Waiting {
        let Activation { cancelled, figures, receiver, .. } = activation;
        Waiting { cancelled, figures, receiver }
    }

    fn answer(self, answer: crate::types::Result<crate::heartbeat::Answer>) {
        match self.is_cancelled() {
            true => self.receiver.receive(Err(cancelled())),
            false => self.receiver.receive(answer),
        }
    }
}

/// The only activation of a batch.
pub struct Lone {
    template: Arc<Template>,
    cancelled: Arc<std::sync::atomic::AtomicBool>,
}

impl Lone {
    /// The only activation of these requests.
    pub fn of(requests: &[Request]) -> Option<Lone> {
        let [Request { template, waiting, .. }] = requests else { return None };
        let [Waiting { cancelled, .. }] = &waiting[..] else { return None };
        Some(Lone { template: template.clone(), cancelled: cancelled.clone() })
    }

    /// Notes what it took, unless it was not run to its end.
    pub fn note(&self, took: std::time::Duration) {
        if !self.cancelled.load(std::sync::atomic::Ordering::Relaxed) {
            self.template.note_global(took);
        }
    }
}

/// How the requests of a batch share.
pub fn sharing<'a>(mut requests: impl Iterator<Item = &'a Request>) -> Sharing {
    requests.next().map_or(Sharing::Automatic, |request| request.sharing)
}

/// The templates of all who wait.
pub fn templates(requests: &[Request]) -> Vec<TemplateId> {
    let waiting = |request: &Request| vec![request.template.id; request.waiting.len()];
    requests.iter().flat_map(waiting).collect()
}

/// Sorts activations into batches, one per snapshot and way of sharing; those without a snapshot of their own read the
/// newest version.
pub fn form(activations: Vec<Activation>, store: &Arc<Store>) -> Vec<Batch> {
    let newest = store.snapshot();
    let mut groups: Vec<(Snapshot, Vec<Activation>)> = Vec::new();
    for mut activation in activations {
        if activation.cancelled.load(std::sync::atomic::Ordering::Relaxed) {
            activation.receiver.receive(Err(cancelled()));
            continue;
        }
        let snapshot = activation.snapshot.take();
        let version = snapshot.as_ref().map_or(newest.version(), Snapshot::version);
        match position(&groups, version, activation.sharing) {
            Some(position) => groups[position].1.push(activation),
            None => groups.push((snapshot.unwrap_or_else(|| newest.clone()), vec![activation])),
        }
    }
    let batch = |(snapshot, all)| Batch { snapshot, requests: collapse(all) };
    groups.into_iter().map(batch).collect()
}

/// Activations of many different snapshots are rare (blocks that read an old one): a linear search serves.
fn position(
    groups: &[(Snapshot, Vec<Activation>)],
    version: Version,
    sharing: Sharing,
) -> Option<usize> {
    groups.iter().position(|(snapshot, activations)| {
        snapshot.version() == version && activations[0].sharing == sharing
    })
}

/// Equal activations become one request with many receivers. Requests come out ordered by template.
fn collapse(activations: Vec<Activation>) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::with_capacity(activations.len());
    let mut known: HashTable<usize> = HashTable::new();
    for activation in activations {
        let parameters = activation.parameters.clone();
        let hash = hash(&activation.template, &parameters);
        let same = |i: &usize| {
            let other = &requests[*i];
            other.template.id == activation.template.id && equal(&other.parameters, &parameters)
        };
        if let Some(found) = known.find(hash, same) {
            requests[*found].waiting.push(Waiting::of(activation));
            continue;
        }
        known.insert_unique(hash, requests.len(), |i: &usize| requests[*i].hash);
        let (template, sharing, hosting) = (activation.template.clone(), activation.sharing, None);
        let waiting = vec![Waiting::of(activation)];
        requests.push(Request { template, parameters, hash, sharing, waiting, hosting });
    }
    requests.sort_by_key(|request| request.template.id);
    requests
}

/// Whether parameters are equal bit for bit: 0.0 and -0.0 are equal in SQL but may print differently.
pub fn equal(a: &[Value], b: &[Value]) -> bool {
    let same = |(a, b): (&Value, &Value)| match (a.borrow(), b.borrow()) {
        (ValueRef::Real(a), ValueRef::Real(b)) => a.to_bits() == b.to_bits(),
        (ValueRef::Double(a), ValueRef::Double(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

pub fn hash(template: &Template, parameters: &[Value]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    template.id.hash(&mut hasher);
    parameters.iter().for_each(|value| hash_value(value.borrow(), &mut hasher));
    hasher.finish()
}

fn hash_value(value: ValueRef<'_>, hasher: &mut impl Hasher) {
    match value {
        ValueRef::Null => hasher.write_u8(0),
        ValueRef::Boolean(v) => v.hash(hasher),
        ValueRef::SmallInt(v) => v.hash(hasher),
        ValueRef::Integer(v) | ValueRef::Date(v) => v.hash(hasher),
        ValueRef::BigInt(v) | ValueRef::Timestamp(v) | ValueRef::TimestampTz(v) => v.hash(hasher),
        ValueRef::Real(v) => v.to_bits().hash(hasher),
        ValueRef::Double(v) => v.to_bits().hash(hasher),
        ValueRef::Numeric(v, scale) => (v, scale).hash(hasher),
        ValueRef::Text(v) => v.hash(hasher),
        ValueRef::Bytea(v) => v.hash(hasher),
    }
}

/// Values as bytes: equal bytes, equal values, bit for bit.
pub fn key<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<u8> {
    let mut bytes = Bytes(Vec::new());
    for value in values {
        let tag = match value.borrow() {
            ValueRef::Null => 3,
            ValueRef::Text(text) => {
                bytes.write_usize(text.len());
                1
            }
            ValueRef::Bytea(data) => {
                bytes.write_usize(data.len());
                2
            }
            _ => 0,
        };
        bytes.write_u8(tag);
        hash_value(value.borrow(), &mut bytes);
    }
    bytes.0
}

/// Keeps what is hashed.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.len() as u64
    }
}
