//! An expression that runs a script in the middle of the pass that evaluates it.

use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::ArrayRef;
use engine::types::{DataType, Expression, Result};
use parking_lot::Mutex;

/// What is done in the middle of a pass, given how often it was done before; the query fails where it does.
pub type Script = Box<dyn FnMut(usize) -> Result<()> + Send>;

/// Revenue; who evaluates it runs a script first.
#[derive(Default)]
pub struct Hook {
    calls: AtomicUsize,
    script: Mutex<Option<Script>>,
}

impl Hook {
    /// Evaluations from now on run this script.
    pub fn run(&self, script: Script) {
        self.calls.store(0, Ordering::Relaxed);
        *self.script.lock() = Some(script);
    }

    /// Evaluations from now on run nothing.
    pub fn rest(&self) {
        *self.script.lock() = None;
    }

    /// Evaluations since [`Self::run`].
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("hook")
    }
}

impl Expression for Hook {
    fn columns(&self) -> &[usize] {
        &[8]
    }

    fn parameters(&self) -> &[usize] {
        &[]
    }

    fn data_type(&self) -> DataType {
        DataType::Integer
    }

    fn evaluate(&self, columns: &[ArrayRef], _: &[ArrayRef], _: usize) -> Result<ArrayRef> {
        // Whoever comes meanwhile waits: the pass stands still. Without a row there is nothing to fail at.
        if let Some(script) = &mut *self.script.lock()
            && !columns[0].is_empty()
        {
            script(self.calls.fetch_add(1, Ordering::Relaxed))?;
        }
        Ok(columns[0].clone())
    }

    fn text(&self) -> &str {
        "hook(revenue)"
    }
}
