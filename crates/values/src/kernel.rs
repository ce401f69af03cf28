//! What computes each row of the tables of facts: kernels by the name that `pg_proc.prosrc` gives them.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::datum::Datum;
use crate::error::Result;

/// What a computation may depend on besides its arguments: settings of the session. Handed down, never global.
#[derive(Clone, Debug, Default)]
pub struct Context {}

/// One computation. Strict ones are not called with NULL among their arguments (the caller answers NULL).
pub struct Kernel {
    /// As `pg_proc.prosrc` names it, for example `numeric_add`; for a function in SQL its signature, for example
    /// `round(numeric)`.
    pub source: &'static str,
    /// Computes the result from the arguments.
    ///
    /// # Panics
    /// When the number or the types of the arguments are not those that the tables of facts give.
    pub compute: fn(&Context, &[Datum]) -> Result<Datum>,
}

/// All kernels, module by module.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    let modules: [&'static [&'static [Kernel]]; 6] = [
        crate::boolean::KERNELS,
        crate::int::KERNELS,
        crate::float::KERNELS,
        crate::numeric::KERNELS,
        crate::text::KERNELS,
        crate::bytea::KERNELS,
    ];
    modules.into_iter().flatten().flat_map(|list| list.iter())
}

/// The kernel that `pg_proc.prosrc` calls `source`, if there is one.
pub fn kernel(source: &str) -> Option<&'static Kernel> {
    static BY_SOURCE: LazyLock<HashMap<&'static str, &'static Kernel>> =
        LazyLock::new(|| kernels().map(|kernel| (kernel.source, kernel)).collect());
    BY_SOURCE.get(source).copied()
}
