//! Values, ids as types, schemas, faults: the plain data that every other room speaks.
//!
//! Nothing comes in and nothing runs here; this room imports no other.

mod arithmetic;
mod arrow;
mod data_type;
mod definition;
mod error;
mod expression;
mod ids;
pub mod limit;
mod row_block;
mod schema;
mod value;

pub use arithmetic::{
    Arithmetic, ArithmeticCase, ArithmeticCondition, ArithmeticOperator, ArithmeticStep,
};
pub use arrow::{array_cell, array_from_values, check_digits, for_each_integer};
pub use data_type::DataType;
pub(crate) use data_type::NARROW_PRECISION;
pub use definition::Definition;
pub use error::{Error, Result, SqlState};
pub use expression::{
    Check, Comparison, ComputedComparison, Expression, Predicate, PrefixIn, RowCompiler, RowRules,
    Scalar,
};
pub use ids::{
    ChunkId, ColumnId, IndexId, LaneId, Location, NodeId, RowId, SegmentId, SequenceId, SessionId,
    Slot, TableId, TemplateId, TransactionId, Version,
};
pub use row_block::{BlockColumn, BlockValues, RowBlock};
pub use schema::{
    CheckConstraint, ColumnDefault, ColumnSchema, ForeignKey, ForeignKeyAction, IndexKind,
    IndexSchema, SequenceSchema, TableSchema,
};
pub use value::{Value, ValueRef, day_of, midnight};
pub(crate) use value::{int32, int64, scale, stored_integer};
