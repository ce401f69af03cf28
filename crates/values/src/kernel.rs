//! What computes each row of the tables of facts: kernels by the name that `pg_proc.prosrc` gives them.

use crate::datum::Datum;
use crate::error::Result;

/// What a computation may depend on besides its arguments: settings of the session. Handed down, never global.
#[derive(Clone, Debug, Default)]
pub struct Context {}

/// One computation. Strict ones are not called with NULL among their arguments (the caller answers NULL).
pub struct Kernel {
    /// As `pg_proc.prosrc` names it, for example `numeric_add`.
    pub source: &'static str,
    pub compute: fn(&Context, &[Datum]) -> Result<Datum>,
}

/// All kernels, module by module.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    let modules: &[&'static [Kernel]] = &[];
    modules.iter().flat_map(|module| module.iter())
}
