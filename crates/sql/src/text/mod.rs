//! Values as text: what a type's input and output functions do in PostgreSQL.
//!
//! Text comes in from COPY, from literals and from text-format parameters; values go out, or the
//! fault that PostgreSQL's input function raises. The other way round for COPY TO and casts to
//! text. Called by `statement`, `session` and the server. Absent here: casts between two types that
//! are not text (`statement::assignment`).

mod array;
mod bytea;
mod datetime;
mod input;
mod local;
mod number;
mod output;
mod zone;

pub use array::{ArrayText, parse_array, write_element};
pub use datetime::{
    INTERRUPT, check_date, check_timestamp, civil_from_days, days_from_civil, days_since_1970,
    days_since_2000, is_clock_word, micros_since_1970, micros_since_2000, of_values, parse_date,
    parse_timestamp, present, timestamp_of, to_values,
};
pub use input::{fit_string, parse_value};
pub use local::localized;
pub use number::{
    at_wanted_scale, narrowed, numeric_as_sent, parse_numeric, rescale_numeric, rounded_numeric,
};
pub use output::{BinaryOfText, pad, write_value, write_value_in};
pub use zone::{
    SessionZone, in_zone, is_utc, polled_in_zone, session_zone, usual_name, zone_refused,
};

/// How long a character of UTF-8 says that it is, by its first byte: what a fault shows of a broken one.
pub fn sequence_length(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}
