//! INSERT, UPDATE and DELETE.
//!
//! **In**: a statement's node, with a level pushed for it. **Out**: its query, with every column that is assigned cast to the table's type.
//! `select` calls it for statements of WITH, too.

mod assign;
mod conflict;
mod delete;
mod insert;
mod returning;
mod target;
mod update;
