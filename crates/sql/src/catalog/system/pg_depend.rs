//! `pg_depend`: which sequences belong to which columns.

use engine::types::ColumnDefault;

use super::super::{Catalog, column_number, sequence_oid, table_oid};
use super::rows::{Cell, Kind, Rows, oid, text};

/// `pg_class`
const PG_CLASS: u32 = 1259;

const COLUMNS: &[(&str, Kind)] = &[
    ("classid", Kind::Int),
    ("objid", Kind::Int),
    ("objsubid", Kind::Int),
    ("refclassid", Kind::Int),
    ("refobjid", Kind::Int),
    ("refobjsubid", Kind::Int),
    ("deptype", Kind::Text),
];

/// The rows.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for sequence in catalog.sequences() {
        let Some((owner, column)) = sequence.owner else { continue };
        let default =
            catalog.table_by_id(owner).map(|table| &table.columns[column.index()].default);
        let identity = matches!(default, Some(ColumnDefault::Sequence { identity: true, .. }));
        rows.push(vec![
            oid(PG_CLASS),
            oid(sequence_oid(sequence.id)),
            Cell::Int(0),
            oid(PG_CLASS),
            oid(table_oid(owner)),
            Cell::Int(column_number(column).into()),
            text(if identity { "i" } else { "a" }),
        ]);
    }
    rows
}
