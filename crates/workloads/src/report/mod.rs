//! Measurements in, tables, JSON and figures out.

mod figure;
mod progress;
mod table;

pub use figure::{Figure, Line};
pub use progress::Progress;
pub use table::Table;
