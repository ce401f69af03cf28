//! Rows of the tables of facts by the OIDs that typed expressions name.

use std::collections::HashMap;
use std::sync::LazyLock;

use values::facts::{FunctionRow, TypeRow, functions, types};
use values::kernel::{Kernel, kernel};

/// A function that is computed.
#[derive(Clone, Copy)]
pub struct Computed {
    pub row: &'static FunctionRow,
    pub kernel: &'static Kernel,
}

/// The function of an OID, if it has a kernel.
pub fn computed(oid: u32) -> Option<Computed> {
    static BY_OID: LazyLock<HashMap<u32, Computed>> = LazyLock::new(|| {
        let with_kernel = functions()
            .iter()
            .filter_map(|row| Some(Computed { row, kernel: kernel(row.source)? }));
        with_kernel.map(|computed| (computed.row.oid, computed)).collect()
    });
    BY_OID.get(&oid).copied()
}

/// The type of an OID, if its values are computed with.
pub fn type_of(oid: u32) -> Option<&'static TypeRow> {
    types().iter().find(|row| row.oid == oid)
}

/// The same by its name in `pg_type`.
pub fn type_named(name: &str) -> Option<&'static TypeRow> {
    types().iter().find(|row| row.name == name)
}
