//! Interned query sets: a small number instead of a bitmap on every row.

/// A query set of one batch, by number. Meaningful only with the [`SetTable`] that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetId(pub u32);

/// The distinct query sets of one batch, and their memoised intersections. Shared by the batch's workers.
#[derive(Debug)]
pub struct SetTable {}
