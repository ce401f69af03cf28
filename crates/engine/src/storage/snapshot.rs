//! A pinned point in the order of commits.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::types::Version;

/// Who pins lies in one of these, by thread, so that threads do not meet. A thread that finds its
/// shard taken takes another one: nobody waits for a thread that was preempted.
const SHARDS: usize = 32;

/// While it lives, row versions that it sees are not reclaimed. Cloning pins once more.
#[derive(Debug)]
pub struct Snapshot {
    registry: Arc<SnapshotRegistry>,
    version: Version,
    shard: usize,
}

/// The published version and the pinned ones.
#[derive(Debug)]
pub(super) struct SnapshotRegistry {
    published: AtomicU64,
    shards: [Shard; SHARDS],
}

/// Pinned versions and how often each; few at a time, so a list. Own cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(Mutex<Vec<(Version, usize)>>);

thread_local! {
    static HOME: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The calling thread's first choice.
fn home() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    HOME.with(|home| {
        home.get().unwrap_or_else(|| {
            let shard = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            home.set(Some(shard));
            shard
        })
    })
}

impl SnapshotRegistry {
    pub fn new() -> SnapshotRegistry {
        SnapshotRegistry { published: AtomicU64::new(0), shards: Default::default() }
    }

    pub fn published(&self) -> Version {
        Version(self.published.load(Ordering::Acquire))
    }

    pub fn publish(&self, version: Version) {
        let before = self.published.fetch_max(version.0, Ordering::AcqRel);
        assert!(before <= version.0, "versions are published in order");
    }

    fn free_shard(&self) -> (usize, MutexGuard<'_, Vec<(Version, usize)>>) {
        let first = home();
        let tried = (first..first + SHARDS).map(|shard| shard % SHARDS);
        let free =
            tried.into_iter().find_map(|shard| Some((shard, self.shards[shard].0.try_lock()?)));
        free.unwrap_or_else(|| (first, self.shards[first].0.lock()))
    }

    /// Pins the newest published version.
    pub fn pin(self: &Arc<Self>) -> Snapshot {
        let (shard, mut pins) = self.free_shard();
        // Read under the shard's lock: `oldest` reads the published version before it looks into
        // the shards, so it either finds this pin or has found a version that is not newer.
        let version = self.published();
        add(&mut pins, version);
        Snapshot { registry: self.clone(), version, shard }
    }

    /// No pin is older, nor will one ever be.
    pub fn oldest(&self) -> Version {
        let published = self.published();
        let pinned = self.shards.iter().flat_map(|shard| {
            let pins = shard.0.lock();
            pins.iter().map(|(version, _)| *version).min()
        });
        pinned.min().map_or(published, |oldest| oldest.min(published))
    }
}

fn add(pins: &mut Vec<(Version, usize)>, version: Version) {
    match pins.iter_mut().rev().find(|(pinned, _)| *pinned == version) {
        Some((_, count)) => *count += 1,
        None => pins.push((version, 1)),
    }
}

impl Snapshot {
    /// The newest version that it sees.
    pub fn version(&self) -> Version {
        self.version
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        add(&mut self.registry.shards[self.shard].0.lock(), self.version);
        Snapshot { registry: self.registry.clone(), ..*self }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut pins = self.registry.shards[self.shard].0.lock();
        let at = pins.iter().position(|(version, _)| *version == self.version);
        let at = at.expect("a snapshot is pinned until it is dropped");
        pins[at].1 -= 1;
        if pins[at].1 == 0 {
            pins.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_pin_holds() {
        let registry = Arc::new(SnapshotRegistry::new());
        registry.publish(Version(5));
        let five = registry.pin();
        registry.publish(Version(8));
        let copy = five.clone();
        let eight = registry.pin();
        assert_eq!((five.version(), eight.version()), (Version(5), Version(8)));
        drop(five);
        assert_eq!(registry.oldest(), Version(5));
        drop(copy);
        assert_eq!(registry.oldest(), Version(8));
        registry.publish(Version(9));
        drop(eight);
        assert_eq!(registry.oldest(), Version(9));
    }

    #[test]
    fn a_pin_is_never_older_than_the_oldest_found_before() {
        let registry = Arc::new(SnapshotRegistry::new());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let oldest = registry.oldest();
                        assert!(registry.pin().version() >= oldest);
                    }
                });
            }
            (1..20_000).for_each(|version| registry.publish(Version(version)));
        });
    }
}
