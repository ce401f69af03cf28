//! Promised response times, as far as the engine knows them: how long answers take at which load, what runs or waits, what became
//! of promises, and how much more could be promised.
//!
//! Whoever promises ([`super::Engine::promises`]) enters statements at a [`Station`], notes how long they took ([`Response`]), and
//! enters outcomes in a [`Record`]; `shareddb.promises` and `shareddb.capacity` show them. Absent here: who is refused.

mod book;
mod capacity;
mod margin;
mod rate;
mod record;
mod response;
mod station;
mod times;
mod turns;

pub use book::Promises;
pub use capacity::Capacity;
pub use margin::Margin;
pub use record::{Meets, Place, Promised, Record};
pub use response::{Expected, OWN, Response};
pub use station::{Station, Stations, Stay};
pub use times::Times;
pub use turns::Turns;
