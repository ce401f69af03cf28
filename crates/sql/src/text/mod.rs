//! Values as text: what a type's input and output functions do in PostgreSQL.
//!
//! Text comes in from COPY, from literals and from text-format parameters; values go out, or the
//! fault that PostgreSQL's input function raises. The other way round for COPY TO and casts to
//! text. Called by `statement`, `session` and the server. Absent here: casts between two types that
//! are not text (`statement::assignment`).

mod bytea;
mod datetime;
mod input;
mod number;
mod output;

pub use datetime::{civil_from_days, days_from_civil, parse_date, parse_timestamp};
pub use input::{fit_string, parse_value};
pub use number::{parse_numeric, rescale_numeric};
pub use output::{pad, write_value};
