//! One file per kind of statement.
//!
//! In comes a parsed statement, PostgreSQL's node of it ([`command`]) or the plan parser's, and the session that runs it; out come
//! definitions, write plans, write sets and tags. `session` dispatches here. Absent here: planning of queries (`template`),
//! running plans (the engine), the wire (`server`).

pub mod absent;
pub mod alter_sequence;
pub mod alter_table;
pub mod alter_type;
pub mod assignment;
pub mod command;
pub mod comment;
pub mod complex;
pub mod constant;
pub mod constraint;
pub mod copy;
pub mod create_index;
pub mod create_table;
pub mod create_table_as;
pub mod cursor;
pub mod data_type;
pub mod defined;
pub mod describe;
pub mod drop;
pub mod explain;
pub mod expression;
pub mod foreign_key;
pub mod generated;
pub mod insert;
pub mod lock_sources;
pub mod lock_table;
pub mod locked_subqueries;
pub mod locking;
pub mod maintenance;
pub mod modify;
pub mod modifying_queries;
pub mod naming;
pub mod notify;
pub mod on_conflict;
pub mod option;
pub mod prepare;
pub mod returning;
pub mod rewrite;
pub mod rights;
pub mod rounded;
pub mod row_assignment;
pub mod row_check;
pub mod row_rules;
pub mod search;
pub mod sequence;
pub mod setting;
pub mod transaction;
pub mod truncate;
pub mod view;
pub mod write;
