//! A workload derived from TPC-H: its eight tables, its 22 queries as templates. No result here is a TPC result.
//!
//! The rows are those of dbgen (the crate `tpchgen`), so that answers at scale factor 1 can be compared with the
//! published ones ([`published`]). Deviations from the specification: dates that its text computes in SQL
//! (`date + interval`) are computed by the driver and sent as parameters; Q15's view is a common table
//! expression; LIMIT ends the queries of which the specification returns the first rows only; no refresh
//! functions.

mod parameters;
mod population;
pub mod published;
pub mod schema;
mod templates;

pub use population::Tpch;
pub use templates::Templates;
