//! `pg_locks`: who has locked tables and advisory keys, or waits for that. Locks of rows are not shown, as in PostgreSQL.

use engine::transaction::{AdvisoryKey, LockShown, LockedThing};

use super::super::{Catalog, table_oid};
use super::pg_database::DATABASE;
use super::rows::{Cell, Kind, Rows, oid, text};

const COLUMNS: &[(&str, Kind)] = &[
    ("locktype", Kind::Text),
    ("database", Kind::Int),
    ("relation", Kind::Int),
    ("page", Kind::Int),
    ("tuple", Kind::Small),
    ("virtualxid", Kind::Text),
    ("transactionid", Kind::Int),
    ("classid", Kind::Int),
    ("objid", Kind::Int),
    ("objsubid", Kind::Small),
    ("virtualtransaction", Kind::Text),
    ("pid", Kind::Int),
    ("mode", Kind::Text),
    ("granted", Kind::Bool),
    ("fastpath", Kind::Bool),
    ("waitstart", Kind::Text),
];

/// The rows of `pg_locks`.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    let engine = catalog.engine();
    let locks = engine.map(|engine| engine.exclusion().shown()).unwrap_or_default();
    locks.into_iter().for_each(|lock| rows.push(row(lock)));
    rows
}

/// How PostgreSQL shows an advisory key: its halves, and 1 or 2 for how it was given.
fn halves(key: AdvisoryKey) -> [Cell; 3] {
    match key {
        AdvisoryKey::Number(number) => {
            let (high, low) = ((number >> 32) as i32, number as i32);
            [Cell::Int(high), Cell::Int(low), Cell::Small(1)]
        }
        AdvisoryKey::Pair(one, other) => [Cell::Int(one), Cell::Int(other), Cell::Small(2)],
    }
}

fn row(lock: LockShown) -> Vec<Cell> {
    let (kind, relation, [class, object, part]) = match lock.thing {
        LockedThing::Table(table) => {
            ("relation", oid(table_oid(table)), [Cell::Null, Cell::Null, Cell::Null])
        }
        LockedThing::Advisory(key) => ("advisory", Cell::Null, halves(key)),
    };
    let process = lock.session.map(|session| session.0.cast_signed());
    vec![
        text(kind),
        oid(DATABASE),
        relation,
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::Null,
        class,
        object,
        part,
        process.map_or(Cell::Null, |process| text(format!("{process}/0"))),
        process.map_or(Cell::Null, Cell::Int),
        text(lock.mode.name()),
        Cell::Bool(lock.is_granted),
        Cell::Bool(lock.is_noted),
        Cell::Null,
    ]
}
