//! The twin of a star: joins by nested loops, then the twin of grouping.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::aggregate::{aggregate, grouped};
use super::random::Random;
use super::stored::{locations, table};
use super::{Activations, Row, check, fault};
use crate::operators::{
    Batch, Budget, Child, Dimension, DimensionRows, FactRows, Faults, GroupNode, GroupingKey,
    LastSample, MergedScratch, MergedStars, PackOptions, Packing, Star, StarBuild, StarDimension,
    StarGrouping, StarGroups, StarKey, StarNode, Survivors,
};
use crate::plan::{Aggregate, AggregateFunction};
use crate::query_set::{QuerySets, SetId, SetTable, Tuples};
use crate::scan::TableBatch;
use crate::storage::{Store, TableView};
use crate::types::{ColumnId, DataType, Location, Scalar, Slot, SqlState, Value};

/// The fact table refers to dimensions 0 and 1 by its columns 1 and 2, dimension 0 to dimension 2 by its column 1.
const REFERENCES: [(Option<usize>, u32); 3] = [(None, 1), (None, 2), (Some(0), 1)];

type Wanted = Vec<(Row, BTreeSet<Slot>)>;

/// A table of random rows with ascending keys, a third of them missing.
fn rows(random: &mut Random, types: &[DataType], most: usize) -> Vec<Row> {
    let keys: Vec<i32> = (-2..most as i32).filter(|_| random.chance(66)).collect();
    let row = |key: &i32| {
        let rest = types[1..].iter().map(|&data_type| random.value(data_type));
        std::iter::once(Value::Integer(*key)).chain(rest).collect()
    };
    keys.iter().map(row).collect()
}

fn fact_types(random: &mut Random) -> Vec<DataType> {
    vec![DataType::Integer, DataType::Integer, DataType::Integer, random.data_type()]
}

struct Case {
    node: StarNode,
    /// By slot.
    groupings: Vec<usize>,
    dimensions: Vec<Wanted>,
    fact: Wanted,
    fact_types: Vec<DataType>,
    dimension_types: Vec<DataType>,
    /// All slots want all rows of the fact table.
    asks_nothing: bool,
    /// Rows of dimensions come once for the slots of even numbers and once for the others, as where some probe and others
    /// ride a scan.
    twice: bool,
    /// Queries without bins are aggregated in packs, drawn with this seed.
    packed: Option<u64>,
}

impl Case {
    fn new(random: &mut Random, slots: usize) -> Case {
        let fact_types = fact_types(random);
        let all: Vec<Slot> = (0..slots as u32).map(Slot).collect();
        let facts = rows(random, &fact_types, 60);
        // A scan leaves no row that nobody wants.
        let mut fact = wanted(random, facts, &all);
        fact.retain(|(_, set)| !set.is_empty());
        let asks_nothing = random.chance(50);
        if asks_nothing {
            fact.iter_mut().for_each(|(_, set)| *set = all.iter().copied().collect());
        }
        Case { asks_nothing, ..Case::over(random, slots, fact_types, fact) }
    }

    /// All slots want all rows of a given fact table.
    fn over(random: &mut Random, slots: usize, fact_types: Vec<DataType>, fact: Wanted) -> Case {
        let third = random.data_type();
        let dimension_types = vec![DataType::Integer, DataType::Integer, third, DataType::Text];
        let dimension =
            |(parent, outer)| StarDimension { parent, outer: ColumnId(outer), key: ColumnId(0) };
        let groupings: Vec<StarGrouping> =
            (0..1 + random.below(3)).map(|_| grouping(random, &fact_types)).collect();
        let node = StarNode { dimensions: REFERENCES.map(dimension).to_vec(), groupings };
        let own: Vec<usize> = (0..slots).map(|_| random.below(node.groupings.len())).collect();
        let joins = |slot: usize, d: usize| node.groupings[own[slot]].dimensions.contains(&d);
        let dimensions = (0..3).map(|d| {
            let users: Vec<Slot> =
                (0..slots).filter(|&s| joins(s, d)).map(|s| Slot(s as u32)).collect();
            let rows = rows(random, &dimension_types, 8);
            wanted(random, rows, &users)
        });
        let dimensions = dimensions.collect();
        let (asks_nothing, packed) = (true, random.chance(50).then(|| random.below(1_000) as u64));
        let (groupings, twice) = (own, slots.is_multiple_of(2));
        Case {
            node,
            groupings,
            dimensions,
            fact,
            fact_types,
            dimension_types,
            asks_nothing,
            twice,
            packed,
        }
    }

    /// The rows of a dimension with their sets, as its table is read.
    fn chunks(&self, d: usize, activations: &Activations, view: &Arc<TableView>) -> Vec<Tuples> {
        let rows = &self.dimensions[d];
        let chunk = |asked: &dyn Fn(Slot) -> bool| {
            let own = |(row, set): &(Row, BTreeSet<Slot>)| {
                (row.clone(), set.iter().copied().filter(|slot| asked(*slot)).collect())
            };
            let own: Wanted = rows.iter().map(own).collect();
            Tuples::of_table(view.clone(), locations(view), sets(&own, activations))
        };
        match self.twice {
            true => vec![chunk(&|slot| slot.0 % 2 == 0), chunk(&|slot| slot.0 % 2 == 1)],
            false => vec![chunk(&|_| true)],
        }
    }

    /// The slots of each grouping.
    fn wanted(&self, batch: &Batch<'_>) -> Vec<SetId> {
        let of = |grouping| {
            let own = (0..self.groupings.len()).filter(|s| self.groupings[*s] == grouping);
            batch.sets.intern_slots(own.map(|s| Slot(s as u32)))
        };
        (0..self.node.groupings.len()).map(of).collect()
    }

    /// The rows of one slot's joins, fact columns first.
    fn joined(&self, slot: Slot) -> Vec<Row> {
        let own = |rows: &Wanted| -> Vec<Row> {
            rows.iter().filter(|(_, set)| set.contains(&slot)).map(|(row, _)| row.clone()).collect()
        };
        let joins = &self.node.groupings[self.groupings[slot.index()]].dimensions;
        let mut rows = own(&self.fact);
        for &dimension in joins {
            let (parent, outer) = REFERENCES[dimension];
            let before = parent.and_then(|parent| joins.iter().position(|d| *d == parent));
            let column = match before {
                Some(position) => self.fact_types.len() + position * self.dimension_types.len(),
                None => 0,
            } + outer as usize;
            let partners = own(&self.dimensions[dimension]);
            let equal =
                |row: &&Row, partner: &&Row| !row[column].is_null() && row[column] == partner[0];
            let pairs = rows.iter().flat_map(|row| {
                let found = partners.iter().filter(move |partner| equal(&row, partner));
                found.map(move |partner| [row.clone(), partner.clone()].concat())
            });
            rows = pairs.collect();
        }
        rows
    }

    /// A slot's grouping over the columns of its joins.
    fn group_node(&self, slot: Slot) -> (GroupNode, Vec<DataType>) {
        let grouping = &self.node.groupings[self.groupings[slot.index()]];
        let column = |key: &GroupingKey| {
            let (GroupingKey::Own(key) | GroupingKey::Determined { key, .. }) = key;
            let position = grouping.dimensions.iter().position(|d| *d == key.dimension);
            let position = position.expect("keys are of joined dimensions");
            self.fact_types.len() + position * self.dimension_types.len() + key.column.index()
        };
        let keys = grouping.keys.iter().map(column).collect();
        let mut types = self.fact_types.clone();
        grouping.dimensions.iter().for_each(|_| types.extend(&self.dimension_types));
        (
            GroupNode { keys, determinants: Vec::new(), aggregates: grouping.aggregates.clone() },
            types,
        )
    }
}

/// A random set of dimensions, children with their parents, and keys and aggregates over them.
fn grouping(random: &mut Random, fact: &[DataType]) -> StarGrouping {
    let choices: [&[usize]; 6] = [&[0], &[1], &[0, 1], &[1, 0], &[0, 2], &[0, 1, 2]];
    let dimensions = choices[random.below(choices.len())].to_vec();
    let key = |random: &mut Random| StarKey {
        dimension: dimensions[random.below(dimensions.len())],
        column: ColumnId(random.below(4) as u32),
    };
    let mut keys: Vec<GroupingKey> =
        (0..random.below(5)).map(|_| GroupingKey::Own(key(random))).collect();
    determine(random, &mut keys);
    let mut aggregates: Vec<Aggregate> = (0..4).map(|_| aggregate(random, fact, &[])).collect();
    if random.chance(30) {
        aggregates.push(Aggregate {
            function: AggregateFunction::Sum,
            argument: Some(Scalar::Expression(random.quotient(fact, &[], DataType::Integer))),
            distinct: false,
            filter: None,
            data_type: DataType::BigInt,
        });
    }
    aggregates.retain(|one| StarGrouping::is_fit(std::slice::from_ref(one), fact.len()));
    StarGrouping { dimensions, keys, aggregates }
}

/// Keys of rows that a unique key among them determines need not tell groups apart.
fn determine(random: &mut Random, keys: &mut [GroupingKey]) {
    let dimension = |key: &GroupingKey| match key {
        GroupingKey::Own(key) | GroupingKey::Determined { key, .. } => key.dimension,
    };
    let is_unique =
        |key: &GroupingKey| matches!(key, GroupingKey::Own(k) if k.column == ColumnId(0));
    let Some(by) = keys.iter().position(is_unique) else { return };
    let root = dimension(&keys[by]);
    for (position, own) in keys.iter_mut().enumerate() {
        let below = dimension(own) == root || (root == 0 && dimension(own) == 2);
        if let (GroupingKey::Own(key), true) = (*own, position != by && below && random.chance(70))
        {
            *own = GroupingKey::Determined { by, key };
        }
    }
}

fn wanted(random: &mut Random, rows: Vec<Row>, users: &[Slot]) -> Wanted {
    let density = [5, 40, 100][random.below(3)];
    let mut set = || users.iter().copied().filter(|_| random.chance(density)).collect();
    rows.into_iter().map(|row| (row, set())).collect()
}

fn sets(rows: &Wanted, activations: &Activations) -> QuerySets {
    let id = |set: &BTreeSet<Slot>| activations.sets.intern_slots(set.iter().copied());
    QuerySets::Interned(rows.iter().map(|(_, set)| id(set)).collect())
}

fn view(store: &Arc<Store>, id: u32, types: &[DataType], rows: &Wanted) -> Arc<TableView> {
    let rows: Vec<Row> = rows.iter().map(|(row, _)| row.clone()).collect();
    table(store, id, types, &rows)
}

/// A batch's star over the rows of `fact`.
fn star(
    case: &Case,
    activations: &Activations,
    batch: &Batch<'_>,
    store: &Arc<Store>,
    fact: &Arc<TableView>,
) -> Arc<Star> {
    let wanted = case.wanted(batch);
    let mut dimensions: Vec<Dimension> = Vec::new();
    for d in (0..3).rev() {
        let joins = |g: &usize| case.node.groupings[*g].dimensions.contains(&d);
        let users = (0..wanted.len()).filter(joins);
        let users = users.fold(SetId::EMPTY, |all, g| batch.sets.union(all, wanted[g]));
        let id = store.tables().len() as u32 + 1;
        let view = view(store, id, &case.dimension_types, &case.dimensions[d]);
        let chunks = case.chunks(d, activations, &view);
        let passing = batch.sets.difference(batch.sets.all(), users);
        let rows = DimensionRows { view, key: ColumnId(0), chunks, passing };
        // Built from the last to the first: dimension 2 is there when its parent comes.
        let child = |dimension| Child { outer: ColumnId(1), dimension, number: 2 };
        let children: Vec<Child<'_>> = match d {
            0 => dimensions.first().map(child).into_iter().collect(),
            _ => Vec::new(),
        };
        dimensions.push(Dimension::new(batch, &rows, &children).expect("dense keys"));
    }
    dimensions.reverse();
    let star = Star::new(&case.node, batch, fact.clone(), dimensions, &[], &wanted);
    let mut star = star.expect("few groups");
    if let Some(seed) = case.packed {
        // So few rows tell nothing: each query has a pack of its own.
        let slots = activations.sets.slots();
        let scan = TableBatch::new(fact.clone(), &Arc::new(SetTable::new(slots)), &[]);
        let options = PackOptions { packing: Packing::Always, cache: 1 << 20, seed };
        star.pack(&case.node, batch, &scan, options, &LastSample::default());
    }
    Arc::new(star)
}

/// All groups of a star, in two parts.
fn finished(
    case: &Case,
    star: Arc<Star>,
    builds: Vec<StarBuild>,
    batch: &Batch<'_>,
    faults: &mut Faults,
) -> Vec<Tuples> {
    let groups = StarGroups::new(star, builds);
    let mut output = Vec::new();
    let wanted = case.wanted(batch).into_iter().enumerate();
    for (grouping, _) in wanted.filter(|(_, set)| *set != SetId::EMPTY) {
        for part in 0..2 {
            output.push(groups.finish(&case.node, grouping, batch, (part, 2), faults));
        }
    }
    output
}

/// What a star gives two workers.
fn outputs(
    case: &Case,
    activations: &Activations,
    batch: &Batch<'_>,
    faults: &mut Faults,
) -> (Vec<Tuples>, usize, bool) {
    let store = Store::new(2);
    let fact = view(&store, 1, &case.fact_types, &case.fact);
    let star = star(case, activations, batch, &store, &fact);
    let (in_bins, packed) = (star.groupings_in_bins(), star.packing().is_some());
    let mut builds = vec![StarBuild::default(), StarBuild::default()];
    for (i, rows) in fact_rows(case, activations, &fact).into_iter().enumerate() {
        builds[i % 2].add(&case.node, &star, batch, rows, None, faults);
    }
    for build in &mut builds {
        build.group(&case.node, &star, batch, faults);
    }
    (finished(case, star, builds, batch, faults), in_bins, packed)
}

#[test]
fn a_star_equals_joins_and_groupings_alone() {
    let (mut in_bins, mut in_packs) = (0, 0);
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let case = Case::new(&mut random, slots);
        let activations = random.activations(slots, &[]);
        activations.with(|batch| {
            let mut faults = Faults::default();
            let (output, binned, packed) = outputs(&case, &activations, batch, &mut faults);
            in_bins += usize::from(case.asks_nothing) * binned;
            in_packs += usize::from(packed);
            check(seed, batch, &output, &faults, false, |slot| {
                let (node, types) = case.group_node(slot);
                grouped(&case.joined(slot), &types, &node, &activations, slot)
            });
        });
    }
    assert!(in_bins > 100 && in_packs > 50, "{in_bins} had bins, {in_packs} packs");
}

/// Several batches over one fact table, all of whose rows all slots want.
struct Together {
    fact: Arc<TableView>,
    batches: Vec<(Case, Activations)>,
    stars: Vec<Arc<Star>>,
}

impl Together {
    fn new(random: &mut Random) -> Together {
        let types = fact_types(random);
        let facts = rows(random, &types, 60);
        let store = Store::new(2);
        let nobodys: Wanted = facts.iter().map(|row| (row.clone(), BTreeSet::new())).collect();
        let fact = view(&store, 1, &types, &nobodys);
        let mut together = Together { fact, batches: Vec::new(), stars: Vec::new() };
        for _ in 0..2 + random.below(4) {
            let slots = random.slots();
            let all: BTreeSet<Slot> = (0..slots as u32).map(Slot).collect();
            let fact = facts.iter().map(|row| (row.clone(), all.clone())).collect();
            let case = Case::over(random, slots, types.clone(), fact);
            let activations = random.activations(slots, &[]);
            let fact = &together.fact;
            let own = activations.with(|batch| star(&case, &activations, batch, &store, fact));
            together.stars.push(own);
            together.batches.push((case, activations));
        }
        together
    }

    /// Adds a run of rows to each star's build, narrowed together for those that meet: how many these are.
    fn add(
        &self,
        run: &FactRows,
        meeting: &[usize],
        merged: Option<&MergedStars>,
        scratch: &mut MergedScratch,
        builds: &mut [(StarBuild, Faults)],
    ) -> usize {
        let wanted = meeting.iter().map(|&n| {
            let sets = &self.batches[n].1.sets;
            (n, &*self.stars[n], sets, sets.all())
        });
        let wanted: Vec<_> = wanted.collect();
        let merged = merged.filter(|_| !wanted.is_empty());
        let narrowed = merged.map(|m| m.narrow(scratch, (run.chunk, &run.rows), &wanted));
        let mut narrowed: Vec<Option<Survivors>> = narrowed.unwrap_or_default();
        let met = narrowed.iter().flatten().count();
        narrowed.resize_with(meeting.len(), || None);
        let mut by_star: Vec<Option<Survivors>> = self.stars.iter().map(|_| None).collect();
        meeting.iter().zip(narrowed).for_each(|(&n, own)| by_star[n] = own);
        for (n, own) in by_star.into_iter().enumerate() {
            let (case, activations) = &self.batches[n];
            let (build, faults) = &mut builds[n];
            let sets = QuerySets::Uniform(activations.sets.all());
            let rows = FactRows { chunk: run.chunk, rows: run.rows.clone(), sets };
            activations.with(|batch| {
                build.add(&case.node, &self.stars[n], batch, rows, own, faults);
            });
        }
        met
    }
}

#[test]
fn stars_that_meet_their_rows_together_equal_each_alone() {
    let (mut met, mut in_bins) = (0, 0);
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let together = Together::new(&mut random);
        let Together { fact, batches, stars } = &together;
        let members: Vec<(&Star, usize)> =
            stars.iter().zip(batches).map(|(star, own)| (&**star, own.1.sets.slots())).collect();
        let merged = MergedStars::new(&members);
        let mut scratch = MergedScratch::default();
        let mut builds: Vec<(StarBuild, Faults)> =
            stars.iter().map(|_| Default::default()).collect();
        for run in fact_rows(&batches[0].0, &batches[0].1, fact) {
            let meeting: Vec<usize> = (0..stars.len()).filter(|_| random.chance(70)).collect();
            met += together.add(&run, &meeting, merged.as_ref(), &mut scratch, &mut builds);
        }
        for (n, (mut build, mut faults)) in builds.into_iter().enumerate() {
            let (case, activations) = &batches[n];
            in_bins += stars[n].groupings_in_bins();
            activations.with(|batch| {
                build.group(&case.node, &stars[n], batch, &mut faults);
                let output = finished(case, stars[n].clone(), vec![build], batch, &mut faults);
                check(seed, batch, &output, &faults, false, |slot| {
                    let (node, types) = case.group_node(slot);
                    grouped(&case.joined(slot), &types, &node, activations, slot)
                });
            });
        }
    }
    assert!(met > 500 && in_bins > 100, "{met} stars met rows together, {in_bins} had bins");
}

#[test]
fn without_memory_a_slot_fails_and_the_others_get_their_groups() {
    let (mut failed, mut answered) = (0, 0);
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let case = Case::new(&mut random, slots);
        let mut activations = random.activations(slots, &[]);
        activations.budget = Budget::new(random.below(20_000));
        activations.with(|batch| {
            let mut faults = Faults::default();
            let (output, ..) = outputs(&case, &activations, batch, &mut faults);
            let states: Vec<_> = faults.iter().map(|(slot, error)| (slot, error.state)).collect();
            check(seed, batch, &output, &faults, false, |slot| {
                if states.contains(&(slot, SqlState::OutOfMemory)) {
                    return Err(fault(SqlState::OutOfMemory));
                }
                let (node, types) = case.group_node(slot);
                grouped(&case.joined(slot), &types, &node, &activations, slot)
            });
            let without = states.iter().filter(|(_, state)| *state == SqlState::OutOfMemory);
            let without = without.count();
            (failed, answered) = (failed + without, answered + slots - without);
        });
    }
    assert!(failed > 100 && answered > 100, "{failed} failed, {answered} answered");
}

/// The fact table's rows in runs of one chunk.
fn fact_rows(case: &Case, activations: &Activations, view: &TableView) -> Vec<FactRows> {
    let sets = match case.asks_nothing {
        true => QuerySets::Uniform(activations.sets.all()),
        false => sets(&case.fact, activations),
    };
    let locations = locations(view);
    let mut start = 0;
    let runs = locations.chunk_by(|a, b| a.chunk == b.chunk && a.offset < b.offset).map(|run| {
        let end = start + run.len();
        let sets = sets.slice(start..end);
        start = end;
        let rows = run.iter().map(|location: &Location| location.offset).collect();
        FactRows { chunk: run[0].chunk, rows, sets }
    });
    runs.collect()
}
