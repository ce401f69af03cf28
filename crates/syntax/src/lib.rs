//! PostgreSQL's grammar: a text becomes a tree, or an error with PostgreSQL's words and position.

mod arena;
mod bounds;
mod encoding;
mod error;
mod grammar15;
mod library;
mod limits;
mod list;
mod literal;
mod node;
mod nodes;
mod notice;
mod outline;
mod parse;
mod parsers;
mod place;
mod raw;
mod tree;

pub use error::SyntaxError;
pub use limits::Limits;
pub use list::{List, Nodes};
pub use literal::Literal;
pub use node::{Descendants, Field, Kind, Node, Other};
pub use nodes::*;
pub use notice::{Notice, Severity};
pub use parse::{parse, parse_bytes, parse_within};
pub use tree::{Statement, Tree};
