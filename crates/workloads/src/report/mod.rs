//! Measurements in, tables, JSON and figures out.

mod figure;
mod table;

pub use figure::{Figure, Line};
pub use table::Table;
