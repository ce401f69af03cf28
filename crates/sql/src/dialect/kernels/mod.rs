//! Functions that `values` computes.
//!
//! In come the tables of facts; out goes a function for each name whose functions have kernels: which of them is called is chosen
//! by PostgreSQL's rules ([`overloads`]), arguments are converted as it does ([`conversion`]), and its SQLSTATEs and words come
//! out where one fails. Values pass one by one between Arrow's arrays and the kernels ([`data`]).
//! Called by `dialect::session_state`, and where DataFusion looks a name up.

mod conversion;
mod data;
mod digits;
mod function;
mod lengths;
mod names;
mod overloads;
mod spelled;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ScalarUDF};
use datafusion::sql::sqlparser::ast::VisitMut;
use values::facts;
use values::kernel::kernel;

use lengths::Lengths;
use overloads::Overload;
use spelled::Spelled;

/// Makes calls of these functions of what has a syntax of its own.
pub fn spell_out<T: VisitMut>(node: &mut T) {
    let _ = VisitMut::visit(node, &mut Spelled);
    let _ = VisitMut::visit(node, &mut Lengths);
}

/// Names that DataFusion has, too, and computes otherwise.
const OTHERWISE: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "cot",
    "date_bin",
    "date_part",
    "date_trunc",
    "decode",
    "degrees",
    "div",
    "encode",
    "exp",
    "factorial",
    "gcd",
    "lcm",
    "ln",
    "log",
    "log10",
    "make_date",
    "make_timestamp",
    "overlay",
    "radians",
    "regexp_count",
    "regexp_instr",
    "regexp_like",
    "regexp_replace",
    "right",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "to_char",
    "to_date",
    "to_hex",
    "to_timestamp",
    "trunc",
    "width_bucket",
];

/// What has a kernel, by name.
static NAMED: LazyLock<BTreeMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let mut named: BTreeMap<&'static str, Vec<Overload>> = BTreeMap::new();
    for row in facts::functions() {
        let types = row.arguments.iter().chain([&row.result]);
        let is_kept = types.into_iter().all(|name| names::is_kept(name)) && digits::are_known(row);
        if let Some(kernel) = kernel(row.source).filter(|_| is_kept) {
            named.entry(row.name).or_default().push(Overload { row, kernel });
        }
    }
    named
});

/// The functions themselves.
static FUNCTIONS: LazyLock<BTreeMap<&'static str, Arc<ScalarUDF>>> = LazyLock::new(|| {
    let named = NAMED.iter();
    named.map(|(name, all)| (*name, function::function(name, all.clone()))).collect()
});

/// Those that stand in DataFusion's registry in place of its own.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    OTHERWISE.iter().filter_map(|name| find(name)).collect()
}

/// The function of that name. Those that DataFusion lacks are found here only: its registry is copied for each query that runs
/// alone.
pub fn find(name: &str) -> Option<Arc<ScalarUDF>> {
    FUNCTIONS.get(name).cloned()
}

/// A call of the function of that name.
///
/// # Panics
/// When the tables of facts have none with a kernel.
pub fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let function = find(name).unwrap_or_else(|| panic!("no kernel computes {name}"));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, arguments))
}

/// Whether a call may give intervals.
pub fn gives_interval(call: &ScalarFunction) -> bool {
    let gives = |overload: &Overload| overload.row.result == "interval";
    NAMED.get(call.name()).is_some_and(|all| all.iter().any(gives))
}
