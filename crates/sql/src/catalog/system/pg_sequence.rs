//! `pg_sequence` and `pg_sequences`.

use super::super::{Catalog, sequence_oid};
use super::lookup::owner;
use super::rows::{Cell, Kind, Rows, oid, text};

const COLUMNS: &[(&str, Kind)] = &[
    ("seqrelid", Kind::Int),
    ("seqtypid", Kind::Int),
    ("seqstart", Kind::Big),
    ("seqincrement", Kind::Big),
    ("seqmax", Kind::Big),
    ("seqmin", Kind::Big),
    ("seqcache", Kind::Big),
    ("seqcycle", Kind::Bool),
];

/// The rows of `pg_sequence`.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for sequence in catalog.sequences() {
        rows.push(vec![
            oid(sequence_oid(sequence.id)),
            oid(20),
            Cell::Big(sequence.start),
            Cell::Big(sequence.increment),
            Cell::Big(sequence.max),
            Cell::Big(sequence.min),
            Cell::Big(1),
            Cell::Bool(sequence.cycle),
        ]);
    }
    rows
}

const SEQUENCES: &[(&str, Kind)] = &[
    ("schemaname", Kind::Text),
    ("sequencename", Kind::Text),
    ("sequenceowner", Kind::Text),
    ("data_type", Kind::Text),
    ("start_value", Kind::Big),
    ("min_value", Kind::Big),
    ("max_value", Kind::Big),
    ("increment_by", Kind::Big),
    ("cycle", Kind::Bool),
    ("cache_size", Kind::Big),
];

/// The rows of `pg_sequences`.
pub fn sequences(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(SEQUENCES);
    for sequence in catalog.sequences() {
        rows.push(vec![
            text("public"),
            text(&*sequence.name),
            text(owner(catalog, &sequence.name).1),
            text("bigint"),
            Cell::Big(sequence.start),
            Cell::Big(sequence.min),
            Cell::Big(sequence.max),
            Cell::Big(sequence.increment),
            Cell::Bool(sequence.cycle),
            Cell::Big(1),
        ]);
    }
    rows
}
