//! Statement text in, templates out: literals lifted, planned once, found again by text.
//!
//! [`tree`] is PostgreSQL's of a text. [`plain`] has a client's text in words that all readers agree on. [`lex`] and [`TemplateCache`] find a known statement in
//! microseconds; [`lift`] makes a new one shareable; [`Planner`] has DataFusion plan it, with parameters, and hands the optimized
//! plan to `compile`. Called by `session` and `statement`. Absent here: running anything (`alone`, the engine).

#[cfg(test)]
mod agreement;
mod cache;
mod column_names;
mod comparisons;
mod fault;
mod infer;
mod integers;
mod json_items;
pub mod lex;
mod lift;
pub mod lock_words;
pub mod long_names;
mod names;
mod null_tests;
mod origin;
mod overriding;
mod parameters;
mod parse;
mod pieces;
mod place;
mod plain;
mod planner;
mod planning;
mod query;
mod symmetric;
mod table_word;
mod tree;
mod unnest;
mod words;
mod zones;

pub use cache::{TemplateCache, plan_bytes};
pub use fault::{fault, type_name};
pub use infer::bound_compared;
pub use json_items::is_json;
pub use lift::{Lifted, LiftedLiteral, Source, check_parameters, lift};
pub use names::{fold, name_columns, name_item, output_name, visible_name};
pub use origin::{Origin, origin};
pub use overriding::Overriding;
pub use parameters::{Parameters, literal_value, placeholder_index};
pub use parse::{byte_of, characters, not_known, parse};
pub use pieces::behind;
pub use place::{place, place_part};
pub use plain::plain;
pub use planner::{Planner, describe, has_subquery};
pub use planning::{Planning, parser_options};
pub use query::{Path, QueryTemplate};
pub use tree::{SHORT_TEXT, notices, refusal_of_analysis, tree};
pub use zones::check_expression as check_zones;
