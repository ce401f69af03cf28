//! What a value of each of PostgreSQL's types is: its text and binary forms, comparison, hash, canonical key, arithmetic and casts.
//!
//! One module per type. What a type computes are free functions over Rust values (`numeric::add(&a, &b)`), each with the error that
//! PostgreSQL 15 raises; [`datum::Datum`] is one value of any type, and [`kernel`] names each computation as `pg_proc.prosrc` does, so
//! that the tables of facts find it. Nothing here knows a table, a session or a plan; `engine` and `sql` call it.

pub mod aggregate;
mod argument;
mod arguments;
pub mod boolean;
pub mod bytea;
pub mod calendar;
pub mod column;
pub mod date;
pub mod datum;
pub mod decimal;
pub mod error;
pub mod facts;
pub mod float;
pub mod form;
pub mod hash;
mod inlined;
pub mod int;
pub mod interval;
pub mod kernel;
mod key;
pub mod moment;
mod number_text;
pub mod numeric;
pub mod oid;
mod overlaps;
mod precision;
pub mod regexp;
mod relations;
pub mod settings;
pub mod size;
mod spaces;
pub mod template;
pub mod text;
pub mod time;
pub mod timestamp;
pub mod timestamptz;
pub mod timetz;
mod unit;
pub mod uuid;
pub mod zone;
