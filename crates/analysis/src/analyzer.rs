//! The state of one analysis: levels of queries, parameters, how deep it is.

use std::sync::Arc;

use syntax::WindowDef;
use values::kernel::Context;

use crate::catalog::Catalog;
use crate::error::{Location, NOWHERE, Result, fault};
use crate::facts::Oid;
use crate::names::NameItem;
use crate::parameters::Parameters;
use crate::place::Place;
use crate::tree::{Cte, Entry, EntryColumn, Query};

/// Expressions and queries within each other. A stack of 2 MiB holds as many in builds that are not optimized; PostgreSQL's bound is on
/// the bytes of its stack.
const DEPTH: usize = 400;
/// Members of a chain of operators, casts or joins: their tree is as deep as the chain is long.
pub(crate) const CHAIN: usize = 1_000;

/// A query of WITH, as far as it is known.
pub(crate) struct CteState {
    pub name: Arc<str>,
    /// `None` while it is analysed: whoever names it then names itself.
    pub cte: Option<Cte>,
    /// Columns, known of the first member of a recursive query before the rest.
    pub columns: Option<Vec<EntryColumn>>,
    /// Whether it is a SELECT or has RETURNING.
    pub gives_rows: bool,
    /// How often it was named while it was analysed.
    pub self_references: usize,
}

/// A query in analysis.
#[derive(Default)]
pub(crate) struct Level<'t> {
    pub range_table: Vec<Entry>,
    pub namespace: Vec<NameItem>,
    pub ctes: Vec<CteState>,
    /// Queries of WITH that come later: for a HINT.
    pub future_ctes: Vec<&'t str>,
    pub place: Place,
    pub has_aggregates: bool,
    pub has_windows: bool,
    pub has_sets: bool,
    pub windows: Vec<WindowDef<'t>>,
    /// Whether what follows LATERAL is analysed.
    pub is_lateral: bool,
    /// Whether literals of a select list become texts.
    pub resolves_unknown: bool,
    /// How many set-returning functions were met: an argument that has one is known by a change.
    pub sets_met: usize,
    /// Where the last of them stands.
    pub last_set: Location,
    /// The entry that is written.
    pub target: Option<usize>,
    pub assigned: Vec<Query>,
    /// Names that WITH gives the columns of the recursive query that is analysed.
    pub recursive_names: Vec<Arc<str>>,
}

/// One analysis.
pub(crate) struct Analyzer<'t, 'c> {
    pub catalog: &'c dyn Catalog,
    /// The last is the innermost.
    pub levels: Vec<Level<'t>>,
    pub parameters: Parameters,
    /// The text that the tree is of.
    pub text: &'t str,
    /// What input functions ask of the session.
    pub context: &'c Context,
    depth: usize,
}

impl<'t, 'c> Analyzer<'t, 'c> {
    pub fn new(
        text: &'t str,
        catalog: &'c dyn Catalog,
        context: &'c Context,
        parameters: &[Oid],
    ) -> Self {
        let parameters = Parameters::new(parameters);
        Self { catalog, levels: Vec::new(), parameters, text, context, depth: 0 }
    }

    /// The innermost query.
    pub fn level(&mut self) -> &mut Level<'t> {
        self.levels.last_mut().expect("a query is analysed")
    }

    /// The innermost query, to read.
    pub fn here(&self) -> &Level<'t> {
        self.levels.last().expect("a query is analysed")
    }

    /// The query so many levels out.
    pub fn outer(&self, levels: usize) -> &Level<'t> {
        &self.levels[self.levels.len() - 1 - levels]
    }

    /// The query so many levels out, to change.
    pub fn outer_mut(&mut self, levels: usize) -> &mut Level<'t> {
        let place = self.levels.len() - 1 - levels;
        &mut self.levels[place]
    }

    /// Goes one step in.
    ///
    /// # Errors
    /// 54001 where it is too deep.
    pub fn within<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.deeper(1, step)
    }

    /// The same for a step that takes the stack of several.
    fn deeper<T>(&mut self, steps: usize, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth + steps > DEPTH {
            return Err(too_deep());
        }
        self.depth += steps;
        let result = step(self);
        self.depth -= steps;
        result
    }

    /// Analyses a query of its own level; the level is dropped on failure, too.
    pub fn in_level<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.levels.push(Level { resolves_unknown: true, ..Level::default() });
        let result = self.deeper(4, step);
        self.levels.pop();
        result
    }

    /// Analyses an expression of a clause.
    pub fn in_place<T>(
        &mut self,
        place: Place,
        step: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.level().place, place);
        let result = step(self);
        self.level().place = before;
        result
    }
}

/// The fault of what is nested too deeply.
pub(crate) fn too_deep() -> Box<crate::error::AnalysisError> {
    fault("54001", NOWHERE, "stack depth limit exceeded").hint(
        "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after ensuring the platform's stack depth limit \
         is adequate.",
    )
}
