//! Measurements in, tables, JSON and figures out.

mod figure;
mod heat_map;
mod progress;
mod table;

pub use figure::{Figure, Line};
pub use heat_map::HeatMap;
pub use progress::Progress;
pub use table::Table;
