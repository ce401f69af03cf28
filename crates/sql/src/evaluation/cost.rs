//! Which computations may take long.

use analysis::facts::{Oid, oid};
use values::datum::Datum;
use values::facts::FunctionRow;

/// Digits of a numeric that is computed with at once; products of many such are still short in a text of some hundred bytes.
const SHORT_NUMERIC: usize = 40;

/// Functions of numerics whose time their digits bound, however many they are.
const QUICK: &[&str] = &[
    "numeric_add",
    "numeric_sub",
    "numeric_mul",
    "numeric_div",
    "numeric_mod",
    "numeric_uplus",
    "numeric_uminus",
    "numeric_abs",
    "numeric_sign",
    "numeric_round",
    "numeric_trunc",
    "numeric_ceil",
    "numeric_floor",
    "numeric_scale",
    "numeric_eq",
    "numeric_ne",
    "numeric_lt",
    "numeric_le",
    "numeric_gt",
    "numeric_ge",
    "numeric_larger",
    "numeric_smaller",
    "numeric",
];

/// Functions that make any size of little: DataFusion's ask for what they are about to take.
const GROWING: &[&str] = &["repeat", "lpad", "rpad", "replace", "regexp_replace"];

/// Functions that may double a text, so that as many of them within each other as a short statement holds have no end.
const DOUBLING: &[&str] = &["encode", "quote_ident", "quote_literal", "quote_nullable"];

/// Parts of the names of functions that search a text by a pattern.
const SEARCHING: &[&str] = &["regex", "like", "similar"];

/// What computations are made of.
#[derive(Debug, Default)]
pub struct Cost {
    is_long: bool,
}

impl Cost {
    /// Whether they may take longer than some hundred microseconds.
    pub fn is_long(&self) -> bool {
        self.is_long
    }

    /// A call more; `None` for functions that are not called here.
    pub fn call(&mut self, row: &FunctionRow) -> Option<()> {
        if GROWING.contains(&row.name) {
            return None;
        }
        let is_of_numerics = row.arguments.contains(&"numeric")
            || (row.result == "numeric" && row.name == "factorial");
        let is_conversion = row.arguments.len() == 1 && row.name == row.result;
        let is_long_numeric = is_of_numerics && !QUICK.contains(&row.source) && !is_conversion;
        let searches = SEARCHING.iter().any(|part| row.source.contains(part));
        self.is_long |= is_long_numeric || searches || DOUBLING.contains(&row.name);
        Some(())
    }

    /// A value more that is written and read as another type.
    pub fn recast(&mut self, from: Oid) {
        self.is_long |= from == oid::BYTEA;
    }

    /// A parameter more: a numeric may have any number of digits.
    pub fn parameter(&mut self, type_name: &str) {
        self.is_long |= type_name == "numeric";
    }

    /// A constant more.
    pub fn constant(&mut self, value: &Datum) {
        if let Datum::Numeric(number) = value {
            self.is_long |= number.to_string().len() > SHORT_NUMERIC;
        }
    }
}
