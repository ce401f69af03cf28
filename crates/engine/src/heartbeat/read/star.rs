//! The stars of a lane: groupings over joins of one table with others by their unique keys.
//!
//! Found when the lane is prepared. All groupings of a batch over the same table run as one pass
//! ([`crate::operators::Star`]), whatever order their joins have in the global plan and whichever dimensions each one
//! joins. Called by `prepared` and `run`.

use crate::operators::{GroupingKey, LastSample, StarDimension, StarGrouping, StarKey, StarNode};
use crate::plan::{JoinKind, LaneNode, LanePlan, SharedOperation};
use crate::query_set::SetId;
use crate::scan::TableAccess;
use crate::storage::Store;
use crate::types::{ColumnId, DataType, IndexId, Predicate, Result, TableId};

use super::prepared::{PreparedNode, access};

/// One table's star queries, ready to run.
#[derive(Debug)]
pub struct PreparedStar {
    /// What to do.
    pub node: StarNode,
    /// The fact table.
    pub fact: TableId,
    /// Its scan.
    pub scan: usize,
    /// By dimension.
    pub dimensions: Vec<PreparedDimension>,
    /// The nodes of the groupings, and of the joins below each.
    pub groupings: Vec<(usize, Vec<usize>)>,
    /// What the last sample has said of packs.
    pub last_sample: LastSample,
}

/// A dimension's table and who restricts it.
#[derive(Debug)]
pub struct PreparedDimension {
    /// The table.
    pub table: TableId,
    /// The joins with it: nodes, and what each variant asks of its rows.
    pub joins: Vec<(usize, Vec<TableAccess>)>,
}

/// A grouping's way down to its fact table.
struct Way {
    scan: usize,
    fact: TableId,
    /// From the fact table upwards.
    joins: Vec<Join>,
}

struct Join {
    node: usize,
    table: TableId,
    /// Among the way's tables: the fact table is 0, then the joins' own.
    parent: usize,
    outer: ColumnId,
    key: ColumnId,
}

/// Rows of dimensions that may be read for each row of the fact table: reading and numbering one takes about 30 ns,
/// looking a fact row up in an index about 100.
const DIMENSION_ROWS: f64 = 3.0;

impl PreparedStar {
    /// Whether one pass costs less than joining by index what `activations` want of the fact table. `wanted` are the slots
    /// of each grouping.
    pub fn pays(
        &self,
        plan: &LanePlan,
        wanted: &[SetId],
        activations: usize,
        store: &Store,
    ) -> bool {
        let rows = |table: TableId| store.table(table).map_or(0, |table| table.live_rows());
        let active = self.node.groupings.iter().zip(wanted);
        let active: Vec<&StarGrouping> =
            active.filter(|(_, set)| **set != SetId::EMPTY).map(|(grouping, _)| grouping).collect();
        let joined = self.dimensions.iter().enumerate();
        let joined = joined.filter(|(n, _)| active.iter().any(|g| g.dimensions.contains(n)));
        let dimensions: u64 = joined.map(|(_, own)| rows(own.table)).sum();
        let fact =
            plan.nodes[self.scan].estimates.iter().map(|e| e.estimate.union(activations as f64));
        fact.fold(0.0, f64::max) * DIMENSION_ROWS > dimensions as f64
    }

    /// What runs as one pass, for EXPLAIN ANALYZE.
    pub fn describe(&self, wanted: &[SetId]) -> String {
        let groupings = wanted.iter().filter(|set| **set != SetId::EMPTY).count();
        let dimensions = self.dimensions.len();
        format!("one pass of {groupings} groupings over {dimensions} dimensions")
    }
}

/// The stars of a lane, and by node the place of each that is a star's grouping: (star, grouping).
#[derive(Debug, Default)]
pub struct Stars {
    /// By number.
    pub stars: Vec<PreparedStar>,
    /// By node.
    pub places: Vec<Option<(usize, usize)>>,
    /// By member of the lane, the star whose pass is all that it asks of stored rows.
    pub members: Vec<Option<usize>>,
}

impl Stars {
    /// What EXPLAIN says of a star's grouping.
    pub fn note(&self, plan: &LanePlan, node: &LaneNode) -> Option<String> {
        let n = plan.nodes.iter().position(|own| own.id == node.id)?;
        let (star, _) = self.places[n]?;
        let star = &self.stars[star];
        let fact = &plan.nodes[star.scan].signature;
        let groupings = star.groupings.len();
        Some(format!(
            "star: with its joins in one {fact}, for {groupings} groupings, where that costs less"
        ))
    }
}

/// Finds a lane's stars. What runs as a chain of probes is none: `nodes` are the plan's as they are prepared.
pub fn find(plan: &LanePlan, nodes: &[PreparedNode], store: &Store) -> Result<Stars> {
    let mut stars: Vec<PreparedStar> = Vec::new();
    let mut places = vec![None; plan.nodes.len()];
    for (n, node) in plan.nodes.iter().enumerate() {
        let SharedOperation::Aggregate { .. } = &node.operation else { continue };
        if uses_twice(&node.members) {
            continue;
        }
        let Some(way) = way(plan, node.inputs[0], store) else { continue };
        if !matches!(nodes[way.scan], PreparedNode::Scan { .. }) {
            continue;
        }
        let known = stars.iter().position(|star| star.scan == way.scan);
        let number = known.unwrap_or(stars.len());
        if known.is_none() {
            let node = StarNode { dimensions: Vec::new(), groupings: Vec::new() };
            let (dimensions, groupings) = (Vec::new(), Vec::new());
            let (fact, scan) = (way.fact, way.scan);
            let last_sample = LastSample::default();
            stars.push(PreparedStar { node, fact, scan, dimensions, groupings, last_sample });
        }
        if add(&mut stars[number], plan, store, n, &way)? {
            places[n] = Some((number, stars[number].groupings.len() - 1));
        }
    }
    let members = (0..plan.members.len()).map(|member| only_star(plan, &stars, &places, member));
    Ok(Stars { members: members.collect(), stars, places })
}

/// The star that a member's nodes are inside of or above: everything else it has from the star's groups.
fn only_star(
    plan: &LanePlan,
    stars: &[PreparedStar],
    places: &[Option<(usize, usize)>],
    member: usize,
) -> Option<usize> {
    let uses = &plan.members[member].uses;
    let number = uses.iter().find_map(|used| places[used.node])?.0;
    let star = &stars[number];
    let mut above = vec![false; plan.nodes.len()];
    for used in uses {
        let n = used.node;
        let inputs = &plan.nodes[n].inputs;
        // Inputs were noted before those who read them.
        above[n] = places[n].is_some_and(|place| place.0 == number)
            || (!inputs.is_empty() && inputs.iter().all(|input| above[*input]));
        let is_inside =
            n == star.scan || star.groupings.iter().any(|(_, joins)| joins.contains(&n));
        if !above[n] && !is_inside {
            return None;
        }
    }
    Some(number)
}

/// Whether a template has the node twice, each time with other predicates.
fn uses_twice(members: &[usize]) -> bool {
    members.iter().enumerate().any(|(i, member)| members[..i].contains(member))
}

/// The joins from a grouping's input down to a scan; `None` where there is anything else, or no join.
fn way(plan: &LanePlan, mut n: usize, store: &Store) -> Option<Way> {
    let mut above = Vec::new();
    while let SharedOperation::IndexJoin { .. } = &plan.nodes[n].operation {
        above.push(n);
        n = plan.nodes[n].inputs[0];
    }
    let SharedOperation::Scan { table, .. } = &plan.nodes[n].operation else { return None };
    let mut way = Way { scan: n, fact: *table, joins: Vec::new() };
    let mut tables = vec![*table];
    for &node in above.iter().rev() {
        let join = join(plan, node, &tables, store)?;
        tables.push(join.table);
        way.joins.push(join);
    }
    (!way.joins.is_empty()).then_some(way)
}

/// An inner join by one unique key of integers or dates, without further conditions.
fn join(plan: &LanePlan, node: usize, tables: &[TableId], store: &Store) -> Option<Join> {
    let SharedOperation::IndexJoin { kind: JoinKind::Inner, table, index, keys, inner, residuals } =
        &plan.nodes[node].operation
    else {
        return None;
    };
    let [key] = &keys[..] else { return None };
    let [outer] = key[..] else { return None };
    // A dimension is asked about all its rows, those that no fact row refers to included.
    let may_fail = inner.iter().flatten().any(Predicate::may_fail);
    if may_fail || residuals.iter().any(|residual| !residual.is_empty()) {
        return None;
    }
    let (own, own_type) = unique_key(store, *table, *index)?;
    let (parent, column, outer_type) = origin(store, tables, outer)?;
    comparable(own_type, outer_type).then_some(Join {
        node,
        table: *table,
        parent,
        outer: column,
        key: own,
    })
}

fn unique_key(store: &Store, table: TableId, index: IndexId) -> Option<(ColumnId, DataType)> {
    let schema = store.table(table)?.schema();
    let index = schema.indexes.iter().find(|own| own.id == index).filter(|own| own.unique)?;
    let [column] = index.columns[..] else { return None };
    Some((column, schema.columns[column.index()].data_type))
}

/// Which of the tables joined so far an output column comes from.
fn origin(store: &Store, tables: &[TableId], column: usize) -> Option<(usize, ColumnId, DataType)> {
    let mut rest = column;
    for (position, table) in tables.iter().enumerate() {
        let schema = store.table(*table)?.schema();
        if let Some(found) = schema.columns.get(rest) {
            return Some((position, ColumnId(rest as u32), found.data_type));
        }
        rest -= schema.columns.len();
    }
    None
}

fn comparable(a: DataType, b: DataType) -> bool {
    let integer = |t| matches!(t, DataType::SmallInt | DataType::Integer | DataType::BigInt);
    (integer(a) && integer(b)) || (a == DataType::Date && b == DataType::Date)
}

/// Adds a grouping; `false` where its keys or aggregates are not a star's.
fn add(
    star: &mut PreparedStar,
    plan: &LanePlan,
    store: &Store,
    n: usize,
    way: &Way,
) -> Result<bool> {
    let SharedOperation::Aggregate { keys, determinants, aggregates } = &plan.nodes[n].operation
    else {
        return Ok(false);
    };
    let joined = way.joins.iter().map(|join| join.table);
    let tables: Vec<TableId> = std::iter::once(way.fact).chain(joined).collect();
    let fact_columns = store.table(way.fact).map_or(0, |table| table.schema().columns.len());
    let origins: Option<Vec<_>> = keys.iter().map(|&key| origin(store, &tables, key)).collect();
    let Some(origins) = origins.filter(|o| o.iter().all(|origin| origin.0 > 0)) else {
        return Ok(false);
    };
    if !StarGrouping::is_fit(aggregates, fact_columns) || joins_twice(way) {
        return Ok(false);
    }
    // Positions of the way's tables among the star's dimensions; the fact table has none.
    let mut dimensions: Vec<usize> = Vec::new();
    for join in &way.joins {
        let parent = join.parent.checked_sub(1).map(|parent| dimensions[parent]);
        let dimension = StarDimension { parent, outer: join.outer, key: join.key };
        dimensions.push(place(star, plan, store, join, dimension)?);
    }
    let key = |(table, column, _): (usize, ColumnId, DataType)| StarKey {
        dimension: dimensions[table - 1],
        column,
    };
    let star_keys: Vec<StarKey> = origins.into_iter().map(key).collect();
    let tell = |position: usize| determinants.is_empty() || determinants.contains(&keys[position]);
    star.node.groupings.push(StarGrouping {
        keys: grouping_keys(&star.node, &star_keys, tell),
        aggregates: aggregates.clone(),
        dimensions,
    });
    star.groupings.push((n, way.joins.iter().map(|join| join.node).collect()));
    Ok(true)
}

/// Which keys are read from the row of another one. `tell` are the keys that tell groups apart.
fn grouping_keys(
    node: &StarNode,
    keys: &[StarKey],
    tell: impl Fn(usize) -> bool,
) -> Vec<GroupingKey> {
    let leads_to = |from: usize, mut to: usize| {
        while to != from {
            let Some(parent) = node.dimensions[to].parent else { return false };
            to = parent;
        }
        true
    };
    let grouping_key = |position: usize| {
        let key = keys[position];
        let determines = |by: &usize| {
            let own = keys[*by];
            let unique = own.column == node.dimensions[own.dimension].key;
            *by != position && tell(*by) && unique && leads_to(own.dimension, key.dimension)
        };
        match (0..keys.len()).find(determines).filter(|_| !tell(position)) {
            Some(by) => GroupingKey::Determined { by, key },
            None => GroupingKey::Own(key),
        }
    };
    (0..keys.len()).map(grouping_key).collect()
}

/// Whether one reference is joined twice: each may ask something else of the rows.
fn joins_twice(way: &Way) -> bool {
    let same = |a: &Join, b: &Join| {
        (a.table, a.parent, a.outer, a.key) == (b.table, b.parent, b.outer, b.key)
    };
    way.joins.iter().enumerate().any(|(i, a)| way.joins[..i].iter().any(|b| same(a, b)))
}

/// The position of a join's dimension in the star.
fn place(
    star: &mut PreparedStar,
    plan: &LanePlan,
    store: &Store,
    join: &Join,
    dimension: StarDimension,
) -> Result<usize> {
    let mut known = star.node.dimensions.iter().zip(&star.dimensions);
    let place = known
        .position(|(known, prepared)| *known == dimension && prepared.table == join.table)
        .unwrap_or(star.dimensions.len());
    if place == star.dimensions.len() {
        star.node.dimensions.push(dimension);
        star.dimensions.push(PreparedDimension { table: join.table, joins: Vec::new() });
    }
    let joins = &mut star.dimensions[place].joins;
    if joins.iter().all(|(node, _)| *node != join.node)
        && let SharedOperation::IndexJoin { inner, .. } = &plan.nodes[join.node].operation
    {
        joins.push((join.node, access(plan, join.node, join.table, inner, store)?));
    }
    Ok(place)
}
