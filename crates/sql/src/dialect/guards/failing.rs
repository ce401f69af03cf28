//! What may end in an error when it is computed: all that is not known to be sure.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ExprSchema;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, Operator};

use crate::catalog::types::is_string;
use crate::dialect::OWN_CAST;

/// Functions that answer whatever they are given.
const SURE: &[&str] = &[
    "__and",
    "__greatest_interval",
    "__least_interval",
    "__not",
    "__or",
    "__shift_left",
    "__shift_right",
    "__span",
    "__xor",
    "ascii",
    "bit_length",
    "btrim",
    "ceil",
    "character_length",
    "coalesce",
    "concat",
    "concat_ws",
    "current_date",
    "current_time",
    "ends_with",
    "floor",
    "greatest",
    "initcap",
    "isnan",
    "least",
    "length",
    "lower",
    "ltrim",
    "md5",
    "now",
    "nullif",
    "octet_length",
    "quote_ident",
    "quote_literal",
    "replace",
    "reverse",
    "rtrim",
    "signum",
    "starts_with",
    "strpos",
    "upper",
];

/// Functions that fail for some value of all their arguments but one: where the row gives one alone, each row is as good as
/// any other.
const SURE_OF_ONE: &[&str] = &[
    "left",
    "regexp_count",
    "regexp_instr",
    "regexp_like",
    "regexp_match",
    "regexp_replace",
    "regexp_substr",
    "right",
    "round",
    "split_part",
    "substr",
    "texticregexeq",
    "texticregexne",
    "textregexeq",
    "textregexne",
    "to_char",
    "translate",
    "trunc",
];

/// Whether computing it of some row may end in an error, and of another not.
pub fn may_fail(expr: &Expr, schema: &dyn ExprSchema) -> bool {
    any(expr, &|node| fails_of_row(node, schema))
}

/// Whether computing it may end in an error, be it one of its parameters alone.
pub fn may_fail_anyhow(expr: &Expr, schema: &dyn ExprSchema) -> bool {
    any(expr, &|node| fails(node, schema))
}

/// Whether it asks the same of all rows.
pub fn is_constant(expr: &Expr) -> bool {
    !reads_row(expr) && !matches!(expr, Expr::Literal(..))
}

/// Whether this very step of an expression may end in an error that hangs on the row.
pub(super) fn fails_of_row(node: &Expr, schema: &dyn ExprSchema) -> bool {
    fails(node, schema) && reads_row(node)
}

fn any(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    expr.exists(|node| Ok(test(node))).unwrap_or(true)
}

fn reads_row(expr: &Expr) -> bool {
    any(expr, &|node| match node {
        Expr::Column(_) | Expr::OuterReferenceColumn(..) => true,
        Expr::ScalarSubquery(subquery) => !subquery.outer_ref_columns.is_empty(),
        _ => false,
    })
}

fn fails(node: &Expr, schema: &dyn ExprSchema) -> bool {
    match node {
        Expr::Cast(Cast { expr, field }) => match expr.get_type(schema) {
            Ok(from) => !is_sure(&from, field.data_type()),
            Err(_) => true,
        },
        Expr::BinaryExpr(BinaryExpr { op, right, .. }) => match op {
            Operator::Plus
            | Operator::Minus
            | Operator::Multiply
            | Operator::Divide
            | Operator::Modulo => true,
            op if is_pattern(*op) => reads_row(right),
            _ => false,
        },
        Expr::Like(like) => reads_row(&like.pattern),
        Expr::ScalarFunction(call) => call_fails(node, call, schema),
        _ => false,
    }
}

fn is_pattern(op: Operator) -> bool {
    matches!(
        op,
        Operator::LikeMatch
            | Operator::ILikeMatch
            | Operator::NotLikeMatch
            | Operator::NotILikeMatch
    )
}

fn call_fails(node: &Expr, call: &ScalarFunction, schema: &dyn ExprSchema) -> bool {
    match call.name() {
        name if SURE.contains(&name) => false,
        name if SURE_OF_ONE.contains(&name) => {
            call.args.iter().filter(|argument| reads_row(argument)).count() > 1
        }
        // Everything can be written down.
        name if name.starts_with(OWN_CAST) => !node.get_type(schema).is_ok_and(|to| is_string(&to)),
        _ => true,
    }
}

/// Whether every value of a type is one of another.
fn is_sure(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    match (from, to) {
        (from, to) if from == to || from.is_null() || is_string(to) => true,
        (Int16, Int32 | Int64) | (Int32, Int64) => true,
        (Int16 | Int32 | Int64, Float64) | (Int16 | Int32 | Int64, Float32) => true,
        (Int16 | Int32 | Int64, Decimal128(precision, scale)) => {
            whole_digits(*precision, *scale) >= digits(from)
        }
        (Decimal128(precision, scale), Decimal128(more, finer)) => {
            finer >= scale && whole_digits(*more, *finer) >= whole_digits(*precision, *scale)
        }
        (Decimal128(..), Float64) | (Float32, Float64) => true,
        (Timestamp(..), Date32) => true,
        (Timestamp(from, _), Timestamp(to, _)) => from == to,
        _ => false,
    }
}

fn whole_digits(precision: u8, scale: i8) -> i16 {
    i16::from(precision) - i16::from(scale)
}

fn digits(integer: &DataType) -> i16 {
    match integer {
        DataType::Int16 => 5,
        DataType::Int32 => 10,
        _ => 19,
    }
}
