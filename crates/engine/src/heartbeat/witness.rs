//! What an activation's answer was computed from: its batch's snapshot and members, for whoever verifies the answer.
//!
//! A receiver that wants to know says so ([`super::Receiver::is_witnessed`]) and is told before its answer. A batch without
//! such a receiver does nothing for this but ask.

use std::sync::Arc;

use super::Template;
use crate::storage::Snapshot;
use crate::types::Value;

/// Members that a witness names; of larger batches the first ones.
const NAMED: usize = 256;

/// What a batch read, and for whom.
#[derive(Clone, Debug)]
pub struct Witness {
    /// What it read, pinned as long as the witness lives.
    pub snapshot: Snapshot,
    /// Distinct requests of the batch.
    pub requests: usize,
    /// The requests, the one that is told included; the first ones of a large batch.
    pub members: Arc<[Member]>,
}

/// A request of a batch.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its template.
    pub text: Arc<str>,
    /// Its parameters, lifted literals included.
    pub parameters: Arc<[Value]>,
}

impl Witness {
    /// Of a batch of these requests.
    pub(super) fn new<'a>(
        snapshot: &Snapshot,
        requests: impl ExactSizeIterator<Item = (&'a Template, &'a Arc<[Value]>)>,
    ) -> Witness {
        let (snapshot, count) = (snapshot.clone(), requests.len());
        let member = |(template, parameters): (&Template, &Arc<[Value]>)| Member {
            text: template.plan.text.clone(),
            parameters: parameters.clone(),
        };
        Witness { snapshot, requests: count, members: requests.take(NAMED).map(member).collect() }
    }
}
