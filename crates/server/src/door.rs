//! Who has come and not said yet who he is: so many, and whoever has been silent for longest makes room.
//!
//! A client says so within its first packets, a silent socket never. So a newcomer always comes in: where all places at
//! the door are taken, the one who came first is sent away with 53300. Called by `connection`.

use std::collections::BTreeMap;

use engine::types::{Error, SqlState};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The places at the door.
#[derive(Debug)]
pub struct Door {
    limit: usize,
    guests: Mutex<Guests>,
}

#[derive(Debug, Default)]
struct Guests {
    /// In the order in which they came; who is dropped from here is sent away.
    places: BTreeMap<u64, oneshot::Sender<()>>,
    next: u64,
}

/// One who is at the door.
#[derive(Debug)]
pub struct Guest<'a> {
    door: &'a Door,
    number: u64,
    sent_away: oneshot::Receiver<()>,
}

impl Door {
    /// With so many places.
    pub fn new(limit: usize) -> Door {
        Door { limit, guests: Mutex::default() }
    }

    /// Takes a place; whoever came first loses his where there are too many.
    pub fn enter(&self) -> Guest<'_> {
        let (stays, sent_away) = oneshot::channel();
        let mut guests = self.guests.lock();
        let number = guests.next;
        guests.next += 1;
        guests.places.insert(number, stays);
        if guests.places.len() > self.limit {
            guests.places.pop_first();
        }
        Guest { door: self, number, sent_away }
    }
}

impl Guest<'_> {
    /// Is there when this one has been silent for too long; says why.
    pub async fn sent_away(&mut self) -> Error {
        // Nobody sends: the place is dropped.
        let _ = (&mut self.sent_away).await;
        Error::new(SqlState::TooManyConnections, "sorry, too many clients already")
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.door.guests.lock().places.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_came_first_makes_room() {
        let door = Door::new(2);
        let (mut first, second) = (door.enter(), door.enter());
        assert!(
            first.sent_away.try_recv().is_err_and(|e| e == oneshot::error::TryRecvError::Empty)
        );
        let mut third = door.enter();
        assert_eq!(first.sent_away().await.state, SqlState::TooManyConnections);
        drop((first, second));
        let _fourth = door.enter();
        assert!(
            third.sent_away.try_recv().is_err_and(|e| e == oneshot::error::TryRecvError::Empty)
        );
    }
}
