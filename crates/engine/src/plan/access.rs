//! The way to a table's rows: through an index where the predicates name a key or a range of one.

use super::catalog::PlannedTable;
use super::selectivity;
use crate::types::{ColumnId, Comparison, IndexId, IndexKind, IndexSchema, Predicate, Scalar};

/// Rows below this share of the table are fetched through an index rather than scanned: a fetched row costs
/// about twenty times a scanned one (a random access against a sequential one).
const INDEX_SHARE: f64 = 0.05;

/// How one activation's rows of a table are reached.
#[derive(Clone, Debug)]
pub enum Access {
    /// Through an index.
    Index(IndexAccess),
    /// All rows are looked at, for the whole batch at once.
    Scan,
}

/// A probe or a range of an index.
#[derive(Clone, Debug)]
pub struct IndexAccess {
    /// The index.
    pub index: IndexId,
    /// Its name, for EXPLAIN.
    pub name: std::sync::Arc<str>,
    /// Values of the first key columns; several alternatives each (IN).
    pub equal: Vec<Vec<Scalar>>,
    /// Whether `equal` covers the whole key.
    pub whole: bool,
    /// Whether a key names at most one row.
    pub unique: bool,
    /// Lower bound of the key column after `equal`, and whether it is included.
    pub lower: Option<(Scalar, bool)>,
    /// Upper bound of the key column after `equal`, and whether it is included.
    pub upper: Option<(Scalar, bool)>,
    /// Walk in key order and stop early: (descending, rows).
    pub first: Option<(bool, usize)>,
    /// Predicates (by position) that the index answers; the rest is checked on each row.
    pub covered: Vec<usize>,
    /// Estimated rows fetched.
    pub rows: f64,
}

impl Access {
    /// Rows that one activation looks at, and those of them that are left.
    pub fn reached(&self, table: &PlannedTable, predicates: &[Predicate]) -> (f64, f64) {
        let looked_at = match self {
            Access::Index(index) => index.fetched(table, predicates),
            Access::Scan => table.rows(),
        };
        (looked_at, looked_at.min(table.rows() * selectivity::alone(table, predicates)))
    }
}

impl IndexAccess {
    /// Estimated rows that the index finds.
    fn fetched(&self, table: &PlannedTable, predicates: &[Predicate]) -> f64 {
        if self.unique {
            return self.equal.iter().map(Vec::len).product::<usize>() as f64;
        }
        let covered: Vec<Predicate> = self.covered.iter().map(|i| predicates[*i].clone()).collect();
        table.rows() * selectivity::alone(table, &covered)
    }
}

/// The index that leaves the fewest rows to fetch; `None` without a usable one.
pub fn best_index(table: &PlannedTable, predicates: &[Predicate]) -> Option<IndexAccess> {
    let usable = table.schema.indexes.iter().filter_map(|i| index_access(table, i, predicates));
    usable.min_by(|a, b| a.rows.total_cmp(&b.rows))
}

/// The access that is cheapest for one activation.
pub fn choose(table: &PlannedTable, predicates: &[Predicate]) -> Access {
    match best_index(table, predicates) {
        Some(access) if access.unique || access.rows <= table.rows() * INDEX_SHARE => {
            Access::Index(access)
        }
        _ => Access::Scan,
    }
}

fn index_access(
    table: &PlannedTable,
    index: &IndexSchema,
    predicates: &[Predicate],
) -> Option<IndexAccess> {
    let mut equal = Vec::new();
    let mut covered = Vec::new();
    for column in &index.columns {
        let Some((position, values)) = equality(*column, predicates) else { break };
        // Several columns with several values each would multiply: one IN is enough.
        if values.len() > 1 && equal.iter().any(|other: &Vec<Scalar>| other.len() > 1) {
            break;
        }
        equal.push(values);
        covered.push(position);
    }
    let whole = equal.len() == index.columns.len();
    let (mut lower, mut upper) = (None, None);
    if let (IndexKind::Ordered, Some(next)) = (index.kind, index.columns.get(equal.len())) {
        bounds(*next, predicates, &mut covered, &mut lower, &mut upper);
    }
    let usable = match index.kind {
        IndexKind::Hash => whole,
        IndexKind::Ordered => !covered.is_empty(),
    };
    let access = IndexAccess {
        index: index.id,
        name: index.name.clone(),
        equal,
        whole,
        unique: whole && index.unique,
        lower,
        upper,
        first: None,
        covered,
        rows: 0.0,
    };
    let rows = access.fetched(table, predicates);
    usable.then_some(IndexAccess { rows, ..access })
}

fn is_constant(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Parameter(_) | Scalar::Literal(_))
}

/// The first predicate that names values of `column`.
fn equality(column: ColumnId, predicates: &[Predicate]) -> Option<(usize, Vec<Scalar>)> {
    predicates.iter().enumerate().find_map(|(position, predicate)| match predicate {
        Predicate::Compare { column: c, comparison: Comparison::Equal, value }
            if *c == column.index() && is_constant(value) =>
        {
            Some((position, vec![value.clone()]))
        }
        Predicate::In { column: c, values, negated: false }
            if *c == column.index() && values.iter().all(is_constant) =>
        {
            Some((position, values.clone()))
        }
        _ => None,
    })
}

/// The first lower and the first upper bound of `column`; further ones stay residual.
fn bounds(
    column: ColumnId,
    predicates: &[Predicate],
    covered: &mut Vec<usize>,
    lower: &mut Option<(Scalar, bool)>,
    upper: &mut Option<(Scalar, bool)>,
) {
    for (position, predicate) in predicates.iter().enumerate() {
        let Predicate::Compare { column: c, comparison, value } = predicate else { continue };
        if *c != column.index() || !is_constant(value) {
            continue;
        }
        let (bound, included) = match comparison {
            Comparison::Greater => (&mut *lower, false),
            Comparison::GreaterOrEqual => (&mut *lower, true),
            Comparison::Less => (&mut *upper, false),
            Comparison::LessOrEqual => (&mut *upper, true),
            _ => continue,
        };
        if bound.is_none() {
            *bound = Some((value.clone(), included));
            covered.push(position);
        }
    }
}
