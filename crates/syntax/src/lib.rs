//! PostgreSQL's grammar: a text becomes a tree, or an error with PostgreSQL's words and position.
//!
//! **In**: the bytes of a client's text ([`parse_bytes`]), or a `&str` ([`parse`]). **Out**: a [`Tree`], PostgreSQL's raw parse tree of
//! all statements with their places in the text; or a [`SyntaxError`], the fields of the error message that PostgreSQL 15 sends. Nothing
//! here knows a catalog, a type or a session: a tree says what was written, and analysis says what it means.
//!
//! ```
//! use syntax::Node;
//!
//! let text = "SELECT a FROM t WHERE b = 1; COMMIT";
//! let tree = syntax::parse(text).expect("it is SQL");
//! for statement in tree.statements() {
//!     match statement.node {
//!         Node::SelectStmt(select) => assert_eq!(select.target_list().len(), 1),
//!         Node::TransactionStmt(_) => assert_eq!(&text[statement.range], "COMMIT"),
//!         other => panic!("{} is no statement of the text", other.name()),
//!     }
//! }
//! let error = syntax::parse("SELECT FROM FROM").expect_err("FROM twice");
//! assert_eq!((error.sqlstate(), error.position), ("42601", Some(13)));
//! ```
//!
//! # How it works
//! The grammar is libpg_query's, C of PostgreSQL 18 that a locked crate of the registry brings and the build compiles; `c/parse.c` calls
//! it. `nodes` declares the kinds of nodes that we read, field by field at PostgreSQL's offsets; the C compiler asserts each, so that
//! another target or version does not build rather than misread. A [`Node`] is a pointer and borrows from its tree, which owns all memory
//! and frees it at once.
//!
//! # Bounds
//! A text is refused before the parser if it is too long (54000), holds NUL or is not UTF-8 (22021); a tree, before anybody recurses
//! into it, if it has too many nodes or is too deep (54001): see [`Limits`]. Chains, of operators, casts, joins, UNIONs, grow to the left
//! without bound, as PostgreSQL's do: whoever recurses goes down them by iteration ([`Node::left`]), or uses [`Node::descendants`].
//! Texts over 8 KiB are parsed on two threads with stacks of their own while the caller waits.
//!
//! # Which grammar
//! PostgreSQL 15's. What 18's takes beyond it is refused as 15 refuses it (`grammar15`); `tests/differences.txt` lists the rest.

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
