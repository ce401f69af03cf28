//! The store against its slow, obvious twin: a list of row versions.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Bound, Load, Snapshot, Store, Table, TableView};
use crate::types::{
    ColumnDefault, ColumnId, ColumnSchema, DataType, IndexId, IndexKind, IndexSchema, Location,
    RowBlock, RowId, TableId, TableSchema, Value, ValueRef, Version, array_cell,
};

/// A table for tests: its columns are `c0`, `c1`, ...
pub(super) fn table_schema(types: &[DataType], indexes: Vec<IndexSchema>) -> TableSchema {
    let columns = types.iter().enumerate().map(|(i, data_type)| ColumnSchema {
        name: format!("c{i}").into(),
        data_type: *data_type,
        not_null: false,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    });
    TableSchema {
        id: TableId(1),
        schema: "public".into(),
        name: "t".into(),
        columns: columns.collect(),
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

/// An index for tests.
pub(super) fn index_schema(id: u32, columns: &[u32], kind: IndexKind, unique: bool) -> IndexSchema {
    IndexSchema {
        id: IndexId(id),
        name: format!("i{id}").into(),
        columns: columns.iter().map(|column| ColumnId(*column)).collect(),
        kind,
        unique,
        primary: false,
        constraint: false,
    }
}

/// An empty store with one table without indexes.
pub(super) fn stored_table(types: &[DataType]) -> (Arc<Store>, Arc<Table>) {
    let store = Store::new(1);
    let table = store.create_table(table_schema(types, Vec::new()));
    (store, table)
}

#[derive(Clone, Debug)]
struct TwinVersion {
    id: RowId,
    begin: Version,
    end: Version,
    row: Vec<Value>,
}

/// All versions ever, never reclaimed.
#[derive(Debug, Default)]
struct Twin {
    versions: Vec<TwinVersion>,
}

impl Twin {
    fn visible(&self, version: Version) -> Vec<&TwinVersion> {
        let mut rows: Vec<_> =
            self.versions.iter().filter(|v| v.begin <= version && version < v.end).collect();
        rows.sort_by_key(|v| v.id);
        rows
    }

    fn end(&mut self, id: RowId, end: Version) {
        let newest = self.versions.iter_mut().find(|v| v.id == id && v.end == Version::INFINITY);
        newest.expect("a live row").end = end;
    }

    fn live(&self) -> Vec<RowId> {
        let live = self.versions.iter().filter(|v| v.end == Version::INFINITY);
        live.map(|v| v.id).collect()
    }
}

/// One random step: what, and two numbers to choose by.
type Step = (u8, u16, u16);

struct Run {
    store: Arc<Store>,
    table: Arc<Table>,
    twin: Twin,
    snapshots: Vec<Snapshot>,
    writing: Version,
    next_key: i32,
}

const TYPES: [DataType; 8] = [
    DataType::Integer,
    DataType::SmallInt,
    DataType::Varchar(20),
    DataType::BigInt,
    DataType::Numeric { precision: 12, scale: 2 },
    DataType::Bytea,
    DataType::Date,
    DataType::Timestamp,
];

impl Run {
    fn new() -> Run {
        let store = Store::new(2);
        let indexes = vec![
            index_schema(0, &[0], IndexKind::Ordered, true),
            index_schema(1, &[1], IndexKind::Ordered, false),
            index_schema(2, &[2, 1], IndexKind::Ordered, false),
            index_schema(3, &[2], IndexKind::Hash, false),
            index_schema(4, &[3, 1], IndexKind::Ordered, false),
        ];
        let mut schema = table_schema(&TYPES, indexes);
        schema.columns[0].not_null = true;
        let table = store.create_table(schema);
        Run {
            store,
            table,
            twin: Twin::default(),
            snapshots: Vec::new(),
            writing: Version(1),
            next_key: 0,
        }
    }

    fn row(key: i32, a: u16, b: u16) -> Vec<Value> {
        let or_null = |value, null: bool| if null { Value::Null } else { value };
        vec![
            Value::Integer(key),
            or_null(Value::SmallInt((a % 7) as i16 - 3), a.is_multiple_of(5)),
            or_null(Value::Text("ab".repeat((b % 12) as usize).into()), b.is_multiple_of(11)),
            or_null(Value::BigInt(i64::from(b) * 1_000_003 - 20_000_000_000), b.is_multiple_of(3)),
            Value::Numeric(i128::from(a) - 30_000, 2),
            Value::Bytea(vec![0; (a % 4) as usize].into()),
            or_null(Value::Date(i32::from(b) - 40_000), a.is_multiple_of(13)),
            // Now and then too far from the others for 32 bits.
            or_null(Value::Timestamp(i64::from(a) << (b % 50)), b.is_multiple_of(7)),
        ]
    }

    fn step(&mut self, (kind, a, b): Step) {
        let live = self.twin.live();
        let chosen = (!live.is_empty()).then(|| live[a as usize % live.len()]);
        match (kind, chosen) {
            (0..30, _) => self.insert(a, b),
            (30..62, Some(id)) => self.update(id, a, b),
            (62..75, Some(id)) => {
                self.table.delete(id, self.writing);
                self.twin.end(id, self.writing);
            }
            (75..86, _) => self.publish(),
            (86..90, _) if self.snapshots.len() < 4 => self.snapshots.push(self.store.snapshot()),
            (90..94, _) if !self.snapshots.is_empty() => {
                self.snapshots.swap_remove(a as usize % self.snapshots.len());
            }
            (94..99, _) => {
                self.publish();
                self.store.reclaim(self.writing, a as usize % 3_000);
            }
            (99, _) if a.is_multiple_of(4) => {
                let id = 5 + u32::from(b);
                let unknown = self.table.index(IndexId(id)).is_none();
                if unknown {
                    let schema = index_schema(id, &[1, 0], IndexKind::Ordered, false);
                    self.table.create_index(schema).expect("it is not unique");
                }
            }
            (99, _) if a % 8 == 1 => {
                self.table.truncate(self.writing);
                live.iter().for_each(|id| self.twin.end(*id, self.writing));
            }
            _ => {}
        }
    }

    fn insert(&mut self, a: u16, b: u16) {
        // Several rows, so that chunks fill up.
        let keys = self.next_key..self.next_key + 1 + i32::from(a % 60);
        self.next_key = keys.end;
        let values = |key: i32| (key, a.wrapping_add(key as u16), b.wrapping_mul(key as u16));
        let rows: Vec<_> = keys.map(values).map(|(key, a, b)| Self::row(key, a, b)).collect();
        let first = match b % 4 {
            0 => self.load(&rows, a),
            _ => self.table.insert_rows(&rows, self.writing),
        };
        let (begin, end) = (self.writing, Version::INFINITY);
        self.twin.versions.extend(rows.into_iter().enumerate().map(|(at, row)| TwinVersion {
            id: RowId(first.0 + at as u64),
            begin,
            end,
            row,
        }));
    }

    /// The same rows in bulk.
    fn load(&mut self, rows: &[Vec<Value>], a: u16) -> RowId {
        let mut load = Load::new(&self.table);
        if a.is_multiple_of(3) {
            load = load.with_small_chunks();
        }
        let schema = self.table.schema();
        let parts = rows.chunks(1 + a as usize % 40);
        let firsts: Vec<_> =
            parts.map(|part| load.append(&RowBlock::from_rows(&schema, part))).collect();
        assert!(load.sort(1).is_none() && load.first_stored().is_none());
        load.attach(self.writing);
        firsts[0]
    }

    fn update(&mut self, id: RowId, a: u16, b: u16) {
        let newest = self.twin.versions.iter().rev().find(|v| v.id == id).expect("a live row");
        let Value::Integer(key) = newest.row[0] else { unreachable!("c0 is never NULL") };
        let row = if a.is_multiple_of(2) {
            // No key changes.
            let mut row = newest.row.clone();
            row[4] = Value::Numeric(i128::from(b), 2);
            row
        } else {
            let key = match b % 8 {
                0 => -key - 1,
                // Far away, now and then: the array of dense keys gives up.
                1 if b.is_multiple_of(25) => key.wrapping_mul(1_000_003),
                _ => key,
            };
            Self::row(key, a, b)
        };
        self.table.update(id, &row, self.writing);
        self.twin.end(id, self.writing);
        let (begin, end) = (self.writing, Version::INFINITY);
        self.twin.versions.push(TwinVersion { id, begin, end, row });
    }

    fn publish(&mut self) {
        self.store.publish(self.writing);
        self.writing = self.writing.next();
    }

    fn check(&self) {
        self.check_at(self.writing);
        self.check_at(self.store.snapshot().version());
        self.snapshots.iter().for_each(|snapshot| self.check_at(snapshot.version()));
    }

    fn check_at(&self, version: Version) {
        let view = self.table.view(version);
        let expected = self.twin.visible(version);
        let mut scanned: Vec<(RowId, Vec<Value>)> = Vec::new();
        for (id, chunk) in view.chunks() {
            let rows = chunk.rows() as u32;
            let mut offsets = Vec::new();
            chunk.visible(version, 0..rows / 2, &mut offsets);
            chunk.visible(version, rows / 2..rows, &mut offsets);
            assert!(!chunk.all_visible(version) || offsets.len() == rows as usize);
            for offset in offsets {
                assert!(chunk.is_visible(version, offset));
                let location = Location { chunk: *id, offset };
                assert_eq!(view.resolve(chunk.row_id(offset)), Some(location));
                scanned.push((chunk.row_id(offset), view.row(location)));
            }
        }
        scanned.sort_by_key(|(id, _)| *id);
        let rows: Vec<_> = expected.iter().map(|v| (v.id, v.row.clone())).collect();
        assert_eq!(scanned, rows, "scan at {version}");
        self.check_probes(&view, &expected);
        self.check_ranges(&view, &expected);
        self.check_gather(&view, &expected);
    }

    fn check_probes(&self, view: &TableView, expected: &[&TwinVersion]) {
        for index in self.table.indexes() {
            let columns = &index.schema().columns;
            let key_of = |v: &TwinVersion| -> Vec<Value> {
                columns.iter().map(|column| v.row[column.index()].clone()).collect()
            };
            let step = self.twin.versions.len() / 60 + 1;
            for version in self.twin.versions.iter().step_by(step) {
                let key = key_of(version);
                let has_null = key.iter().any(Value::is_null);
                let borrowed: Vec<ValueRef<'_>> = key.iter().map(Value::borrow).collect();
                let mut found = Vec::new();
                view.probe(&index, &borrowed, &mut found);
                let mut ids: Vec<RowId> = found.iter().map(|l| view.row_id(*l)).collect();
                ids.sort();
                let same = |v: &&&TwinVersion| !has_null && key_of(v) == key;
                let twins: Vec<RowId> = expected.iter().filter(same).map(|v| v.id).collect();
                assert_eq!(ids, twins, "probe {:?} {key:?}", index.schema().name);
            }
        }
    }

    fn check_ranges(&self, view: &TableView, expected: &[&TwinVersion]) {
        let small = |v: i16| [Value::SmallInt(v)];
        let text = |v: &str| [Value::Text(v.into())];
        let both = |v: &str, w: i16| [Value::Text(v.into()), Value::SmallInt(w)];
        let (low, high, ab, abab) = (small(-2), small(1), text("ab"), text("abab"));
        let (ab1, abab2) = (both("ab", -1), both("abab", 2));
        use Bound::{Excluded, Included, Unbounded};
        let (minus, ten) = ([Value::Integer(-3)], [Value::BigInt(10)]);
        let cases = [
            (0, Unbounded, Unbounded),
            (0, Included(&minus[..]), Excluded(&ten[..])),
            (0, Excluded(&ten), Unbounded),
            (0, Unbounded, Included(&minus)),
            (1, Included(&low[..]), Included(&high[..])),
            (1, Excluded(&low), Excluded(&high)),
            (1, Excluded(&low), Unbounded),
            (1, Unbounded, Included(&high)),
            (1, Unbounded, Unbounded),
            (2, Included(&ab), Included(&ab)),
            (2, Excluded(&ab), Included(&abab)),
            (2, Included(&ab), Excluded(&abab)),
            (2, Excluded(&ab1), Included(&abab2)),
            (2, Included(&ab1), Unbounded),
            (2, Unbounded, Excluded(&abab2)),
        ];
        for (index, lower, upper) in cases {
            for (descending, limit) in [(false, usize::MAX), (true, usize::MAX), (true, 3)] {
                let index = self.table.index(IndexId(index)).expect("an index of the table");
                let mut found = Vec::new();
                view.range(&index, lower, upper, descending, limit, &mut found);
                let columns = &index.schema().columns;
                let key_of = |row: &[Value]| -> Vec<Value> {
                    columns.iter().map(|column| row[column.index()].clone()).collect()
                };
                let keys: Vec<_> = found.iter().map(|l| key_of(&view.row(*l))).collect();
                let mut twins: Vec<_> = expected
                    .iter()
                    .map(|v| key_of(&v.row))
                    .filter(|key| between(key, lower, upper))
                    .collect();
                twins.sort_by(|a, b| compare(a, b));
                if descending {
                    twins.reverse();
                }
                twins.truncate(limit);
                assert_eq!(keys, twins, "{lower:?} {upper:?}");
            }
        }
    }

    fn check_gather(&self, view: &TableView, expected: &[&TwinVersion]) {
        let located = expected.iter().rev().map(|v| view.resolve(v.id).expect("visible"));
        let locations: Vec<Location> = located.chain([Location::NONE]).collect();
        for (at, data_type) in TYPES.iter().enumerate() {
            let array = view.gather(ColumnId(at as u32), &locations);
            assert_eq!(array.data_type(), &data_type.arrow());
            for (row, version) in expected.iter().rev().enumerate() {
                let cell = array_cell(&array, row);
                assert_eq!(cell.to_owned(), version.row[at]);
            }
            assert!(array_cell(&array, expected.len()).is_null());
            for (id, chunk) in view.chunks() {
                let offsets: Vec<u32> = (0..chunk.rows() as u32).rev().step_by(3).collect();
                let selected = view.select(ColumnId(at as u32), *id, &offsets);
                let first = chunk.rows() as u32 / 3;
                let array = view.array(ColumnId(at as u32), *id, first..chunk.rows() as u32);
                let cell = |offset: u32| chunk.cell(ColumnId(at as u32), offset);
                for (row, offset) in offsets.iter().enumerate() {
                    assert_eq!(array_cell(&selected, row), cell(*offset));
                }
                for row in 0..array.len() {
                    assert_eq!(array_cell(&array, row), cell(first + row as u32));
                }
            }
        }
    }
}

/// Order of the shared prefix.
fn compare(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let pairs = a.iter().zip(b).map(|(a, b)| a.borrow().compare(b.borrow()));
    pairs.fold(std::cmp::Ordering::Equal, |order, next| order.then(next))
}

fn between(key: &[Value], lower: Bound<'_>, upper: Bound<'_>) -> bool {
    let values = |bound: Bound<'_>| match bound {
        Bound::Unbounded => 0,
        Bound::Included(values) | Bound::Excluded(values) => values.len(),
    };
    let bounded = values(lower).max(values(upper));
    let above = match lower {
        Bound::Unbounded => true,
        Bound::Included(values) => compare(key, values).is_ge(),
        Bound::Excluded(values) => compare(key, values).is_gt(),
    };
    let below = match upper {
        Bound::Unbounded => true,
        Bound::Included(values) => compare(key, values).is_le(),
        Bound::Excluded(values) => compare(key, values).is_lt(),
    };
    above && below && !key[..bounded].iter().any(Value::is_null)
}

proptest! {
    #![proptest_config(crate::properties::cases(16))]

    #[test]
    fn a_table_equals_a_list_of_versions(
        steps in prop::collection::vec((0u8..100, any::<u16>(), any::<u16>()), 1..250),
    ) {
        let mut run = Run::new();
        let checks = steps.len() / 3 + 1;
        for (at, step) in steps.into_iter().enumerate() {
            run.step(step);
            if at % checks == 0 {
                run.check();
            }
        }
        run.check();
        run.snapshots.clear();
        for _ in 0..4 {
            run.publish();
            run.store.reclaim(run.writing, usize::MAX);
        }
        run.check();
        // Nothing is left of what nobody sees.
        let live = run.twin.live().len();
        for index in run.table.indexes() {
            let entries = index.weigh().0;
            assert_eq!(entries, live, "entries of {}", index.schema().name);
        }
    }
}
