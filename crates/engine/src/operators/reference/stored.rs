//! Operators over rows that lie in tables: index joins, grouping by a table's key, and a plan of both.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::aggregate::{aggregate, grouped};
use super::filter::{filtered, parameters, users, variant};
use super::join::joined;
use super::random::Random;
use super::{Relation, Row, check};
use crate::operators::{
    ChunkOf, Faults, GroupBuild, GroupNode, GroupPart, Groups, IndexJoinNode, IndexJoinScratch,
    IndexJoinState,
};
use crate::plan::{Aggregate, AggregateFunction, JoinKind};
use crate::query_set::{QuerySets, SetId, SetTable, Tuples};
use crate::scan::TableBatch;
use crate::storage::{Store, TableView, load_in_chunks};
use crate::types::{
    ColumnDefault, ColumnId, ColumnSchema, DataType, IndexId, IndexKind, IndexSchema, Location,
    Scalar, Slot, SqlState, TableId, TableSchema, Value,
};

const KEY: IndexId = IndexId(1);
const PAIR: IndexId = IndexId(2);

/// A table of `id integer primary key` and further columns, with an ordered index on (third, second).
pub fn table(store: &Arc<Store>, id: u32, types: &[DataType], rows: &[Row]) -> Arc<TableView> {
    // Chunks of a load hold their values in other widths than those that grow.
    match rows.len() % 2 {
        0 => loaded_table(store, id, types, rows, 1 + rows.len() / 2, &[]),
        _ => loaded_table(store, id, types, &[], 1, rows),
    }
}

/// The same with rows loaded in chunks of `chunk_rows`, and more that were inserted later.
fn loaded_table(
    store: &Arc<Store>,
    id: u32,
    types: &[DataType],
    loaded: &[Row],
    chunk_rows: usize,
    inserted: &[Row],
) -> Arc<TableView> {
    let column = |(i, &data_type): (usize, &DataType)| ColumnSchema {
        name: format!("c{i}").into(),
        data_type,
        not_null: i == 0,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    };
    let index = |id: IndexId, columns: &[u32], unique| IndexSchema {
        id,
        name: format!("i{}", id.0).into(),
        columns: columns.iter().map(|&column| ColumnId(column)).collect(),
        kind: if unique { IndexKind::Hash } else { IndexKind::Ordered },
        unique,
        primary: unique,
        constraint: unique,
    };
    let table = store.create_table(TableSchema {
        id: TableId(id),
        schema: "public".into(),
        name: format!("t{id}").into(),
        columns: types.iter().enumerate().map(column).collect(),
        indexes: vec![index(KEY, &[0], true), index(PAIR, &[2, 1], false)],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    });
    let version = store.published().next();
    load_in_chunks(&table, loaded, chunk_rows, version);
    table.insert_rows(inserted, version);
    store.publish(version);
    table.view(version)
}

/// Where the rows of a table lie, in order of their first column.
pub fn locations(view: &TableView) -> Vec<Location> {
    let mut locations = Vec::new();
    for (chunk, rows) in view.chunks() {
        let (mut offsets, end) = (Vec::new(), rows.rows() as u32);
        rows.visible(view.version(), 0..end, &mut offsets);
        locations.extend(offsets.iter().map(|&offset| Location { chunk: *chunk, offset }));
    }
    locations.sort_by(|&a, &b| view.cell(ColumnId(0), a).compare(view.cell(ColumnId(0), b)));
    locations
}

struct Tables {
    inner: Arc<TableView>,
    relation: Relation,
    inner_rows: Vec<Row>,
    chunks: Vec<Tuples>,
}

/// Two tables; the outer one's rows are wanted by random slots.
fn tables(random: &mut Random, slots: usize, sets: &SetTable, types: [&[DataType]; 2]) -> Tables {
    let numbered = |random: &mut Random, types: &[DataType], number: usize| {
        let values = types.iter().enumerate().map(|(i, &data_type)| match i {
            0 => Value::Integer(number as i32 - 2),
            _ => random.value(data_type),
        });
        values.collect::<Row>()
    };
    let inner_rows: Vec<Row> =
        (0..random.below(12)).map(|i| numbered(random, types[1], i)).collect();
    let mut relation = random.relation(types[0], 60, slots);
    for (number, (row, _)) in relation.rows.iter_mut().enumerate() {
        row[0] = Value::Integer(number as i32 - 2);
    }
    let outer_rows: Vec<Row> = relation.rows.iter().map(|(row, _)| row.clone()).collect();
    let store = Store::new(2);
    let outer = table(&store, 1, types[0], &outer_rows);
    let inner = table(&store, 2, types[1], &inner_rows);
    let places = locations(&outer);
    let mut next = 0;
    let located = random.chunks(&relation, sets).into_iter().map(|chunk| {
        let own = places[next..next + chunk.rows].to_vec();
        next += chunk.rows;
        Tuples::of_table(outer.clone(), own, chunk.sets)
    });
    let chunks: Vec<Tuples> = located.collect();
    Tables { inner, relation, inner_rows, chunks }
}

#[test]
fn shared_index_join_equals_alone() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let (own, other) = (random.data_type(), random.data_type());
        let outer_types = [DataType::Integer, own, DataType::Integer, DataType::Text];
        let inner_types = [DataType::Integer, own, DataType::Text, other];
        let types: Vec<DataType> = outer_types.iter().chain(&inner_types).copied().collect();
        let parameter_types = [DataType::Integer, DataType::Text, other];
        let activations = random.activations(slots, &parameter_types);
        let tables = tables(&mut random, slots, &activations.sets, [&outer_types, &inner_types]);
        let (index, keys) = match random.below(4) {
            0 => (KEY, vec![vec![2]]),
            1 => (KEY, vec![vec![2], vec![0]]),
            2 => (PAIR, vec![vec![3, 1]]),
            _ => (PAIR, vec![vec![3]]),
        };
        let variants = 1 + random.below(2);
        let mut predicates = |count, types: &[DataType], may_fail: bool| {
            let mut one = || random.predicates(count, types, &parameter_types);
            let mut each = || {
                let predicates = one().into_iter();
                predicates.filter(|p| may_fail || !super::random::may_fail(p)).collect()
            };
            (0..variants).map(|_| each()).collect::<Vec<_>>()
        };
        let (inner, residuals) = (predicates(2, &inner_types, false), predicates(1, &types, false));
        let kind = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti];
        let kind = kind[random.below(4)];
        let node = IndexJoinNode { kind, index, keys, inner, residuals };
        let users = users(&mut random, &activations, variants);
        activations.with(|batch| {
            let mut faults = Faults::default();
            let state = IndexJoinState::new(&node, batch, &users, tables.inner.clone());
            let mut scratches = [IndexJoinScratch::default(), IndexJoinScratch::default()];
            let mut output = Vec::new();
            for (i, chunk) in tables.chunks.iter().enumerate() {
                let scratch = &mut scratches[i % 2];
                output.push(state.join(&node, batch, scratch, chunk.clone(), &mut faults));
            }
            check(seed, batch, &output, &faults, false, |slot| {
                let variant = variant(&activations, &users, slot);
                let parameters = parameters(&activations, slot);
                let inner = filtered(
                    tables.inner_rows.clone(),
                    &inner_types,
                    &node.inner[variant],
                    parameters,
                )?;
                let columns: &[usize] = if node.index == KEY { &[0] } else { &[2, 1] };
                let equal = |pair: &Row, key: &[usize]| {
                    key.iter().zip(columns).all(|(&l, &r)| {
                        let (l, r) = (&pair[l], &pair[outer_types.len() + r]);
                        !l.is_null() && !r.is_null() && l.borrow().compare(r.borrow()).is_eq()
                    })
                };
                let matches = |pair: &Row| {
                    let residual = &node.residuals[variant];
                    let kept = filtered(vec![pair.clone()], &types, residual, parameters)?;
                    Ok(node.keys.iter().any(|key| equal(pair, key)) && !kept.is_empty())
                };
                let widths = (outer_types.len(), inner_types.len());
                joined(node.kind, &tables.relation.of(slot), &inner, widths, &matches)
            });
        });
    }
}

#[test]
fn grouping_by_a_tables_key_equals_alone() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let outer_types = [DataType::Integer, DataType::Text, DataType::Integer, DataType::Text];
        let inner_types = [DataType::Integer, DataType::Text, DataType::Text, random.data_type()];
        let activations = random.activations(slots, &[]);
        let tables = tables(&mut random, slots, &activations.sets, [&outer_types, &inner_types]);
        let kind = if random.chance(50) { JoinKind::Inner } else { JoinKind::Left };
        let join = IndexJoinNode {
            kind,
            index: KEY,
            keys: vec![vec![2]],
            inner: vec![Vec::new()],
            residuals: vec![Vec::new()],
        };
        let of = |function, column| Aggregate {
            function,
            argument: Some(Scalar::Column(column)),
            distinct: false,
            filter: None,
            data_type: DataType::BigInt,
        };
        let (sum, count) = (AggregateFunction::Sum, AggregateFunction::Count);
        let aggregates = vec![of(sum, 0), of(count, 4), of(count, 5)];
        let node = GroupNode { keys: vec![7, 4, 5], determinants: vec![4], aggregates };
        let users = users(&mut random, &activations, 1);
        activations.with(|batch| {
            let mut faults = Faults::default();
            let state = IndexJoinState::new(&join, batch, &users, tables.inner.clone());
            let mut scratch = IndexJoinScratch::default();
            let mut builds = vec![GroupBuild::default(), GroupBuild::default()];
            for (i, chunk) in tables.chunks.iter().enumerate() {
                let chunk = state.join(&join, batch, &mut scratch, chunk.clone(), &mut faults);
                builds[i % 2].add(&node, batch, chunk, &mut faults);
            }
            let groups = Groups::merge(&node, batch, builds, &mut faults);
            let output = groups.finish(&node, batch, batch.sets.all(), (0, 1), &mut faults);
            let types: Vec<DataType> = outer_types.iter().chain(&inner_types).copied().collect();
            check(seed, batch, &[output], &faults, false, |slot| {
                let equal = |pair: &Row| Ok(!pair[2].is_null() && pair[2] == pair[4]);
                let (left, right) = (tables.relation.of(slot), &tables.inner_rows);
                let rows = joined(kind, &left, right, (4, 4), &equal)?;
                grouped(&rows, &types, &node, &activations, slot)
            });
        });
    }
}

/// Rows mostly in the order of their third column; what was inserted later, and one loaded row in 100, has any value.
fn clustered_rows(random: &mut Random, types: &[DataType], loaded: usize, all: usize) -> Vec<Row> {
    let row = |number: usize| {
        let key = match number < loaded && !random.chance(1) {
            true => number / 3,
            false => random.below(loaded / 3),
        };
        let mut row: Row = types.iter().map(|&data_type| random.value(data_type)).collect();
        row[0] = Value::Integer(number as i32);
        row[2] = Value::Integer(key as i32 - 20);
        row
    };
    (0..all).map(row).collect()
}

#[test]
fn groups_that_one_chunk_has_equal_alone() {
    let (mut kept_apart, mut finished) = (0, 0);
    for seed in 0..160 {
        let mut random = Random::new(seed);
        let types = [DataType::Integer, random.data_type(), DataType::Integer, random.data_type()];
        let (slots, loaded) = (random.slots(), 100 + random.below(100));
        let all = loaded + random.below(20);
        let rows = clustered_rows(&mut random, &types, loaded, all);
        let store = Store::new(2);
        let (first, later) = rows.split_at(loaded);
        let view = loaded_table(&store, 1, &types, first, 1 + random.below(12), later);
        let activations = random.activations(slots, &[]);
        let sets: Vec<BTreeSet<Slot>> = (0..2).map(|_| random.set(50, slots)).collect();
        let several = random.below(2);
        let keys = [vec![2], vec![1, 2], vec![3, 2, 0]][random.below(3)].clone();
        let aggregates = (0..1 + random.below(3)).map(|_| aggregate(&mut random, &types, &[]));
        let aggregates = aggregates.collect();
        let node = GroupNode { keys, determinants: Vec::new(), aggregates };
        let few = [0, 4][random.below(2)];
        let at_once = random.below(2) == 1;
        activations.with(|batch| {
            let sets = sets.iter().map(|set| batch.sets.intern_slots(set.iter().copied()));
            let sets: Vec<SetId> = sets.collect();
            let set_of = |row: usize| sets[row % 2 * several];
            let scan = TableBatch::new(view.clone(), &Arc::new(SetTable::new(slots)), &[]);
            let mut parts = [GroupPart::keeping(few), GroupPart::keeping(few)];
            let mut faults = Faults::default();
            let (mut wanted, mut output) = (Vec::new(), Vec::new());
            for (i, (chunk, stored)) in view.chunks().iter().enumerate() {
                let part = &mut parts[i % 2];
                let places: Vec<Location> = (0..stored.rows() as u32)
                    .map(|offset| Location { chunk: *chunk, offset })
                    .collect();
                let of = Some(ChunkOf { table: &scan, chunk: *chunk });
                for places in places.chunks(1 + random.below(places.len())) {
                    let ids = (0..places.len()).map(set_of).collect();
                    let sets = QuerySets::Interned(ids).compact(places.len(), batch.sets);
                    let tuples = Tuples::of_table(view.clone(), places.to_vec(), sets);
                    part.add(&node, batch, of, tuples, &mut faults);
                    let row = |place: &Location| view.cell(ColumnId(0), *place).to_owned();
                    wanted.extend((0..).map(set_of).zip(places.iter().map(row)));
                }
                let mut of_groups = Faults::default();
                let groups = part.end_chunk(&node, batch, &scan, at_once, &mut of_groups);
                part.faults.merge(of_groups);
                if let Some(groups) = groups {
                    finished += groups.rows;
                    part.keep(&node, batch, groups);
                }
            }
            let mut merged = vec![Vec::new()];
            for part in parts {
                kept_apart += part.whole.groups();
                merged[0].push(part.spread);
                merged.push(vec![part.whole]);
                output.extend(part.finished);
                faults.merge(part.faults);
            }
            for builds in merged.into_iter().filter(|own| own.iter().any(|one| one.groups() > 0)) {
                let groups = Groups::merge(&node, batch, builds, &mut faults);
                output.push(groups.finish(&node, batch, batch.sets.all(), (0, 1), &mut faults));
            }
            check(seed, batch, &output, &faults, false, |slot| {
                let own = wanted.iter().filter(|(set, _)| batch.sets.contains(*set, slot));
                let numbers = own.map(|(_, number)| match number {
                    Value::Integer(number) => rows[*number as usize].clone(),
                    other => unreachable!("{other:?} numbers no row"),
                });
                grouped(&numbers.collect::<Vec<_>>(), &types, &node, &activations, slot)
            });
        });
    }
    assert!(kept_apart > 400, "{kept_apart} groups were of one chunk");
    assert!(finished > 100, "{finished} groups were rows when their chunk ended");
}

/// An inner row that fails the predicate of an activation which never reaches it harms nobody.
#[test]
fn inner_rows_of_others_fail_nobody() {
    let mut random = Random::new(1);
    let types = [DataType::Integer, DataType::Text, DataType::Integer, DataType::Text];
    let activations = random.activations(2, &[]);
    let row = |id, key| vec![Value::Integer(id), Value::Null, Value::Integer(key), Value::Null];
    let store = Store::new(1);
    let inner = table(&store, 2, &types, &[row(0, 0), row(1, 0)]);
    let outer = table(&store, 1, &types, &[row(10, 0), row(11, 1)]);
    let fails_at_zero = random.failing_quotient(&types);
    let node = IndexJoinNode {
        kind: JoinKind::Inner,
        index: KEY,
        keys: vec![vec![2]],
        inner: vec![vec![fails_at_zero]],
        residuals: vec![Vec::new()],
    };
    activations.with(|batch| {
        let users = [crate::operators::Users { variant: 0, set: batch.sets.all() }];
        let wanted = [0, 1].map(|slot| batch.sets.singleton(Slot(slot)));
        let sets = crate::query_set::QuerySets::Interned(wanted.to_vec());
        let chunk = Tuples::of_table(outer.clone(), locations(&outer), sets);
        let state = IndexJoinState::new(&node, batch, &users, inner.clone());
        let mut faults = Faults::default();
        let mut scratch = IndexJoinScratch::default();
        let output = state.join(&node, batch, &mut scratch, chunk, &mut faults);
        let failed: BTreeSet<Slot> = faults.iter().map(|(slot, _)| slot).collect();
        assert_eq!(failed, BTreeSet::from([Slot(0)]));
        let state = faults.iter().map(|(_, error)| error.state).next();
        assert_eq!(state, Some(SqlState::DivisionByZero));
        assert_eq!(super::answers(batch, &[output])[1].len(), 1);
    });
}
