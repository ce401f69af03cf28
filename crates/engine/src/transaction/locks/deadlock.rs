//! Finding out who waits for itself.
//!
//! Those who wait are sessions: their owners wait as one. Somebody who waits does so for all who have the thing in a conflicting
//! mode, and for those who came before to wait for it in a conflicting mode. The latter is a matter of order alone: where a cycle
//! goes through such an edge, the two change places (once) and nobody need go. A cycle without one stays until somebody in it goes.

use std::collections::HashSet;

use super::LockKey;
use super::queue::{Callback, State};

/// One waits for the other.
#[derive(Clone, Debug)]
struct Edge {
    waiter: u64,
    awaited: u64,
    /// By its place in the queue for this alone.
    by_order: Option<LockKey>,
}

impl State {
    /// Whether a session stands in a cycle that no change of order resolves, and whom such changes have let go on.
    pub fn is_deadlocked(&mut self, owner: u64) -> (bool, Vec<Callback>) {
        let (mut moved, mut granted) = (Vec::new(), Vec::new());
        while let Some(cycle) = self.cycle(owner) {
            let movable = cycle.into_iter().find_map(|edge| {
                let key = edge.by_order?;
                let change = (key, edge.waiter, edge.awaited);
                let turned = (change.0.clone(), change.2, change.1);
                (!moved.contains(&change) && !moved.contains(&turned)).then_some(change)
            });
            let Some((key, waiter, awaited)) = movable else { return (true, granted) };
            granted.append(&mut self.move_before(&key, waiter, awaited));
            moved.push((key, waiter, awaited));
        }
        (false, granted)
    }

    /// The edges of a cycle through a session; one of hard edges alone where there is such a one.
    fn cycle(&self, owner: u64) -> Option<Vec<Edge>> {
        self.cycle_over(owner, false).or_else(|| self.cycle_over(owner, true))
    }

    fn cycle_over(&self, owner: u64, by_order: bool) -> Option<Vec<Edge>> {
        let mut visited = HashSet::from([owner]);
        let mut path: Vec<Edge> = Vec::new();
        let mut open = vec![self.edges(owner, by_order)];
        while let Some(edges) = open.last_mut() {
            let Some(edge) = edges.pop() else {
                open.pop();
                path.pop();
                continue;
            };
            let awaited = edge.awaited;
            if awaited == owner {
                path.push(edge);
                return Some(path);
            }
            if visited.insert(awaited) {
                path.push(edge);
                open.push(self.edges(awaited, by_order));
            }
        }
        None
    }

    /// For whom a session waits.
    fn edges(&self, waiter: u64, by_order: bool) -> Vec<Edge> {
        let mut edges = Vec::new();
        for key in self.waits_for(waiter) {
            let Some(entry) = self.entry(key) else { continue };
            let mut waiting = entry.waiters.iter();
            let Some(place) = waiting.position(|one| one.who.group == waiter) else { continue };
            let (who, mode) = (entry.waiters[place].who, entry.waiters[place].mode);
            let holders = entry.holders.iter().filter(|holder| holder.who.group != waiter);
            let holders = holders.filter(|holder| holder.modes().conflict(mode));
            edges.extend(holders.map(|holder| Edge {
                waiter,
                awaited: holder.who.group,
                by_order: None,
            }));
            if by_order {
                edges.extend(entry.in_front(who, mode, place).map(|one| Edge {
                    waiter,
                    awaited: one.who.group,
                    by_order: Some(key.clone()),
                }));
            }
        }
        edges
    }
}
