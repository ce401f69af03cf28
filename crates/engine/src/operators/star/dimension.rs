//! A dimension of one batch: an array from key to the number of the set of slots that want its row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use hashbrown::HashMap;

use super::by_place::ByPlace;
use super::key_places::KeyRange;
use super::padded_width;
use crate::operators::Batch;
use crate::query_set::{SetId, Tuples, words};
use crate::scan::ValueFilter;
use crate::storage::TableView;
use crate::types::{ColumnId, Location, Slot};

/// Places per wanted row that the array may have, beyond [`FREE_SPAN`]: a sparser one costs more cache misses than a hash
/// table.
const SPARSENESS: u64 = 64;
/// Places that any dimension may have: 2 MiB of numbers.
pub const FREE_SPAN: u64 = 1 << 20;

/// What a dimension is made of.
#[derive(Debug)]
pub struct DimensionRows {
    /// The table.
    pub view: Arc<TableView>,
    /// Its key.
    pub key: ColumnId,
    /// The rows that meet somebody's predicates, with their sets. A row may come several times, for other slots each time:
    /// once by a probe and once by a scan.
    pub chunks: Vec<Tuples>,
    /// The slots that take part in the star and do not join the dimension: they pass whatever the key.
    pub passing: SetId,
}

/// A dimension that another one's rows refer to.
#[derive(Clone, Copy, Debug)]
pub struct Child<'a> {
    /// The referring column.
    pub outer: ColumnId,
    /// The dimension.
    pub dimension: &'a Dimension,
    /// Its position.
    pub number: usize,
}

/// A table reached by its unique key, for one batch.
#[derive(Debug)]
pub struct Dimension {
    pub(super) view: Arc<TableView>,
    pub(super) range: KeyRange,
    /// By place: the row's set, as a position in `sets`. Set 0 is that of keys without a wanted row.
    pub(super) numbers: ByPlace,
    /// Words of set after set, as many each as the batch's width.
    pub(super) sets: Vec<u64>,
    /// Of each wanted row: its place, and where it lies.
    pub(super) places: Vec<u32>,
    pub(super) locations: Vec<Location>,
    /// By child, the child's place that each wanted row refers to.
    pub(super) children: Vec<(usize, Vec<u32>)>,
    /// The table's rows; of a column its values.
    pub(super) rows: u64,
    /// Share of them that somebody wants, 1 where slots pass.
    pub(super) kept: f64,
}

impl Dimension {
    /// Puts a dimension together; `None` where its keys are too sparse for an array, or its sets too many to number.
    pub fn new(
        batch: &Batch<'_>,
        rows: &DimensionRows,
        children: &[Child<'_>],
    ) -> Option<Dimension> {
        let keys: Vec<Vec<Option<i64>>> =
            rows.chunks.iter().map(|chunk| integers(&chunk.column(rows.key.index()))).collect();
        let range = key_range(&keys)?;
        let mut dimension = Dimension {
            view: rows.view.clone(),
            range,
            numbers: ByPlace::new::<u16>(&[]),
            sets: Vec::new(),
            places: Vec::new(),
            locations: Vec::new(),
            children: children.iter().map(|child| (child.number, Vec::new())).collect(),
            rows: rows.view.table().live_rows().max(1),
            kept: 1.0,
        };
        let mut sets = NumberedSets::new(batch, rows.passing);
        let mut numbers = vec![0; range.span as usize + 1];
        for (chunk, keys) in rows.chunks.iter().zip(&keys) {
            dimension.add(batch, chunk, keys, children, &mut sets, &mut numbers)?;
        }
        dimension.numbers = ByPlace::new(&numbers);
        dimension.sets = sets.words;
        if rows.passing == SetId::EMPTY {
            dimension.kept = dimension.places.len() as f64 / dimension.rows as f64;
        }
        Some(dimension)
    }

    /// What is asked of a column of the fact table itself, as if the column referred to a dimension of its values.
    pub fn of_values(
        batch: &Batch<'_>,
        view: &Arc<TableView>,
        filter: &ValueFilter,
    ) -> Option<Dimension> {
        let mut sets = NumberedSets::new(batch, filter.nulls);
        sets.passing.fill(0);
        let numbers = filter.sets.iter().map(|&set| sets.number(batch, set));
        let numbers: Option<Vec<u16>> = std::iter::once(Some(0)).chain(numbers).collect();
        let wanted = filter.sets.iter().filter(|set| **set != SetId::EMPTY).count();
        let range = KeyRange { least: filter.least, span: filter.sets.len() as u64 };
        let kept = wanted as f64 / filter.sets.len().max(1) as f64;
        Some(Dimension::of_numbers(view, range, numbers?, sets.words, kept))
    }

    /// A dimension that is nothing but an array from key to number of a set.
    pub(super) fn of_numbers(
        view: &Arc<TableView>,
        range: KeyRange,
        numbers: Vec<u16>,
        sets: Vec<u64>,
        kept: f64,
    ) -> Dimension {
        Dimension {
            view: view.clone(),
            range,
            numbers: ByPlace::new(&numbers),
            sets,
            places: Vec::new(),
            locations: Vec::new(),
            children: Vec::new(),
            rows: range.span.max(1),
            kept,
        }
    }

    fn add(
        &mut self,
        batch: &Batch<'_>,
        chunk: &Tuples,
        keys: &[Option<i64>],
        children: &[Child<'_>],
        sets: &mut NumberedSets,
        numbers: &mut [u16],
    ) -> Option<()> {
        let ids = chunk.sets.ids(chunk.rows, batch.sets);
        let references: Vec<Vec<u32>> = children.iter().map(|child| child.places(chunk)).collect();
        for (row, (&id, key)) in ids.iter().zip(keys).enumerate() {
            let Some(key) = key.filter(|_| id != SetId::EMPTY) else { continue };
            let number = match children {
                [] => sets.number(batch, id)?,
                _ => {
                    let width = sets.width;
                    let pairs = children.iter().zip(&references);
                    let others = pairs.map(|(child, p)| child.dimension.set(width, p[row]));
                    sets.number_met(batch, id, others)?
                }
            };
            if number == 0 {
                continue;
            }
            let place = self.range.place(key);
            let known = &mut numbers[place as usize];
            if *known != 0 {
                // The key is unique: it is the same row, which has come before for others.
                *known = sets.united(*known, number)?;
                continue;
            }
            *known = number;
            self.places.push(place);
            self.locations.push(chunk.sources[0].locations[row]);
            for ((_, own), places) in self.children.iter_mut().zip(&references) {
                own.push(places[row]);
            }
        }
        Some(())
    }

    /// Bytes held, with what coded columns will take.
    pub fn memory(&self) -> usize {
        self.numbers.len() * 8 + self.sets.len() * 8 + self.places.len() * 16
    }

    /// By place, the child's place that the row refers to; 0 where nobody wants the row.
    pub(super) fn references(&self, child: usize) -> Vec<u32> {
        let known = self.children.iter().find(|(number, _)| *number == child);
        let own = &known.expect("a parent knows its children").1;
        let mut references = vec![0; self.numbers.len()];
        for (&place, &reference) in self.places.iter().zip(own) {
            references[place as usize] = reference;
        }
        references
    }

    /// By place, where the row lies; nowhere where nobody wants it.
    pub(super) fn locations_by_place(&self) -> Vec<Location> {
        let mut locations = vec![Location::NONE; self.numbers.len()];
        for (&place, &location) in self.places.iter().zip(&self.locations) {
            locations[place as usize] = location;
        }
        locations
    }

    /// The set of a place, as words.
    pub(super) fn set(&self, width: usize, place: u32) -> &[u64] {
        self.set_number(width, self.numbers.get(place) as usize)
    }

    /// A set by its number, as words.
    pub(super) fn set_number(&self, width: usize, number: usize) -> &[u64] {
        &self.sets[number * width..][..width]
    }
}

impl Child<'_> {
    /// The child's place that each row refers to.
    fn places(&self, chunk: &Tuples) -> Vec<u32> {
        let range = self.dimension.range;
        let keys = integers(&chunk.column(self.outer.index()));
        keys.into_iter().map(|key| key.map_or(0, |key| range.place(key))).collect()
    }
}

/// Distinct sets, numbered.
pub(super) struct NumberedSets {
    width: usize,
    /// Of set after set.
    pub words: Vec<u64>,
    passing: Vec<u64>,
    by_id: Vec<u16>,
    by_words: HashMap<Box<[u64]>, u16>,
    scratch: Vec<u64>,
}

/// No number yet.
const UNNUMBERED: u16 = u16::MAX;

impl NumberedSets {
    pub fn new(batch: &Batch<'_>, passing: SetId) -> NumberedSets {
        let width = padded_width(batch.sets.slots());
        let mut words = vec![0; width];
        words::union_into(&mut words, batch.sets.words(passing));
        let by_words = HashMap::from([(words.clone().into_boxed_slice(), 0)]);
        let scratch = vec![0; width];
        NumberedSets { width, passing: words.clone(), words, by_id: Vec::new(), by_words, scratch }
    }

    /// The number of an interned set and those who pass.
    fn number(&mut self, batch: &Batch<'_>, id: SetId) -> Option<u16> {
        if let Some(&number) = self.by_id.get(id.index())
            && number != UNNUMBERED
        {
            return Some(number);
        }
        let number = self.number_met(batch, id, std::iter::empty())?;
        if self.by_id.len() <= id.index() {
            self.by_id.resize(id.index() + 1, UNNUMBERED);
        }
        self.by_id[id.index()] = number;
        Some(number)
    }

    /// The number of what an interned set, with those who pass, has in common with other sets.
    fn number_met<'a>(
        &mut self,
        batch: &Batch<'_>,
        id: SetId,
        others: impl Iterator<Item = &'a [u64]>,
    ) -> Option<u16> {
        self.scratch.copy_from_slice(&self.passing);
        words::union_into(&mut self.scratch, batch.sets.words(id));
        others.for_each(|other| words::intersect_into(&mut self.scratch, other));
        self.number_scratch()
    }

    /// The number of those of `slots`, pairs of another batch's and an own one, whose other one is in a set of words, and of
    /// those who pass.
    pub fn translated(&mut self, other: &[u64], slots: &[(Slot, Slot)]) -> Option<u16> {
        self.scratch.copy_from_slice(&self.passing);
        for &(there, here) in slots {
            let wants = other[there.index() / 64] >> (there.index() % 64) & 1;
            self.scratch[here.index() / 64] |= wants << (here.index() % 64);
        }
        self.number_scratch()
    }

    /// The number of two numbered sets' union.
    fn united(&mut self, a: u16, b: u16) -> Option<u16> {
        let own =
            |number: u16| usize::from(number) * self.width..usize::from(number + 1) * self.width;
        self.scratch.copy_from_slice(&self.words[own(a)]);
        words::union_into(&mut self.scratch, &self.words[own(b)]);
        self.number_scratch()
    }

    fn number_scratch(&mut self) -> Option<u16> {
        if let Some(&number) = self.by_words.get(&self.scratch[..]) {
            return Some(number);
        }
        let number = u16::try_from(self.by_words.len()).ok().filter(|n| *n != UNNUMBERED)?;
        self.by_words.insert(self.scratch.clone().into_boxed_slice(), number);
        self.words.extend_from_slice(&self.scratch);
        Some(number)
    }
}

fn key_range(keys: &[Vec<Option<i64>>]) -> Option<KeyRange> {
    let known = || keys.iter().flatten().flatten().copied();
    let rows: usize = keys.iter().map(Vec::len).sum();
    let (Some(least), Some(most)) = (known().min(), known().max()) else {
        return Some(KeyRange::default());
    };
    let span = (most as u64).wrapping_sub(least as u64).checked_add(1)?;
    (span <= FREE_SPAN.max(rows as u64 * SPARSENESS)).then_some(KeyRange { least, span })
}

/// The values of an integer or date column.
fn integers(array: &ArrayRef) -> Vec<Option<i64>> {
    match array.data_type() {
        ArrowType::Int16 => {
            array.as_primitive::<Int16Type>().iter().map(|v| v.map(i64::from)).collect()
        }
        ArrowType::Int32 => {
            array.as_primitive::<Int32Type>().iter().map(|v| v.map(i64::from)).collect()
        }
        ArrowType::Date32 => {
            array.as_primitive::<Date32Type>().iter().map(|v| v.map(i64::from)).collect()
        }
        ArrowType::Int64 => array.as_primitive::<Int64Type>().iter().collect(),
        other => unreachable!("a dimension's key is no {other}"),
    }
}
