//! One pass over a table that joins its rows with a batch's queries.
//!
//! Clock Scan of the Crescando paper (section 4) with its query-data join (section 5.2), chunk-wise: a
//! [`ScanBatch`] is immutable and shared, [`ScanBatch::scan`] takes one chunk and may run on any worker. Per chunk:
//! the zone maps say which slots can want anything; the predicate indexes narrow each row's set column by
//! column, dropping rows that nobody wants any more; what is left of each slot's predicates runs on that slot's
//! candidates only. A batch of one has no indexes and no sets: its predicates run as compare loops.

use std::sync::Arc;

use hashbrown::HashMap;

use super::conjunction::{BoundParameters, Conjunction};
use super::expression::evaluate_for_many;
use super::filter::{ColumnFilter, ColumnTest};
use super::index::{ColumnIndex, PatternIndex};
use super::optimizer::{self, Attribute, Pick};
use super::row_test::{ChunkReader, RowTest, expression_holds, select_all};
use super::rows::Rows;
use crate::query_set::{QuerySets, SetId, SetTable, SlotBuckets, words};
use crate::storage::{Chunk, ColumnSlice, TableStatistics, TableView};
use crate::types::{
    ChunkId, ColumnId, DataType, Error, Expression, Location, Predicate, Result, Slot, Value,
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
    residuals: Vec<Residual>,
    /// Slots with something left to evaluate.
    residual_slots: SetId,
    errors: Vec<(Slot, Error)>,
}

/// What the indexes leave of one query.
#[derive(Debug, Default)]
struct Residual {
    tests: Vec<RowTest>,
    /// Evaluated last, for all slots at once.
    expressions: Vec<Arc<dyn Expression>>,
    parameters: Option<BoundParameters>,
}

impl Residual {
    fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.expressions.is_empty()
    }

    fn parameters(&self) -> &BoundParameters {
        self.parameters.as_ref().expect("a residual keeps its parameters")
    }
}

/// The rows of one chunk that a batch wants.
#[derive(Debug)]
pub struct ChunkRows {
    /// Offsets, ascending.
    pub rows: Vec<u32>,
    /// By position in `rows`, in the numbering of the scan's own sets.
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
        assert_eq!(sets.slots(), queries.len(), "slots are the positions of queries");
        let types: Arc<[DataType]> = view.schema().columns.iter().map(|c| c.data_type).collect();
        let rows: usize = view.chunks().iter().map(|(_, chunk)| chunk.rows()).sum();
        let mut batch = ScanBatch {
            types,
            sets,
            indexes: Vec::new(),
            picks: Vec::new(),
            residuals: Vec::new(),
            residual_slots: SetId::EMPTY,
            errors: Vec::new(),
            view,
        };
        if queries.len() > 1 {
            batch.build_indexes(&queries, rows, statistics);
        }
        batch.build_residuals(queries, rows);
        batch
    }

    fn build_indexes(&mut self, queries: &[Query], rows: usize, statistics: &TableStatistics) {
        let conjunctions: Vec<&Conjunction> = queries.iter().map(|q| &q.conjunction).collect();
        let dictionary = |column| self.is_dictionary(ColumnId(column as u32));
        let candidates = optimizer::candidates(&conjunctions, statistics, dictionary);
        self.picks = optimizer::pick(candidates, queries.len());
        for pick in &self.picks {
            let index = build_index(pick, &conjunctions, rows, &self.sets);
            self.indexes.push((ColumnId(pick.attribute.column as u32), index));
        }
    }

    fn is_dictionary(&self, column: ColumnId) -> bool {
        let first = self.view.chunks().first();
        first.is_some_and(|(_, chunk)| matches!(chunk.column(column), ColumnSlice::Codes(..)))
    }

    fn build_residuals(&mut self, queries: Vec<Query>, rows: usize) {
        let mut open = vec![0; self.sets.word_count()];
        for (slot, query) in queries.into_iter().enumerate() {
            let slot = Slot(slot as u32);
            let residual = self.residual(query, rows).unwrap_or_else(|error| {
                self.errors.push((slot, error));
                Residual::default()
            });
            if !residual.is_empty() {
                words::insert(&mut open, slot);
            }
            self.residuals.push(residual);
        }
        self.residual_slots = self.sets.intern(&open);
    }

    fn residual(&self, query: Query, rows: usize) -> Result<Residual> {
        let Query { conjunction, parameters } = query;
        let rows = if self.sets.slots() == 1 { rows } else { 0 };
        let indexed = |attribute| self.picks.iter().any(|pick| pick.attribute == attribute);
        let mut residual = Residual::default();
        for (column, filter) in conjunction.filters {
            if !indexed(Attribute { column, patterns: false }) {
                residual.tests.push(RowTest::of_column(column, ColumnTest::Keys(filter), rows));
            }
        }
        let mut seen: Vec<usize> = Vec::new();
        for (column, pattern) in conjunction.patterns {
            let first = !seen.contains(&column);
            seen.push(column);
            if !(first && indexed(Attribute { column, patterns: true })) {
                residual.tests.push(RowTest::of_column(column, ColumnTest::Pattern(pattern), rows));
            }
        }
        for predicate in &conjunction.rest {
            match predicate {
                Predicate::Expression(expression) => residual.expressions.push(expression.clone()),
                other => {
                    residual.tests.push(RowTest::new(other, &self.types, &parameters, rows)?);
                }
            }
        }
        if !residual.is_empty() {
            residual.parameters = Some(parameters);
        }
        Ok(residual)
    }

    /// The sets that its numbers belong to.
    pub fn sets(&self) -> &Arc<SetTable> {
        &self.sets
    }

    /// The indexes that were chosen, and what each is.
    pub fn picks(&self) -> impl Iterator<Item = (&Pick, &'static str)> {
        self.picks.iter().zip(self.indexes.iter().map(|(_, index)| index.kind()))
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
        self.residuals[0].tests.iter().all(|test| match test {
            RowTest::Column(kernel) => {
                chunk.zone(kernel.column()).is_none_or(|zone| kernel.may_accept(zone))
            }
            _ => true,
        })
    }

    /// The rows of one chunk that the batch wants.
    pub fn scan(&self, id: ChunkId) -> ChunkRows {
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
        if self.sets.slots() == 1 {
            return self.scan_alone(reader, visible, count);
        }
        self.scan_shared(reader, wanted, visible, count)
    }

    fn scan_alone(
        &self,
        reader: ChunkReader<'_>,
        visible: Option<Vec<u32>>,
        count: usize,
    ) -> ChunkRows {
        let residual = &self.residuals[0];
        let rows = visible.as_deref().map_or(Rows::All(count), Rows::Some);
        let selected = match &residual.parameters {
            None => Ok(None),
            Some(parameters) => select_all(&residual.tests, reader, parameters, rows),
        };
        let selected = selected.and_then(|selected| {
            let rows = selected.or(visible).unwrap_or_else(|| (0..count as u32).collect());
            self.select_expressions(residual, reader, rows)
        });
        match selected {
            Ok(rows) => {
                ChunkRows { rows, sets: QuerySets::Uniform(self.sets.all()), errors: Vec::new() }
            }
            Err(error) => ChunkRows { errors: vec![(Slot(0), error)], ..ChunkRows::none() },
        }
    }

    fn select_expressions(
        &self,
        residual: &Residual,
        reader: ChunkReader<'_>,
        mut rows: Vec<u32>,
    ) -> Result<Vec<u32>> {
        for expression in &residual.expressions {
            if rows.is_empty() {
                break;
            }
            let test = RowTest::Expression(expression.clone());
            let mut kept = Vec::new();
            test.select(reader, residual.parameters(), Rows::Some(&rows), &mut kept)?;
            rows = kept;
        }
        Ok(rows)
    }

    fn scan_shared(
        &self,
        reader: ChunkReader<'_>,
        wanted: SetId,
        mut visible: Option<Vec<u32>>,
        count: usize,
    ) -> ChunkRows {
        let mut sets = QuerySets::Uniform(wanted);
        let mut ids = Vec::new();
        for (column, index) in &self.indexes {
            let rows = visible.as_deref().map_or(Rows::All(count), Rows::Some);
            if rows.len() == 0 {
                return ChunkRows::none();
            }
            ids.clear();
            index.probe(&reader.chunk.column(*column), rows, &self.sets, &mut ids);
            let (kept, met) = sets.meet(&ids, &self.sets);
            sets = met;
            if let Some(kept) = kept {
                let offsets = kept.iter().map(|&index| rows.offset(index as usize) as u32);
                visible = Some(offsets.collect());
            }
        }
        let rows = visible.unwrap_or_else(|| (0..count as u32).collect());
        self.apply_residuals(reader, rows, sets)
    }

    /// Evaluates what is left of each slot's predicates on that slot's candidates.
    fn apply_residuals(
        &self,
        reader: ChunkReader<'_>,
        rows: Vec<u32>,
        sets: QuerySets,
    ) -> ChunkRows {
        let mut errors = Vec::new();
        if self.residual_slots == SetId::EMPTY || rows.is_empty() {
            let sets = sets.compact(rows.len(), &self.sets);
            return ChunkRows { rows, sets, errors };
        }
        let open = sets.restrict(self.residual_slots, rows.len(), &self.sets);
        let candidates = Candidates::new(&open, rows.len(), &self.sets);
        let mut passed: Vec<(Slot, Vec<u32>)> = Vec::new();
        candidates.for_each(&self.sets, |slot, positions| {
            let own: Option<Vec<u32>> =
                positions.map(|at| at.iter().map(|&at| rows[at as usize]).collect());
            let asked = own.as_deref().unwrap_or(&rows);
            let residual = &self.residuals[slot.index()];
            let parameters = residual.parameters();
            match select_all(&residual.tests, reader, parameters, Rows::Some(asked)) {
                Ok(selected) => passed.push((slot, selected.unwrap_or_else(|| asked.to_vec()))),
                Err(error) => errors.push((slot, error)),
            }
        });
        self.apply_expressions(reader, &mut passed, &mut errors);
        let settled = QuerySets::Uniform(self.residual_slots);
        let mut bitmaps =
            sets.difference(&settled, rows.len(), &self.sets).bitmaps(rows.len(), &self.sets);
        let width = self.sets.word_count();
        for (slot, selected) in &passed {
            // What was selected is a part of the candidates, in the same order.
            let mut next = 0;
            for row in selected {
                let at = candidates.find(*slot, &mut next, |at| rows[at] == *row);
                words::insert(&mut bitmaps[at * width..][..width], *slot);
            }
        }
        let sets = QuerySets::Bitmaps { words_per_row: width, words: bitmaps };
        let (rows, sets) = match sets.wanted_rows(rows.len()) {
            Some(kept) => (kept.iter().map(|&at| rows[at as usize]).collect(), sets.take(&kept)),
            None => (rows, sets),
        };
        let sets = sets.compact(rows.len(), &self.sets);
        ChunkRows { rows, sets, errors }
    }

    /// Slots with the same expression are evaluated together.
    fn apply_expressions(
        &self,
        reader: ChunkReader<'_>,
        passed: &mut [(Slot, Vec<u32>)],
        errors: &mut Vec<(Slot, Error)>,
    ) {
        let expressions = |slot: Slot| &self.residuals[slot.index()].expressions;
        let deepest = passed.iter().map(|(slot, _)| expressions(*slot).len()).max().unwrap_or(0);
        for depth in 0..deepest {
            let mut groups: HashMap<(&str, Vec<DataType>), Vec<usize>> = HashMap::new();
            for (at, (slot, _)) in passed.iter().enumerate() {
                if let Some(expression) = expressions(*slot).get(depth) {
                    let types = &self.residuals[slot.index()].parameters().types;
                    let read = expression.parameters().iter().map(|&parameter| types[parameter]);
                    groups.entry((expression.text(), read.collect())).or_default().push(at);
                }
            }
            for group in groups.into_values() {
                let pairs: Vec<(Slot, Vec<Location>)> = group
                    .iter()
                    .map(|&at| {
                        let (slot, rows) = &passed[at];
                        (*slot, rows.iter().map(|&row| reader.location(row)).collect())
                    })
                    .collect();
                let expression = &*expressions(pairs[0].0)[depth];
                let parameters = |slot: Slot| self.residuals[slot.index()].parameters();
                let truths = evaluate_for_many(expression, reader.view, &pairs, parameters, errors);
                for (at, truths) in group.into_iter().zip(truths) {
                    let mut truths = truths.into_iter();
                    passed[at].1.retain(|_| truths.next() == Some(true));
                }
            }
        }
    }

    /// Whether a slot wants a row given by its values.
    pub fn matches(&self, slot: Slot, row: &[Value]) -> Result<bool> {
        if !self.sets.contains(self.probe_row(row), slot) {
            return Ok(false);
        }
        let residual = &self.residuals[slot.index()];
        let Some(parameters) = &residual.parameters else { return Ok(true) };
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

/// The rows that each slot is still to be asked about.
enum Candidates {
    /// The same rows for all of these: nothing to bucket.
    Everything(SetId),
    /// By slot.
    Buckets(SlotBuckets),
}

impl Candidates {
    fn new(sets: &QuerySets, rows: usize, table: &SetTable) -> Candidates {
        match sets {
            QuerySets::Uniform(set) => Candidates::Everything(*set),
            _ => Candidates::Buckets(sets.expand(rows, table)),
        }
    }

    /// Calls `visit` with each slot and the positions of its rows; `None` for all rows.
    fn for_each(&self, table: &SetTable, mut visit: impl FnMut(Slot, Option<&[u32]>)) {
        match self {
            Candidates::Everything(set) => table.for_each(*set, |slot| visit(slot, None)),
            Candidates::Buckets(buckets) => {
                buckets.iter().for_each(|(slot, positions)| visit(slot, Some(positions)));
            }
        }
    }

    /// The position of the slot's next row, from its `next` candidate on, for which `is` holds.
    fn find(&self, slot: Slot, next: &mut usize, is: impl Fn(usize) -> bool) -> usize {
        loop {
            let at = match self {
                Candidates::Everything(_) => *next,
                Candidates::Buckets(buckets) => buckets.rows(slot)[*next] as usize,
            };
            *next += 1;
            if is(at) {
                return at;
            }
        }
    }
}

impl ChunkRows {
    fn none() -> ChunkRows {
        ChunkRows { rows: Vec::new(), sets: QuerySets::none(), errors: Vec::new() }
    }
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
