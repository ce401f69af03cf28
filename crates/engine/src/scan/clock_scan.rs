//! One pass over a table that joins its rows with a batch's queries.
//!
//! Clock Scan of the Crescando paper (section 4) with its query-data join (section 5.2), chunk-wise: a
//! [`ScanBatch`] is immutable and shared, [`ScanBatch::scan`] takes one chunk and may run on any worker. Per chunk:
//! the zone maps say which slots can want anything; the predicate indexes narrow each row's set column by
//! column, dropping rows that nobody wants any more; what is left of the predicates is asked of all slots together
//! ([`super::residual`]). A batch of one has no indexes and no sets: its predicates run as compare loops.

use std::sync::{Arc, OnceLock};

use super::conjunction::{BoundParameters, Conjunction};
use super::filter::{ColumnFilter, ColumnTest, narrow_key};
use super::index::{ColumnIndex, PatternIndex};
use super::optimizer::{self, Attribute, Pick};
use super::residual::{self, Asked, Asking, Live, SharedTest};
use super::row_test::{ChunkReader, RowTest, expression_holds, select_all};
use super::rows::Rows;
use crate::query_set::{QuerySets, SetId, SetTable, drop_unwanted, words};
use crate::storage::{Chunk, ColumnSlice, TableStatistics, TableView};
use crate::types::{
    ChunkId, ColumnId, DataType, Error, Expression, Predicate, Result, Slot, Value,
};

/// One slot's part of a scan.
#[derive(Debug)]
pub struct Query {
    /// What it asks.
    pub conjunction: Conjunction,
    /// Its parameters, for expressions.
    pub parameters: BoundParameters,
}

/// The predicates of a batch on one table, made ready to meet rows. Slots are the positions of its queries.
#[derive(Debug)]
pub struct ScanBatch {
    view: Arc<TableView>,
    types: Arc<[DataType]>,
    sets: Arc<SetTable>,
    indexes: Vec<(ColumnId, ColumnIndex)>,
    picks: Vec<Pick>,
    /// What the indexes leave, by slot: what a batch of one runs, and what a row given by its values meets.
    leftovers: Vec<Leftover>,
    /// The same, asked of all slots together.
    tests: Vec<SharedTest>,
    /// Rows of the table.
    rows: usize,
    errors: Vec<(Slot, Error)>,
}

/// What the indexes leave of one query.
#[derive(Debug)]
struct Leftover {
    conjunction: Conjunction,
    parameters: BoundParameters,
    /// Made ready to meet rows one by one, when somebody asks for that.
    residual: OnceLock<Result<Residual>>,
}

/// One slot's tests.
#[derive(Debug, Default)]
struct Residual {
    tests: Vec<RowTest>,
    /// Evaluated last.
    expressions: Vec<Arc<dyn Expression>>,
}

impl Leftover {
    fn residual(&self, types: &[DataType], rows: usize) -> Result<&Residual> {
        let made = self.residual.get_or_init(|| self.make_residual(types, rows));
        made.as_ref().map_err(Error::clone)
    }

    fn make_residual(&self, types: &[DataType], rows: usize) -> Result<Residual> {
        let mut residual = Residual::default();
        for (column, filter) in &self.conjunction.filters {
            let test = ColumnTest::Keys(filter.clone());
            residual.tests.push(RowTest::of_column(*column, test, rows));
        }
        for (column, pattern) in &self.conjunction.patterns {
            let test = ColumnTest::Pattern(pattern.clone());
            residual.tests.push(RowTest::of_column(*column, test, rows));
        }
        for predicate in &self.conjunction.rest {
            match predicate {
                Predicate::Expression(expression) => residual.expressions.push(expression.clone()),
                other => residual.tests.push(RowTest::new(other, types, &self.parameters, rows)?),
            }
        }
        Ok(residual)
    }
}

/// The rows of one chunk that a batch wants.
#[derive(Debug)]
pub struct ChunkRows {
    /// Offsets, ascending.
    pub rows: Vec<u32>,
    /// By position in `rows`.
    pub sets: QuerySets,
    /// Slots whose expressions failed.
    pub errors: Vec<(Slot, Error)>,
}

impl ScanBatch {
    /// Chooses indexes and builds them.
    pub fn new(
        view: Arc<TableView>,
        sets: Arc<SetTable>,
        queries: Vec<Query>,
        statistics: &TableStatistics,
    ) -> ScanBatch {
        ScanBatch::with(view, sets, queries, statistics, optimizer::INTEGER_PROBE)
    }

    /// For a star, whose rows meet predicates on integers like references to dimensions: all of these get an index, so that
    /// the scan leaves the same to all rows.
    pub fn of_star(
        view: Arc<TableView>,
        sets: Arc<SetTable>,
        queries: Vec<Query>,
        statistics: &TableStatistics,
    ) -> ScanBatch {
        ScanBatch::with(view, sets, queries, statistics, 0.0)
    }

    fn with(
        view: Arc<TableView>,
        sets: Arc<SetTable>,
        queries: Vec<Query>,
        statistics: &TableStatistics,
        integer_probe: f64,
    ) -> ScanBatch {
        assert_eq!(sets.slots(), queries.len(), "slots are the positions of queries");
        let types: Arc<[DataType]> = view.schema().columns.iter().map(|c| c.data_type).collect();
        let rows: usize = view.chunks().iter().map(|(_, chunk)| chunk.rows()).sum();
        let mut batch = ScanBatch {
            types,
            sets,
            indexes: Vec::new(),
            picks: Vec::new(),
            leftovers: Vec::new(),
            tests: Vec::new(),
            rows,
            errors: Vec::new(),
            view,
        };
        if queries.len() > 1 {
            batch.build_indexes(&queries, statistics, integer_probe);
        }
        batch.keep_leftovers(queries);
        batch
    }

    fn build_indexes(
        &mut self,
        queries: &[Query],
        statistics: &TableStatistics,
        integer_probe: f64,
    ) {
        let conjunctions: Vec<&Conjunction> = queries.iter().map(|q| &q.conjunction).collect();
        let dictionary = |column| self.is_dictionary(ColumnId(column as u32));
        let candidates =
            optimizer::candidates(&conjunctions, statistics, dictionary, integer_probe);
        self.picks = optimizer::pick(candidates, queries.len());
        for pick in &self.picks {
            let index = build_index(pick, &conjunctions, self.rows, &self.sets);
            self.indexes.push((ColumnId(pick.attribute.column as u32), index));
        }
    }

    fn is_dictionary(&self, column: ColumnId) -> bool {
        let first = self.view.chunks().first();
        first.is_some_and(|(_, chunk)| matches!(chunk.column(column), ColumnSlice::Codes(..)))
    }

    fn keep_leftovers(&mut self, queries: Vec<Query>) {
        self.leftovers = queries.into_iter().map(|query| self.leftover(query)).collect();
        if let [only] = &self.leftovers[..] {
            let failed = only.residual(&self.types, self.rows).err();
            self.errors.extend(failed.map(|error| (Slot(0), error)));
            return;
        }
        let asked = self.leftovers.iter().zip(0..).filter(|(left, _)| !left.conjunction.is_true());
        let asked = asked.map(|(left, slot)| Asked {
            slot: Slot(slot),
            conjunction: left.conjunction.clone(),
            parameters: left.parameters.clone(),
        });
        let (asked, errors) = (asked.collect(), &mut self.errors);
        self.tests = residual::bind(asked, &self.types, self.rows, &self.sets, errors);
    }

    fn leftover(&self, query: Query) -> Leftover {
        let Query { mut conjunction, parameters } = query;
        let indexed = |attribute| self.picks.iter().any(|pick| pick.attribute == attribute);
        let is_indexed = |column| indexed(Attribute { column, patterns: false });
        conjunction.filters.retain(|(column, _)| !is_indexed(*column));
        let mut seen: Vec<usize> = Vec::new();
        conjunction.patterns.retain(|&(column, _)| {
            let first = !seen.contains(&column);
            seen.push(column);
            !(first && indexed(Attribute { column, patterns: true }))
        });
        Leftover { conjunction, parameters, residual: OnceLock::new() }
    }

    /// The sets that its numbers belong to.
    pub fn sets(&self) -> &Arc<SetTable> {
        &self.sets
    }

    /// The indexes that were chosen, and what each is.
    pub fn picks(&self) -> impl Iterator<Item = (&Pick, &'static str)> {
        self.picks.iter().zip(self.indexes.iter().map(|(_, index)| index.kind()))
    }

    /// Takes out the indexes over integer columns of at most `widest` values, where all who ask there may be asked apart from
    /// the others: each with the smallest value, the set of every value, and at the end that of NULL.
    pub(super) fn take_value_sets(
        &mut self,
        widest: u64,
        may_be_apart: impl Fn(Slot) -> bool,
    ) -> Vec<(ColumnId, i64, Vec<SetId>)> {
        let mut taken = Vec::new();
        let (view, types) = (&self.view, &self.types);
        let mut picks = self.picks.iter();
        self.indexes.retain(|(column, index)| {
            let pick = picks.next().expect("each index was picked");
            let ColumnIndex::Narrow(index) = index else { return true };
            if !pick.slots.iter().copied().all(&may_be_apart) {
                return true;
            }
            let range = value_range(view, *column, types[column.index()]);
            let Some((least, most)) = range.filter(|(l, m)| m.abs_diff(*l) < widest) else {
                return true;
            };
            let sets = (least..=most).map(|value| index.find(value)).chain([index.nulls()]);
            taken.push((*column, least, sets.collect()));
            false
        });
        taken
    }

    /// Slots that have failed before any row was read.
    pub fn errors(&self) -> &[(Slot, Error)] {
        &self.errors
    }

    /// Who may want a row of this chunk, by its zone maps.
    pub fn wanted(&self, chunk: &Chunk) -> SetId {
        if self.sets.slots() == 1 {
            return if self.lone_query_may_want(chunk) { self.sets.all() } else { SetId::EMPTY };
        }
        let mut wanted = words::full(self.sets.slots());
        let mut column_wants = vec![0; wanted.len()];
        for (column, index) in &self.indexes {
            let Some(zone) = chunk.zone(*column) else { continue };
            column_wants.fill(0);
            if index.probe_zone(zone, &self.sets, &mut column_wants).is_some() {
                words::intersect_into(&mut wanted, &column_wants);
            }
        }
        self.sets.intern(&wanted)
    }

    fn lone_query_may_want(&self, chunk: &Chunk) -> bool {
        let may_accept = |test: &RowTest| match test {
            RowTest::Column(kernel) => {
                chunk.zone(kernel.column()).is_none_or(|zone| kernel.may_accept(zone))
            }
            _ => true,
        };
        let residual = self.leftovers[0].residual(&self.types, self.rows);
        residual.is_ok_and(|residual| residual.tests.iter().all(may_accept))
    }

    /// The rows of one chunk that the batch wants.
    pub fn scan(&self, id: ChunkId) -> ChunkRows {
        self.scan_after(id, |_, _| None)
    }

    /// The rows that the batch wants of those of a chunk that `first` keeps; `None` keeps all.
    pub(super) fn scan_after(
        &self,
        id: ChunkId,
        first: impl FnOnce(&Chunk, Rows<'_>) -> Option<Vec<u32>>,
    ) -> ChunkRows {
        let chunk = self.view.chunk(id);
        let reader = ChunkReader { view: &self.view, types: &self.types, id, chunk };
        let wanted = self.wanted(chunk);
        if wanted == SetId::EMPTY {
            return ChunkRows::none();
        }
        // The count comes before the question: rows that are appended in between are not looked at.
        let count = chunk.rows();
        let visible = (!chunk.all_visible(self.view.version())).then(|| {
            let mut rows = Vec::with_capacity(count);
            chunk.visible(self.view.version(), 0..count as u32, &mut rows);
            rows
        });
        let visible = first(chunk, Rows::of(visible.as_deref(), count)).or(visible);
        if self.sets.slots() == 1 {
            return self.scan_alone(reader, visible, count);
        }
        self.scan_shared(reader, wanted, visible, count)
    }

    /// Whether keys may be looked up before the predicates are asked, and that may pay: none of them can fail on a row
    /// that the keys drop, and comparing all rows of a chunk in one loop, as a batch of one does, costs less.
    pub(super) fn takes_keys_first(&self) -> bool {
        let may_fail = |left: &Leftover| left.conjunction.rest.iter().any(Predicate::may_fail);
        if self.leftovers.iter().any(may_fail) {
            return false;
        }
        let is_loop = |test: &RowTest| matches!(test, RowTest::Column(_));
        match &self.leftovers[..] {
            [only] => only
                .residual(&self.types, self.rows)
                .is_ok_and(|residual| !residual.tests.iter().any(is_loop)),
            _ => true,
        }
    }

    fn scan_alone(
        &self,
        reader: ChunkReader<'_>,
        visible: Option<Vec<u32>>,
        count: usize,
    ) -> ChunkRows {
        let selected = self.select_alone(reader, visible, count);
        match selected {
            Ok(rows) => {
                ChunkRows { rows, sets: QuerySets::Uniform(self.sets.all()), errors: Vec::new() }
            }
            Err(error) => ChunkRows { errors: vec![(Slot(0), error)], ..ChunkRows::none() },
        }
    }

    fn select_alone(
        &self,
        reader: ChunkReader<'_>,
        visible: Option<Vec<u32>>,
        count: usize,
    ) -> Result<Vec<u32>> {
        let leftover = &self.leftovers[0];
        let residual = leftover.residual(&self.types, self.rows)?;
        let rows = Rows::of(visible.as_deref(), count);
        let selected = select_all(&residual.tests, reader, &leftover.parameters, rows)?;
        let mut rows = selected.or(visible).unwrap_or_else(|| (0..count as u32).collect());
        for expression in &residual.expressions {
            if rows.is_empty() {
                break;
            }
            let test = RowTest::Expression(expression.clone());
            let mut kept = Vec::new();
            test.select(reader, &leftover.parameters, Rows::Some(&rows), &mut kept)?;
            rows = kept;
        }
        Ok(rows)
    }

    fn scan_shared(
        &self,
        reader: ChunkReader<'_>,
        wanted: SetId,
        visible: Option<Vec<u32>>,
        count: usize,
    ) -> ChunkRows {
        let live = self.probe(reader.chunk, wanted, visible, count);
        let mut asking = Asking { reader, sets: &self.sets, errors: Vec::new() };
        let Live { rows, sets } = asking.narrow(&self.tests, live);
        let sets = sets.compact(rows.len(), &self.sets);
        ChunkRows { rows, sets, errors: asking.errors }
    }

    /// What the indexes leave of the rows.
    fn probe(
        &self,
        chunk: &Chunk,
        wanted: SetId,
        mut visible: Option<Vec<u32>>,
        count: usize,
    ) -> Live {
        let mut sets = QuerySets::Uniform(wanted);
        let mut ids = Vec::new();
        for (column, index) in &self.indexes {
            let rows = Rows::of(visible.as_deref(), count);
            if rows.len() == 0 {
                return Live { rows: Vec::new(), sets: QuerySets::none() };
            }
            let column = chunk.column(*column);
            if let (QuerySets::Uniform(set), 1) = (&sets, self.sets.word_count())
                && let Some(kept) =
                    index.select(&column, rows, &self.sets, self.sets.words(*set)[0])
            {
                visible = Some(kept);
            }
            let rows = Rows::of(visible.as_deref(), count);
            if self.sets.word_count() == 1 {
                let mut words = sets.into_bitmaps(rows.len(), &self.sets);
                index.narrow(&column, rows, &self.sets, &mut words);
                drop_unwanted(&mut words, &mut visible);
                sets = QuerySets::Bitmaps { words_per_row: 1, words };
                continue;
            }
            ids.clear();
            index.probe(&column, rows, &self.sets, &mut ids);
            let (kept, met) = sets.meet(&ids, &self.sets);
            sets = met;
            if let Some(kept) = kept {
                let offsets = kept.iter().map(|&index| rows.offset(index as usize) as u32);
                visible = Some(offsets.collect());
            }
        }
        Live { rows: visible.unwrap_or_else(|| (0..count as u32).collect()), sets }
    }

    /// Whether a slot wants a row given by its values.
    pub fn matches(&self, slot: Slot, row: &[Value]) -> Result<bool> {
        if !self.sets.contains(self.probe_row(row), slot) {
            return Ok(false);
        }
        let leftover = &self.leftovers[slot.index()];
        let parameters = &leftover.parameters;
        let residual = leftover.residual(&self.types, self.rows)?;
        for test in &residual.tests {
            if !test.accepts(row, &self.types, parameters)? {
                return Ok(false);
            }
        }
        for expression in &residual.expressions {
            if !expression_holds(&**expression, row, &self.types, parameters)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The slots that a row given by its values does not miss by an index: candidates for whatever else they ask.
    pub fn probe_row(&self, row: &[Value]) -> SetId {
        let mut set = self.sets.all();
        for (column, index) in &self.indexes {
            let value = row[column.index()].borrow();
            set = self.sets.intersect(set, index.probe_value(value, &self.sets));
        }
        set
    }
}

impl ChunkRows {
    pub(super) fn none() -> ChunkRows {
        ChunkRows { rows: Vec::new(), sets: QuerySets::none(), errors: Vec::new() }
    }
}

/// The smallest and the largest value of an integer column; `None` where there is none.
fn value_range(view: &TableView, column: ColumnId, data_type: DataType) -> Option<(i64, i64)> {
    use DataType::{BigInt, Date, Integer, SmallInt};
    if !matches!(data_type, SmallInt | Integer | BigInt | Date) {
        return None;
    }
    let key = |value: &Value| narrow_key(value.borrow());
    let ranges = view.chunks().iter().filter_map(|(_, chunk)| match chunk.zone(column) {
        Some(zone) => zone.min.as_ref().and_then(key).zip(zone.max.as_ref().and_then(key)),
        None => {
            let slice = chunk.column(column);
            let values =
                || (0..slice.len()).filter_map(|row| narrow_key(slice.value(row, data_type)));
            values().min().zip(values().max())
        }
    });
    ranges.reduce(|(least, most), (l, m)| (least.min(l), most.max(m)))
}

fn build_index(
    pick: &Pick,
    conjunctions: &[&Conjunction],
    rows: usize,
    sets: &SetTable,
) -> ColumnIndex {
    let mut others = words::full(sets.slots());
    pick.slots.iter().for_each(|slot| words::remove(&mut others, *slot));
    let column = pick.attribute.column;
    if pick.attribute.patterns {
        let pattern = |slot: &Slot| {
            let own = &conjunctions[slot.index()].patterns;
            let first = own.iter().find(|(other, _)| *other == column);
            (*slot, first.expect("picked slots have a pattern there").1.clone())
        };
        let patterns = pick.slots.iter().map(pattern).collect();
        let index = PatternIndex::new(patterns, &others, sets);
        return ColumnIndex::Patterns(Box::new(index));
    }
    let filter = |slot: &Slot| -> (Slot, &ColumnFilter) {
        let own = &conjunctions[slot.index()].filters;
        let filter = own.iter().find(|(other, _)| *other == column);
        (*slot, &filter.expect("picked slots have a filter there").1)
    };
    let filters: Vec<_> = pick.slots.iter().map(filter).collect();
    ColumnIndex::of_filters(&filters, &others, rows, sets)
}
