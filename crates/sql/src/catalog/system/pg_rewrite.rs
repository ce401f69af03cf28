//! `pg_rewrite`: the rule of each view that says what it selects.

use super::super::Catalog;
use super::pg_class::view_oid;
use super::rows::{Cell, Kind, Rows, oid, text};

/// A rule's id is its view's and this: views' ids are below 0x2000_0000, those of constraints below this.
const FIRST: u32 = 0x6000_0000;

const COLUMNS: &[(&str, Kind)] = &[
    ("oid", Kind::Int),
    ("rulename", Kind::Text),
    ("ev_class", Kind::Int),
    ("ev_type", Kind::Text),
    ("ev_enabled", Kind::Text),
    ("is_instead", Kind::Bool),
    ("ev_qual", Kind::Text),
    ("ev_action", Kind::Text),
];

/// The rows. What PostgreSQL's own trees say (`ev_qual`, `ev_action`) is not there.
pub fn rows(catalog: &Catalog) -> Rows {
    let mut rows = Rows::new(COLUMNS);
    for view in catalog.views() {
        let view = view_oid(&view.name);
        rows.push(vec![
            oid(FIRST + view),
            text("_RETURN"),
            oid(view),
            text("1"),
            text("O"),
            Cell::Bool(true),
            Cell::Null,
            Cell::Null,
        ]);
    }
    rows
}
