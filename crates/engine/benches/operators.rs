//! The operators alone: the best-sellers shape of the bookstore, from one query to 1,024 in a batch, each with
//! its own subject and its own window of orders; and many rows of few groups, as TPC-H's first query has them.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use engine::operators::{
    Batch, Budget, Cut, Faults, GroupBuild, GroupNode, Groups, HashJoinNode, IndexJoinNode,
    IndexJoinScratch, IndexJoinState, JoinBuild, JoinProbe, JoinTable, SortBuild, SortNode, Users,
    route, sort,
};
use engine::plan::{Aggregate, AggregateFunction, JoinKind, SortKey};
use engine::query_set::{QuerySets, SetTable, Tuples};
use engine::storage::{Store, TableView};
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, Comparison, DataType, IndexId, IndexKind, IndexSchema,
    Location, Predicate, Scalar, Slot, TableId, TableSchema, Value,
};

const ITEMS: u32 = 10_000;
const LINES: u32 = 10_000;
const LINES_PER_ORDER: u32 = 3;
const SUBJECTS: u32 = 24;

/// A multiplicative generator: the benchmark draws the same numbers every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) % u64::from(end)) as u32
    }
}

fn table(
    store: &Arc<Store>,
    id: u32,
    types: &[DataType],
    rows: impl Iterator<Item = Vec<Value>>,
) -> Arc<TableView> {
    let column = |(i, &data_type): (usize, &DataType)| ColumnSchema {
        name: format!("c{i}").into(),
        data_type,
        not_null: true,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    };
    let key = IndexSchema {
        id: IndexId(0),
        name: "key".into(),
        columns: vec![ColumnId(0)],
        kind: IndexKind::Hash,
        unique: true,
        primary: true,
        constraint: true,
    };
    let table = store.create_table(TableSchema {
        id: TableId(id),
        schema: "public".into(),
        name: format!("t{id}").into(),
        columns: types.iter().enumerate().map(column).collect(),
        indexes: vec![key],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    });
    let version = store.published().next();
    let rows: Vec<Vec<Value>> = rows.collect();
    table.insert_rows(&rows, version);
    store.publish(version);
    table.view(version)
}

struct Bookstore {
    lines: Arc<TableView>,
    items: Arc<TableView>,
    places: Vec<Location>,
}

impl Bookstore {
    fn new() -> Bookstore {
        let mut draw = Draw(1);
        let store = Store::new(1);
        let integer = |n: u32| Value::Integer(n as i32);
        let line_types = [DataType::Integer; 4];
        let line = |id: u32, draw: &mut Draw| {
            let order = id / LINES_PER_ORDER;
            vec![
                integer(id),
                integer(order),
                integer(draw.below(ITEMS)),
                integer(1 + draw.below(9)),
            ]
        };
        let lines = table(&store, 1, &line_types, (0..LINES).map(|id| line(id, &mut draw)));
        let item_types = [DataType::Integer, DataType::Varchar(60), DataType::Varchar(60)];
        let item = |id: u32, draw: &mut Draw| {
            let subject = format!("SUBJECT {}", draw.below(SUBJECTS));
            let title = format!("The title of item number {id}");
            vec![integer(id), Value::Text(title.into()), Value::Text(subject.into())]
        };
        let items = table(&store, 2, &item_types, (0..ITEMS).map(|id| item(id, &mut draw)));
        let chunks = lines.chunks().iter();
        let places = chunks.flat_map(|(chunk, rows)| {
            (0..rows.rows() as u32).map(|offset| Location { chunk: *chunk, offset })
        });
        let places = places.collect();
        Bookstore { lines, items, places }
    }
}

/// A batch of best-sellers queries: parameters are the subject and the first order of the window.
struct Queries {
    parameters: Vec<Vec<Value>>,
    /// The slots whose window has begun, by order.
    windows: Vec<Vec<Slot>>,
}

impl Queries {
    fn new(count: u32) -> Queries {
        let mut draw = Draw(7);
        let orders = LINES / LINES_PER_ORDER + 1;
        let mut windows = vec![Vec::new(); orders as usize];
        let parameters = (0..count).map(|slot| {
            let subject = format!("SUBJECT {}", draw.below(SUBJECTS));
            let first = if count == 1 { 0 } else { draw.below(orders) };
            windows[first as usize..].iter_mut().for_each(|slots| slots.push(Slot(slot)));
            vec![Value::Text(subject.into()), Value::Integer(first as i32)]
        });
        let parameters = parameters.collect();
        Queries { parameters, windows }
    }

    fn lines(&self, store: &Bookstore, sets: &SetTable) -> Tuples {
        let windows: Vec<_> =
            self.windows.iter().map(|slots| sets.intern_slots(slots.iter().copied())).collect();
        let ids = (0..LINES).map(|line| windows[(line / LINES_PER_ORDER) as usize]).collect();
        let wanted = QuerySets::Interned(ids);
        Tuples::of_table(store.lines.clone(), store.places.clone(), wanted).wanted(sets)
    }
}

struct Plan {
    join: IndexJoinNode,
    group: GroupNode,
    top: SortNode,
}

impl Plan {
    /// Output columns: lines 0 to 3, items 4 to 6.
    fn new() -> Plan {
        let subject = Predicate::Compare {
            column: 2,
            comparison: Comparison::Equal,
            value: Scalar::Parameter(0),
        };
        let quantity = Aggregate {
            function: AggregateFunction::Sum,
            argument: Some(Scalar::Column(3)),
            distinct: false,
            filter: None,
            data_type: DataType::BigInt,
        };
        Plan {
            join: IndexJoinNode {
                kind: JoinKind::Inner,
                index: IndexId(0),
                keys: vec![vec![2]],
                inner: vec![vec![subject]],
                residuals: vec![Vec::new()],
            },
            group: GroupNode {
                keys: vec![4, 5],
                determinants: vec![4],
                aggregates: vec![quantity],
            },
            top: SortNode {
                keys: vec![SortKey { column: 2, descending: true, nulls_first: true }],
            },
        }
    }

    /// The items with the slots that want their subject, as a scan of them gives, and a hash join with those.
    fn hash_join(
        &self,
        batch: &Batch<'_>,
        store: &Bookstore,
        lines: Tuples,
        items: Tuples,
    ) -> Tuples {
        let node = HashJoinNode {
            kind: JoinKind::Inner,
            keys: vec![(2, 0)],
            residuals: vec![Vec::new()],
            left_types: types_of(&store.lines),
            right_types: types_of(&store.items),
        };
        let users = [Users { variant: 0, set: batch.sets.all() }];
        let (mut faults, mut build) = (Faults::default(), JoinBuild::default());
        build.add(&node, batch, items, &mut faults);
        let table = JoinTable::merge(&node, batch, vec![build], &mut faults);
        table.probe(&node, batch, &users, &mut JoinProbe::default(), lines, &mut faults)
    }

    fn join(&self, batch: &Batch<'_>, store: &Bookstore, lines: Tuples) -> Tuples {
        let users = [Users { variant: 0, set: batch.sets.all() }];
        let state = IndexJoinState::new(&self.join, batch, &users, store.items.clone());
        let mut scratch = IndexJoinScratch::default();
        state.join(&self.join, batch, &mut scratch, lines, &mut Faults::default())
    }

    fn group(&self, batch: &Batch<'_>, rows: Tuples) -> Tuples {
        let mut faults = Faults::default();
        let mut build = GroupBuild::default();
        build.add(&self.group, batch, rows, &mut faults);
        let groups = Groups::merge(&self.group, batch, vec![build], &mut faults);
        groups.finish(&self.group, batch, batch.sets.all(), (0, 1), &mut faults)
    }

    fn top(&self, batch: &Batch<'_>, rows: Tuples) -> Tuples {
        let mut faults = Faults::default();
        let mut build = SortBuild::default();
        build.add(&self.top, batch, rows, &mut faults);
        let cuts = vec![Cut { skip: 0, fetch: 50 }; batch.sets.slots()];
        sort(&self.top, batch, &cuts, vec![build], &mut faults)
    }
}

fn types_of(view: &TableView) -> Vec<DataType> {
    view.schema().columns.iter().map(|column| column.data_type).collect()
}

/// The items that somebody wants, each with the slots of its subject.
fn items(queries: &Queries, store: &Bookstore, sets: &SetTable) -> Tuples {
    let mut places = Vec::new();
    for (chunk, rows) in store.items.chunks() {
        places.extend((0..rows.rows() as u32).map(|offset| Location { chunk: *chunk, offset }));
    }
    let slots = |subject: &Value| {
        let slots = queries.parameters.iter().zip(0..).filter(move |(own, _)| own[0] == *subject);
        slots.map(|(_, slot)| Slot(slot)).collect::<Vec<_>>()
    };
    let mut known = std::collections::HashMap::new();
    let ids = places.iter().map(|&place| {
        let subject = store.items.cell(ColumnId(2), place).to_owned();
        let text = format!("{subject:?}");
        *known.entry(text).or_insert_with(|| sets.intern_slots(slots(&subject)))
    });
    let wanted = QuerySets::Interned(ids.collect());
    Tuples::of_table(store.items.clone(), places, wanted).wanted(sets)
}

fn best_sellers(c: &mut Criterion) {
    let (store, plan) = (Bookstore::new(), Plan::new());
    let types = [DataType::Varchar(60), DataType::Integer];
    for count in [1, 16, 256, 1024] {
        let queries = Queries::new(count);
        let parameters: Vec<&[Value]> = queries.parameters.iter().map(Vec::as_slice).collect();
        let types: Vec<&[DataType]> = vec![&types; parameters.len()];
        let mut group = c.benchmark_group("best_sellers");
        // A batch has its own sets: tables that a run has filled are not used again.
        let run = |stages: usize| {
            let sets = SetTable::new(parameters.len());
            let budget = Budget::new(1 << 30);
            let batch =
                Batch { sets: &sets, parameters: &parameters, types: &types, budget: &budget };
            let lines = queries.lines(&store, &sets);
            let items = (stages == 0 || stages == 4).then(|| items(&queries, &store, &sets));
            let start = std::time::Instant::now();
            let joined = match items {
                Some(items) => plan.hash_join(&batch, &store, lines, items),
                None => plan.join(&batch, &store, lines),
            };
            if stages < 2 {
                black_box(&joined);
                return start.elapsed();
            }
            let grouped = plan.group(&batch, joined);
            if stages == 2 {
                black_box(&grouped);
                return start.elapsed();
            }
            let top = plan.top(&batch, grouped);
            black_box(route(&batch, &top));
            start.elapsed()
        };
        // 0 and 4 join with the scanned items instead of looking each item up.
        let stages = [
            (0, "hash_join"),
            (1, "index_join"),
            (2, "index_join_group"),
            (3, "whole_by_index"),
            (4, "whole_by_hash"),
        ];
        for (stages, name) in stages {
            group.bench_function(BenchmarkId::new(name, count), |bencher| {
                bencher.iter_custom(|runs| (0..runs).map(|_| run(stages)).sum());
            });
        }
        group.finish();
    }
}

const SALES: u32 = 1 << 20;
const SALES_TYPES: [DataType; 6] = [
    DataType::Integer,
    DataType::Varchar(1),
    DataType::Varchar(1),
    DataType::Numeric { precision: 15, scale: 2 },
    DataType::Numeric { precision: 15, scale: 2 },
    DataType::Numeric { precision: 15, scale: 2 },
];

fn sales(store: &Arc<Store>) -> Arc<TableView> {
    let mut draw = Draw(3);
    let sale = |id: u32| {
        let letter = |letters: &[&str], draw: &mut Draw| {
            Value::Text(letters[draw.below(letters.len() as u32) as usize].into())
        };
        let digits = |end: u32, draw: &mut Draw| Value::Numeric(draw.below(end).into(), 2);
        vec![
            Value::Integer(id as i32),
            letter(&["A", "N", "R"], &mut draw),
            letter(&["F", "O"], &mut draw),
            digits(5_000, &mut draw),
            digits(10_000_000, &mut draw),
            digits(11, &mut draw),
        ]
    };
    table(store, 1, &SALES_TYPES, (0..SALES).map(sale))
}

/// Sums and averages by two letters, of rows that all queries of a batch want but the last ones.
fn few_groups(c: &mut Criterion) {
    let store = Store::new(1);
    let view = sales(&store);
    let aggregate = |function, column| Aggregate {
        function,
        argument: Some(Scalar::Column(column)),
        distinct: false,
        filter: None,
        data_type: DataType::Numeric { precision: 38, scale: 2 },
    };
    let sums = (3..6).map(|column| aggregate(AggregateFunction::Sum, column));
    let averages = (3..6).map(|column| aggregate(AggregateFunction::Average, column));
    let node = GroupNode {
        keys: vec![1, 2],
        determinants: Vec::new(),
        aggregates: sums.chain(averages).collect(),
    };
    let mut group = c.benchmark_group("few_groups");
    group.throughput(criterion::Throughput::Elements(SALES.into()));
    for count in [1, 3] {
        let parameters = vec![&[][..]; count];
        let types = vec![&[][..]; count];
        let run = || {
            let sets = SetTable::new(count);
            let budget = Budget::new(1 << 30);
            let batch =
                Batch { sets: &sets, parameters: &parameters, types: &types, budget: &budget };
            let (mut build, mut faults) = (GroupBuild::default(), Faults::default());
            for (chunk, rows) in view.chunks() {
                let place = |offset| Location { chunk: *chunk, offset };
                let places: Vec<Location> = (0..rows.rows() as u32).map(place).collect();
                let words = places.iter().map(|place| match place.offset % 100 {
                    0 if count > 1 => 0b011,
                    _ => (1 << count) - 1,
                });
                let wanted = match count {
                    1 => QuerySets::Uniform(sets.all()),
                    _ => QuerySets::Bitmaps { words_per_row: 1, words: words.collect() },
                };
                let rows = Tuples::of_table(view.clone(), places, wanted);
                build.add(&node, &batch, rows, &mut faults);
            }
            let groups = Groups::merge(&node, &batch, vec![build], &mut faults);
            black_box(groups.finish(&node, &batch, sets.all(), (0, 1), &mut faults))
        };
        group.bench_function(BenchmarkId::new("queries", count), |bencher| bencher.iter(run));
    }
    group.finish();
}

criterion_group!(benches, best_sellers, few_groups);
criterion_main!(benches);
