//! How one template alone would best reach its rows of a table: which index, and what that costs.
//!
//! Made once per template and again when statistics have moved; a batch then only binds keys. The choice between
//! probing and riding the scan is made per batch, in `decision`.

use std::sync::Arc;

use super::pattern::{Pattern, PatternShape};
use super::selectivity::point_selectivity;
use crate::query_set::ColumnOrigin;
use crate::storage::{ColumnStatistics, TableStatistics};
use crate::types::{
    ColumnId, Comparison, DataType, IndexId, IndexKind, IndexSchema, Predicate, Scalar,
    TableSchema, Value,
};

/// Nanoseconds of one look-up in an index, with its share of batching.
const PROBE_COST: f64 = 150.0;
/// Nanoseconds to fetch one row through an index and test it (measured: 26 from an array, 125 from a tree).
const FETCH_COST: f64 = 80.0;
/// Nanoseconds that a scan for one activation takes per row and predicate.
const SCAN_COST: f64 = 1.0;
/// The same for a pattern.
const PATTERN_COST: f64 = 15.0;
/// Share of rows inside a range whose ends are not known yet.
const UNKNOWN_RANGE: f64 = 0.2;
/// Share of rows with a prefix that is not known yet.
const UNKNOWN_PREFIX: f64 = 0.01;
/// A statement that fetches so few rows by its index is a point statement: it never rides a scan.
const POINT_ROWS: f64 = 128.0;

/// What a template wants of one table, and how it best gets it.
#[derive(Clone, Debug)]
pub struct TableAccess {
    /// A conjunction over the table's columns.
    pub predicates: Arc<[Predicate]>,
    /// The types of the template's parameters.
    pub parameter_types: Arc<[DataType]>,
    pub(super) path: Option<IndexPath>,
    pub(super) statistics: Arc<TableStatistics>,
    /// All columns of the table, as output columns and by type.
    pub(super) columns: Arc<[ColumnOrigin]>,
    pub(super) types: Arc<[DataType]>,
    estimate: Estimate,
}

/// What reaching a template's rows alone takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Rows read through the index, or all rows of the table.
    pub fetched: f64,
    /// Nanoseconds through the index; infinite without one.
    pub probe_cost: f64,
    /// Nanoseconds by a scan of its own.
    pub scan_cost: f64,
}

/// An index that finds the rows.
#[derive(Clone, Debug)]
pub(super) struct IndexPath {
    pub index: IndexId,
    pub name: Arc<str>,
    /// Its leading columns that have predicates: equalities, and at the end maybe a range.
    pub columns: Vec<ColumnId>,
    /// Whether the leading columns are all of the key and only compared for equality.
    pub whole_key: bool,
    /// It finds whole keys only.
    pub hash: bool,
    /// One predicate per key column that is plainly `column = parameter or literal`, and nothing else is asked.
    pub plain: Option<Vec<usize>>,
    pub fetched: f64,
}

impl TableAccess {
    /// Finds the cheapest index path by the table's statistics, and keeps these for the batches to come.
    pub fn new(
        schema: &TableSchema,
        statistics: &TableStatistics,
        predicates: Arc<[Predicate]>,
        parameter_types: Arc<[DataType]>,
    ) -> TableAccess {
        let paths = schema.indexes.iter().filter_map(|index| path(index, statistics, &predicates));
        let path = paths.min_by(|a, b| a.fetched.total_cmp(&b.fetched));
        let rows = statistics.rows as f64;
        let estimate = Estimate {
            fetched: path.as_ref().map_or(rows, |path| path.fetched),
            probe_cost: path.as_ref().map_or(f64::INFINITY, |p| TableAccess::probe_cost(p.fetched)),
            scan_cost: rows * predicates.iter().map(predicate_cost).sum::<f64>().max(SCAN_COST),
        };
        let statistics = Arc::new(statistics.clone());
        let (columns, types) = table_columns(schema);
        TableAccess { predicates, parameter_types, path, statistics, columns, types, estimate }
    }

    /// Nanoseconds to fetch so many rows through an index.
    pub(super) fn probe_cost(fetched: f64) -> f64 {
        PROBE_COST + fetched * FETCH_COST
    }

    /// Whether it finds few rows through an index whatever its parameters: it never rides a scan.
    pub fn is_point(&self) -> bool {
        self.path.is_some() && self.estimate.fetched <= POINT_ROWS
    }

    /// What reaching its rows alone takes.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// The index that it uses when it probes.
    pub fn index(&self) -> Option<(IndexId, &str)> {
        self.path.as_ref().map(|path| (path.index, &*path.name))
    }
}

/// All columns of a table, as output columns and by type.
pub(super) fn table_columns(schema: &TableSchema) -> (Arc<[ColumnOrigin]>, Arc<[DataType]>) {
    let columns = 0..schema.columns.len() as u32;
    let origin = |column| ColumnOrigin::Source { source: 0, column: ColumnId(column) };
    let types = schema.columns.iter().map(|column| column.data_type);
    (columns.map(origin).collect(), types.collect())
}

fn predicate_cost(predicate: &Predicate) -> f64 {
    match predicate {
        Predicate::Like { .. } => PATTERN_COST,
        Predicate::Or(arms) => arms.iter().flatten().map(predicate_cost).sum(),
        Predicate::Expression(_) => 2.0 * PATTERN_COST,
        _ => SCAN_COST,
    }
}

/// What a predicate offers an index on its column.
enum Offer {
    /// So many single keys.
    Points(usize),
    /// A range, and the share of rows in it.
    Range(f64),
}

fn offer(predicate: &Predicate, column: ColumnId) -> Option<Offer> {
    match predicate {
        Predicate::Compare { column: own, comparison, value }
            if *own == column.index() && is_constant(value) =>
        {
            match comparison {
                Comparison::Equal => Some(Offer::Points(1)),
                Comparison::NotEqual => None,
                _ => Some(Offer::Range(UNKNOWN_RANGE)),
            }
        }
        Predicate::In { column: own, values, negated: false }
            if *own == column.index() && values.iter().all(is_constant) =>
        {
            Some(Offer::Points(values.len()))
        }
        Predicate::Like { column: own, pattern, negated: false, case_insensitive: false }
            if *own == column.index() =>
        {
            prefix_offer(pattern)
        }
        _ => None,
    }
}

/// A literal pattern tells whether it has a prefix; of a parameter the batch will see.
fn prefix_offer(pattern: &Scalar) -> Option<Offer> {
    let Scalar::Literal(Value::Text(text)) = pattern else {
        return is_constant(pattern).then_some(Offer::Range(UNKNOWN_PREFIX));
    };
    match Pattern::new(text, false, false)?.shape() {
        PatternShape::Exact(_) => Some(Offer::Points(1)),
        PatternShape::Prefix(_) => Some(Offer::Range(UNKNOWN_PREFIX)),
        _ => None,
    }
}

fn is_constant(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Parameter(_) | Scalar::Literal(_) => true,
        Scalar::Expression(expression) => expression.columns().is_empty(),
        Scalar::Column(_) => false,
    }
}

fn path(
    index: &IndexSchema,
    statistics: &TableStatistics,
    predicates: &[Predicate],
) -> Option<IndexPath> {
    let unknown = ColumnStatistics::default();
    let mut columns = Vec::new();
    let mut share = 1.0;
    let mut keys = 1.0;
    let mut whole_key = true;
    for &column in &index.columns {
        let offers: Vec<Offer> = predicates.iter().filter_map(|p| offer(p, column)).collect();
        let statistics = statistics.columns.get(column.index()).unwrap_or(&unknown);
        let points = offers.iter().filter_map(|offer| match offer {
            Offer::Points(points) => Some(*points),
            Offer::Range(_) => None,
        });
        if let Some(points) = points.min() {
            columns.push(column);
            share *= (points as f64 * point_selectivity(statistics)).min(1.0);
            keys *= points as f64;
            continue;
        }
        whole_key = false;
        if !offers.is_empty() && index.kind == IndexKind::Ordered {
            columns.push(column);
            share *= offers
                .iter()
                .map(|offer| match offer {
                    Offer::Range(share) => *share,
                    Offer::Points(_) => 1.0,
                })
                .product::<f64>();
        }
        break;
    }
    if columns.is_empty() || (index.kind == IndexKind::Hash && !whole_key) {
        return None;
    }
    let fetched = match whole_key && index.unique {
        true => keys,
        false => (share * statistics.rows as f64).max(1.0),
    };
    let plain = if whole_key { plain(&columns, predicates) } else { None };
    let name = index.name.clone();
    let hash = index.kind == IndexKind::Hash;
    Some(IndexPath { index: index.id, name, columns, whole_key, hash, plain, fetched })
}

/// The positions of the predicates if they are exactly one plain equality per key column.
fn plain(columns: &[ColumnId], predicates: &[Predicate]) -> Option<Vec<usize>> {
    if columns.len() != predicates.len() {
        return None;
    }
    let position = |column: &ColumnId| {
        predicates.iter().position(|predicate| {
            matches!(predicate, Predicate::Compare {
                column: own,
                comparison: Comparison::Equal,
                value: Scalar::Parameter(_) | Scalar::Literal(_),
            } if *own == column.index())
        })
    };
    columns.iter().map(position).collect()
}
