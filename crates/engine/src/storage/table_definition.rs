//! Changes of a table's definition.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::reclaim::Outdated;
use super::run::Run;
use super::table_writer::TableWriter;
use super::{Index, Table};
use crate::types::{
    ColumnId, DataType, Error, IndexId, IndexSchema, Location, NARROW_PRECISION, Result, RowId,
    SqlState, TableSchema, Value, ValueRef, Version, limit,
};

/// Entries that go into a new index between two looks at whether its statement still runs.
const ENTRIES_AT_ONCE: usize = 1 << 18;

impl Table {
    /// Writer: replaces the definition after ALTER TABLE (columns may be added, dropped, renamed;
    /// indexes are added and dropped by [`Self::create_index`] and [`Self::drop_index`]).
    pub fn alter(&self, schema: TableSchema) {
        let mut writer = self.writer.lock();
        let before = self.schema.load();
        assert!(schema.columns.len() >= before.columns.len(), "columns are never forgotten");
        let kept = before.columns.iter().zip(&schema.columns);
        kept.for_each(|(old, new)| {
            assert!(same_storage(old.data_type, new.data_type), "a column keeps how it is stored");
        });
        writer.seal(self);
        for (_, chunk) in self.chunks.load().chunks() {
            let known = chunk.columns.len() + chunk.added.len();
            let added: Box<[Value]> =
                schema.columns[known..].iter().map(|column| column.missing.clone()).collect();
            if !added.is_empty() {
                chunk.added.push(added);
            }
        }
        let indexes = self.indexes.load().iter().map(|index| index.schema().clone()).collect();
        self.schema.store(Arc::new(TableSchema { indexes, ..schema }));
    }

    /// Writer: builds an index over all rows; a duplicate in a unique one is 23505. Whoever fails, also because the work is to
    /// end, leaves nothing.
    pub fn create_index(&self, schema: IndexSchema) -> Result<()> {
        let mut writer = self.writer.lock();
        let table = self.schema.load();
        let index = Index::new(&table, schema);
        if !self.indexes_deferred.load(Ordering::Relaxed) {
            self.build_index(&index)?;
        }
        index.publish();
        self.note_outdated(&mut writer);
        let mut indexes = self.indexes();
        indexes.push(Arc::new(index));
        self.set_indexes(indexes);
        Ok(())
    }

    /// Every version that has ended may have had another key in a new index than the one after it.
    fn note_outdated(&self, writer: &mut TableWriter) {
        let mut outdated: Vec<Outdated> = writer.outdated.drain(..).collect();
        for (id, chunk) in self.chunks.load().chunks() {
            let ends = chunk.lives.ends.get().map_or(&[][..], |ends| ends.values());
            for (offset, end) in ends.iter().enumerate().take(chunk.rows()) {
                let location = Location { chunk: *id, offset: offset as u32 };
                let end = Version(end.load(Ordering::Relaxed));
                if end < Version::INFINITY {
                    outdated.push(Outdated { location, end });
                }
            }
        }
        outdated.sort_by_key(|outdated| (outdated.end, outdated.location));
        outdated.dedup_by_key(|outdated| outdated.location);
        writer.outdated = outdated.into();
    }

    fn set_indexes(&self, indexes: Vec<Arc<Index>>) {
        let mut schema = TableSchema::clone(&self.schema.load());
        schema.indexes = indexes.iter().map(|index| index.schema().clone()).collect();
        self.indexes.store(Arc::new(indexes));
        self.schema.store(Arc::new(schema));
    }

    /// Fills a new index with all versions of all rows.
    fn build_index(&self, index: &Index) -> Result<()> {
        let rows = self.rows.load();
        let mut run = index.run(self.live_rows() as usize);
        for (_, chunk) in self.chunks.load().chunks() {
            limit::check()?;
            let is_known = |offset: &u32| !rows.get(chunk.row_id(*offset)).is_none();
            for offset in (0..chunk.rows() as u32).filter(is_known) {
                let key = index.encoding.row_key(|column| chunk.cell(column, offset));
                run.push(&key, chunk.row_id(offset).0);
            }
            // Old versions may have had other keys.
            if chunk.lives.previous.get().is_some() {
                index.set_key_changed();
            }
        }
        run.sort_step_by_step()?;
        for start in (0..run.len()).step_by(ENTRIES_AT_ONCE) {
            limit::check()?;
            index.insert_run(&run.part(start..run.len().min(start + ENTRIES_AT_ONCE)));
        }
        if index.schema().unique { self.refuse_duplicates(index, &run) } else { Ok(()) }
    }

    /// 23505 if two rows that are alive have the same key.
    fn refuse_duplicates(&self, index: &Index, run: &Run) -> Result<()> {
        let mut duplicate = Ok(None);
        run.equal_keys(|group| {
            if duplicate == Ok(None) {
                let mut rows = group.map(|at| RowId(run.row(at)));
                let mut found = || rows.find(|row| self.is_duplicate(index, *row));
                duplicate = limit::check().map(|()| found());
            }
        });
        let Some(row) = duplicate? else { return Ok(()) };
        let (location, chunks) = (self.rows.load().get(row), self.chunks.load());
        let chunk = chunks.get(location.chunk).expect("an indexed row is stored");
        Err(self.cannot_index(index.schema(), |column| chunk.cell(column, location.offset)))
    }

    /// Whether a row is alive and another one that is has its key.
    fn is_duplicate(&self, index: &Index, row: RowId) -> bool {
        let (location, chunks) = (self.rows.load().get(row), self.chunks.load());
        let Some(chunk) = chunks.get(location.chunk) else { return false };
        let cell = |column| chunk.cell(column, location.offset);
        let alive = chunk.lives.end(location.offset as usize) == u64::MAX;
        let has_null = index.schema().columns.iter().any(|column| cell(*column).is_null());
        let other = || self.holder(index, &index.encoding.row_key(cell), |other| other != row);
        alive && !has_null && other().is_some()
    }

    /// Two rows have the key of which these cells are.
    pub(crate) fn cannot_index<'v>(
        &self,
        index: &IndexSchema,
        cell: impl Fn(ColumnId) -> ValueRef<'v>,
    ) -> Error {
        let table = self.schema.load();
        let names = index.columns.iter().map(|c| &*table.columns[c.index()].name);
        let names: Vec<&str> = names.collect();
        let values: Vec<String> = index.columns.iter().map(|c| display(cell(*c))).collect();
        let message = format!("could not create unique index \"{}\"", index.name);
        let detail = format!("Key ({})=({}) is duplicated.", names.join(", "), values.join(", "));
        let error = Error::new(SqlState::UniqueViolation, message).detail(detail);
        error.constraint(&*table.name, &*index.name)
    }

    /// Writer: forgets an index.
    pub fn drop_index(&self, index: IndexId) {
        let _writer = self.writer.lock();
        let mut indexes = self.indexes();
        indexes.retain(|kept| kept.schema().id != index);
        self.set_indexes(indexes);
    }
}

/// Whether values of both types are stored alike.
fn same_storage(a: DataType, b: DataType) -> bool {
    use DataType as T;
    let scale = |data_type| match data_type {
        T::Numeric { precision, scale } => Some((precision > NARROW_PRECISION, scale)),
        _ => None,
    };
    a == b || a.is_string() && b.is_string() || scale(a).is_some() && scale(a) == scale(b)
}

/// A key value as PostgreSQL's DETAIL shows it.
fn display(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".into(),
        ValueRef::Boolean(v) => if v { "t" } else { "f" }.into(),
        ValueRef::SmallInt(v) => v.to_string(),
        ValueRef::Integer(v) => v.to_string(),
        ValueRef::BigInt(v) => v.to_string(),
        ValueRef::Real(v) => v.to_string(),
        ValueRef::Double(v) => v.to_string(),
        ValueRef::Text(v) => v.into(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ColumnSlice;
    use super::super::twin::{index_schema, stored_table};
    use super::*;
    use crate::types::{ColumnDefault, ColumnSchema, IndexKind, array_cell};

    fn integers(values: impl IntoIterator<Item = i32>) -> Vec<Vec<Value>> {
        values.into_iter().map(|value| vec![Value::Integer(value)]).collect()
    }

    #[test]
    fn an_index_over_existing_rows_finds_them_and_refuses_duplicates() {
        let (store, table) = stored_table(&[DataType::Integer]);
        let first = table.insert_rows(&integers(0..1_000), Version(1));
        table.update(first, &[Value::Integer(-5)], Version(2));
        store.publish(Version(2));
        let unique = index_schema(7, &[0], IndexKind::Ordered, true);
        table.create_index(unique.clone()).expect("all keys differ");
        let index = table.index(IndexId(7)).expect("just created");
        let probe = |version, key| {
            let mut out = Vec::new();
            table.view(Version(version)).probe(&index, &[ValueRef::Integer(key)], &mut out);
            out.len()
        };
        assert_eq!((probe(1, 0), probe(1, -5), probe(2, 0), probe(2, -5)), (1, 0, 0, 1));
        assert_eq!(table.newest_holder(&index, &[ValueRef::BigInt(-5)]), Some(first));
        assert_eq!(table.newest_holder(&index, &[ValueRef::Integer(0)]), None);
        table.drop_index(IndexId(7));
        table.insert(&[Value::Integer(17)], Version(3));
        let error = table.create_index(unique).expect_err("17 occurs twice");
        assert_eq!(error.state.code(), "23505");
        assert_eq!(error.message, "could not create unique index \"i7\"");
        assert_eq!(error.detail.as_deref(), Some("Key (c0)=(17) is duplicated."));
        assert!(table.index(IndexId(7)).is_none() && table.schema().indexes.is_empty());
    }

    fn added(name: &str, data_type: DataType, missing: Value) -> ColumnSchema {
        ColumnSchema {
            name: name.into(),
            data_type,
            not_null: false,
            default: ColumnDefault::None,
            dropped: false,
            missing,
        }
    }

    #[test]
    fn columns_come_and_go() {
        let (store, table) = stored_table(&[DataType::Integer, DataType::Text]);
        let old = table.insert(&[Value::Integer(1), Value::Text("one".into())], Version(1));
        let before = table.view(Version(1));
        let mut schema = TableSchema::clone(&table.schema());
        schema.columns.push(added("n", DataType::Integer, Value::Integer(42)));
        schema.columns[1].dropped = true;
        table.alter(schema);
        let mut schema = TableSchema::clone(&table.schema());
        schema.columns.push(added("s", DataType::Text, Value::Text("a missing string".into())));
        schema.columns.push(added("d", DataType::Date, Value::Null));
        table.alter(schema);
        let row = [
            Value::Integer(2),
            Value::Null,
            Value::Integer(3),
            Value::Text("new".into()),
            Value::Date(9),
        ];
        let new = table.insert(&row, Version(2));
        store.publish(Version(2));
        let view = table.view(Version(2));
        let at = [old, new].map(|row| view.resolve(row).expect("visible"));
        let cells = |column| at.map(|location| view.cell(ColumnId(column), location).to_owned());
        let missing = Value::Text("a missing string".into());
        assert_eq!(cells(2), [Value::Integer(42), Value::Integer(3)]);
        assert_eq!(cells(3), [missing.clone(), Value::Text("new".into())]);
        assert_eq!(cells(4), [Value::Null, Value::Date(9)]);
        for column in 2..5 {
            let array = view.gather(ColumnId(column), &at);
            let whole = view.array(ColumnId(column), at[0].chunk, 0..1);
            assert_eq!(array_cell(&array, 0).to_owned(), cells(column)[0]);
            assert_eq!(array_cell(&array, 1).to_owned(), cells(column)[1]);
            assert_eq!(array_cell(&whole, 0).to_owned(), cells(column)[0]);
        }
        let chunk = view.chunk(at[0].chunk);
        assert!(matches!(chunk.column(ColumnId(2)), ColumnSlice::Constant(Value::Integer(42), 1)));
        assert_eq!(before.row(at[0]), [Value::Integer(1), Value::Text("one".into())]);
        // An update brings the old row into the new shape.
        table.update(old, &view.row(at[0]), Version(3));
        let view = table.view(Version(3));
        let location = view.resolve(old).expect("visible");
        assert_eq!(view.cell(ColumnId(3), location).to_owned(), missing);
        assert_eq!(view.cell(ColumnId(1), location), ValueRef::Null);
    }
}
