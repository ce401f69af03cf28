//! Columns that every table has.

use crate::facts::{Oid, oid};

/// The number and the type of a system column.
pub(crate) fn system_column(name: &str) -> Option<(i16, Oid)> {
    Some(match name {
        "ctid" => (-1, oid::TID),
        "xmin" => (-2, oid::XID),
        "cmin" => (-3, oid::CID),
        "xmax" => (-4, oid::XID),
        "cmax" => (-5, oid::CID),
        "tableoid" => (-6, oid::OID),
        _ => return None,
    })
}
