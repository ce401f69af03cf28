//! Who waits for a batch: as long as somebody does, its work goes on.
//!
//! In come its requests, of which each has activations that wait and perhaps equal ones that follow ([`super::hosts`]);
//! out goes whether all of them have left. Called by [`super::pipeline`] and [`super::ring`] from chunk to chunk, and by
//! [`super::run`], whose answers are none once everybody has left: they would lack the rows of what was left out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::batch::Request;
use super::hosts::{Hosting, Place};

/// Everybody who waits for a batch.
pub struct Audience {
    /// Cancel flags of those whom the batch was formed of.
    flags: Vec<Arc<AtomicBool>>,
    /// Where others may follow them.
    places: Vec<Place>,
    /// Somebody has seen that nobody is left, and work was left out for it. It stays so, though equal newcomers may still
    /// come.
    has_left: AtomicBool,
}

impl Audience {
    /// Those who wait for these requests.
    pub fn of<'a>(requests: impl Iterator<Item = &'a Request> + Clone) -> Audience {
        let flags = requests.clone().flat_map(|request| &request.waiting);
        let places = requests.filter_map(|request| request.hosting.as_ref());
        Audience {
            flags: flags.map(|waiting| waiting.cancelled.clone()).collect(),
            places: places.filter_map(Hosting::place).collect(),
            has_left: AtomicBool::default(),
        }
    }

    /// Whether nobody waits any more, now or when it was asked before. One look where somebody waits, mostly; no lock is
    /// taken before all flags are set.
    pub fn has_left(&self) -> bool {
        if self.was_seen_leaving() {
            return true;
        }
        let has_left = self.flags.iter().all(|flag| flag.load(Ordering::Relaxed))
            && !self.places.iter().any(Place::is_awaited);
        if has_left {
            self.has_left.store(true, Ordering::Release);
        }
        has_left
    }

    /// Whether anybody was told that all have left.
    pub fn was_seen_leaving(&self) -> bool {
        self.has_left.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_left_has_left() {
        let flags: Vec<Arc<AtomicBool>> = vec![Arc::default(), Arc::default()];
        let (places, has_left) = (Vec::new(), AtomicBool::default());
        let audience = Audience { flags: flags.clone(), places, has_left };
        flags[0].store(true, Ordering::Relaxed);
        assert!(!audience.has_left(), "one still waits");
        flags[1].store(true, Ordering::Relaxed);
        assert!(!audience.was_seen_leaving(), "nobody has asked");
        assert!(audience.has_left());
        flags[0].store(false, Ordering::Relaxed);
        assert!(audience.has_left(), "what was left out is not there, whatever the flags say");
        assert!(audience.was_seen_leaving());
    }
}
