//! The Star Schema Benchmark (O'Neil, O'Neil, Chen, Revilak): one fact table, four dimensions, 13 queries.
//!
//! The data ([`population`], one file per table), the queries as templates with random parameters
//! ([`template`]), and the ways to mix them ([`mix`]): all templates, or one with the knobs selectivity and
//! similarity of "Sharing data and work across concurrent analytical queries" (section 5). Deviations from
//! the specification: all 2,557 days of the seven years are there (its text says 2,556); customers without
//! orders are not left out; random strings are drawn by our own generator, so that no bytes equal dbgen's.

mod calendar;
mod customer;
mod geography;
mod lineorder;
pub mod mix;
mod part;
pub mod population;
mod scale;
pub mod schema;
mod supplier;
pub mod template;
pub mod update;
mod working_sets;

pub use mix::{AllTemplates, Selective, similar};
pub use population::StarSchema;
/// Words that TPC-H draws from as well.
pub(crate) mod vocabulary {
    pub(crate) use super::customer::SEGMENTS;
    pub(crate) use super::geography::{NATION_COUNT, Nation, REGIONS};
    pub(crate) use super::lineorder::SHIP_MODES;
    pub(crate) use super::part::{COLOURS, CONTAINERS, TYPES};
}

pub use scale::Scale;
pub use template::Template;
pub use working_sets::WorkingSets;
