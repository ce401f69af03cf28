//! CURRENT_DATE and the like.

use syntax::{SqlValueFunction, SqlValueFunctionOp as Op};

use crate::analyzer::Analyzer;
use crate::error::location;
use crate::facts::oid;
use crate::tree::{Expression, ExpressionKind};

/// Digits of seconds at most.
const MOST_FRACTION: i32 = 6;

/// The name of a value function.
pub(crate) fn session_name(op: Op) -> &'static str {
    match op {
        Op::CurrentDate => "current_date",
        Op::CurrentTime | Op::CurrentTimeN => "current_time",
        Op::CurrentTimestamp | Op::CurrentTimestampN => "current_timestamp",
        Op::Localtime | Op::LocaltimeN => "localtime",
        Op::Localtimestamp | Op::LocaltimestampN => "localtimestamp",
        Op::CurrentRole => "current_role",
        Op::CurrentUser => "current_user",
        Op::User => "user",
        Op::SessionUser => "session_user",
        Op::CurrentCatalog => "current_catalog",
        Op::CurrentSchema => "current_schema",
    }
}

impl Analyzer<'_, '_> {
    pub(super) fn session_value(node: SqlValueFunction<'_>) -> Expression {
        let (type_oid, has_digits) = match node.op() {
            Op::CurrentDate => (oid::DATE, false),
            Op::CurrentTime | Op::CurrentTimeN => (oid::TIMETZ, true),
            Op::CurrentTimestamp | Op::CurrentTimestampN => (oid::TIMESTAMPTZ, true),
            Op::Localtime | Op::LocaltimeN => (oid::TIME, true),
            Op::Localtimestamp | Op::LocaltimestampN => (oid::TIMESTAMP, true),
            _ => (oid::NAME, false),
        };
        let typmod = if has_digits { node.typmod().min(MOST_FRACTION) } else { -1 };
        let kind = ExpressionKind::Session(session_name(node.op()));
        let collation = if type_oid == oid::NAME { crate::facts::oid::C_COLLATION } else { 0 };
        Expression::new(kind, type_oid, location(node.location()))
            .typmod(typmod)
            .collation(collation)
    }
}
