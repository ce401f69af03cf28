//! Star queries of a batch as one pass over their fact table: scan, joins with all dimensions and groupings at once.
//!
//! In come the fact rows that the batch's scan leaves and, per dimension, the rows that somebody wants with their query
//! sets; out go one row per slot and group. CJOIN's filter ("Sharing Data and Work Across Concurrent Analytical
//! Queries", section 3.3) with permanent keys in place of hash tables: a dimension becomes an array from key to the number
//! of an interned set ([`Dimension`]), a fact row meets each dimension by one look-up and one intersection
//! ([`narrow`]), and what is left is bucketed by slot and aggregated one query's table at a time ([`StarBuild`]), which
//! keeps that table in the cache. A batch of one carries no sets at all.
//!
//! Where many queries of a grouping want the same rows, their pairs are not written down: rows that the queries cannot
//! tell apart fall into one bin (`BinSpace`) and are aggregated once for all of them (`bins`); at the end each bin goes
//! to the slots that want it (`bin_shares`).
//!
//! Where the tables of all queries outgrow the cache, blocks of rows are held back ([`Packing`], `window`) and aggregated
//! for packs of queries whose tables fit (`packs`), as a sample of the rows shows (`sample`, `coverage`, `first_fit`).
//!
//! Cost: dimension rows + fact rows × dimensions × words of a set, plus the (row, slot) pairs that are left; of groupings
//! in bins fact rows × dimensions, plus (bin, slot) pairs.
//! Called by `heartbeat`, which finds the stars of a lane and reads the tables. The twin is the same plan as index
//! joins below groupings.

mod bin_shares;
mod bin_space;
mod bins;
mod block;
mod build;
mod by_place;
mod coded_column;
mod coverage;
mod dimension;
mod draw;
mod fact_numbers;
mod finish;
mod first_fit;
mod group_numbers;
mod key_places;
mod kinds;
mod merge;
mod narrow;
mod pack_cost;
mod packs;
mod pairs;
mod references;
mod sample;
mod set_words;
mod slot_groups;
mod translated;
mod window;

use std::sync::Arc;

pub use build::{FactRows, StarBuild};
pub use coverage::CacheClass;
pub use dimension::{Child, Dimension, DimensionRows, FREE_SPAN};
pub use finish::StarGroups;
pub use merge::{MergedScratch, MergedStars};
pub use narrow::Survivors;
pub use packs::{LastSample, PackOptions, Packed, Packing};

use self::bin_space::{BinSpace, Shares};
use self::by_place::ByPlace;
use self::coded_column::CodedColumn;
use self::fact_numbers::whole_columns;
use self::kinds::Kinds;
use self::narrow::Filters;
use self::packs::Packs;
use self::set_words::SetWords;
use super::Batch;
use crate::plan::{Aggregate, AggregateFunction};
use crate::query_set::{SetId, words};
use crate::scan::ValueFilter;
use crate::storage::TableView;
use crate::types::{ColumnId, DataType, Location, Scalar, Slot};

/// The star queries over one fact table, merged.
#[derive(Clone, Debug)]
pub struct StarNode {
    /// Tables reached by a unique key; a parent comes before its children.
    pub dimensions: Vec<StarDimension>,
    /// Groupings of what the joins leave.
    pub groupings: Vec<StarGrouping>,
}

/// A table that is reached by its unique key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarDimension {
    /// The dimension whose rows hold the reference; `None`: the fact table's do.
    pub parent: Option<usize>,
    /// The referring column.
    pub outer: ColumnId,
    /// The key.
    pub key: ColumnId,
}

/// One grouping over the star.
#[derive(Clone, Debug)]
pub struct StarGrouping {
    /// The dimensions that it joins: positions in [`StarNode::dimensions`].
    pub dimensions: Vec<usize>,
    /// The first output columns.
    pub keys: Vec<GroupingKey>,
    /// The output columns after the keys; they read columns of the fact table only, by [`ColumnId`].
    pub aggregates: Vec<Aggregate>,
}

/// An output column that tells groups apart, or that such a one determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupingKey {
    /// Groups differ in it.
    Own(StarKey),
    /// Read from the row whose unique key is the output column `by`, or from a row that it leads to.
    Determined {
        /// Position of the other key.
        by: usize,
        /// What is read.
        key: StarKey,
    },
}

/// A column of a dimension by which rows are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StarKey {
    /// Position in [`StarNode::dimensions`].
    pub dimension: usize,
    /// The dimension's column.
    pub column: ColumnId,
}

/// One batch's star: what its workers share.
#[derive(Debug)]
pub struct Star {
    fact: Arc<TableView>,
    /// The only slot, where there is one.
    only: Option<Slot>,
    dimensions: Vec<Dimension>,
    /// The dimensions that the fact table refers to, and the referring columns.
    roots: Vec<(ColumnId, usize)>,
    columns: Vec<CodedColumn>,
    groupings: Vec<ActiveGrouping>,
    /// By root, where a grouping has bins or might have had some.
    kinds: Vec<Option<Kinds>>,
    /// By active grouping, the bins of those whose rows are aggregated once for all slots.
    bins: Vec<Option<BinSpace>>,
    /// The slots of these.
    binned: SetId,
    /// The words of sets.
    words: SetWords,
    /// Those of slots that have no bins.
    unbinned: SetWords,
    /// What share of the rows each slot is expected to want; `None` where there is one slot.
    shares: Option<Shares>,
    /// Where queries are aggregated in packs.
    packs: Option<Packs>,
}

/// A grouping that some slot of the batch uses.
#[derive(Debug)]
struct ActiveGrouping {
    /// Position in [`StarNode::groupings`].
    number: usize,
    set: SetId,
    slots: Vec<Slot>,
    /// Positions in [`Star::columns`] and what a code counts in a group's number.
    keys: Vec<(usize, u32)>,
    output: Vec<OutputKey>,
    /// The fact table's columns from which its arguments may be computed as whole numbers.
    whole: Vec<ColumnId>,
}

/// Where an output column of a grouping is read.
#[derive(Clone, Debug)]
struct OutputKey {
    /// From a group's number to its code: divided by the first, modulo the second.
    place: (u32, u32),
    view: Arc<TableView>,
    column: ColumnId,
    /// By code.
    locations: Arc<[Location]>,
}

/// Words of a batch's sets as the kernels take them.
pub fn padded_width(slots: usize) -> usize {
    words::word_count(slots).max(1).next_power_of_two()
}

impl Star {
    /// A dimension, by its position in [`StarNode::dimensions`].
    pub fn dimension(&self, position: usize) -> &Dimension {
        &self.dimensions[position]
    }

    /// Puts the dimensions together. `wanted` are the slots of each grouping, `filters` what the fact table's scan leaves
    /// to the star. `None` where group numbers would not fit.
    pub fn new(
        node: &StarNode,
        batch: &Batch<'_>,
        fact: Arc<TableView>,
        dimensions: Vec<Dimension>,
        filters: &[ValueFilter],
        wanted: &[SetId],
    ) -> Option<Star> {
        let all = wanted.iter().fold(SetId::EMPTY, |all, &set| batch.sets.union(all, set));
        let active = node.groupings.iter().zip(wanted).filter(|(_, set)| **set != SetId::EMPTY);
        let joined: Vec<usize> = active.flat_map(|(g, _)| &g.dimensions).copied().collect();
        let is_root = |(number, dimension): &(usize, &StarDimension)| {
            dimension.parent.is_none() && joined.contains(number)
        };
        let roots = node.dimensions.iter().enumerate().filter(is_root);
        let mut star = Star {
            fact,
            only: batch.sets.single(all),
            roots: roots.map(|(number, dimension)| (dimension.outer, number)).collect(),
            dimensions,
            columns: Vec::new(),
            groupings: Vec::new(),
            kinds: Vec::new(),
            bins: Vec::new(),
            binned: SetId::EMPTY,
            words: SetWords::all(batch.sets.slots()),
            unbinned: SetWords::all(batch.sets.slots()),
            shares: None,
            packs: None,
        };
        for filter in filters {
            star.roots.push((filter.column, star.dimensions.len()));
            star.dimensions.push(Dimension::of_values(batch, &star.fact, filter)?);
        }
        for (number, &set) in wanted.iter().enumerate().filter(|(_, set)| **set != SetId::EMPTY) {
            let grouping = &node.groupings[number];
            let slots = batch.sets.members(set).collect();
            let (keys, output) = (Vec::new(), Vec::new());
            let whole = whole_columns(&star.fact, &grouping.aggregates);
            let mut active = ActiveGrouping { number, set, slots, keys, output, whole };
            star.code_keys(node, grouping, &mut active)?;
            star.groupings.push(active);
        }
        star.bin(node, batch);
        if star.binned != SetId::EMPTY {
            let unbinned = batch.sets.difference(all, star.binned);
            star.unbinned = SetWords::of(batch, unbinned, &star.dimensions);
        }
        pairs::fits(batch.sets).then_some(star)
    }

    /// Groupings whose rows are aggregated once for all their slots.
    pub fn groupings_in_bins(&self) -> usize {
        self.bins.iter().flatten().count()
    }

    /// Groupings whose rows go into bins, or those whose rows do not, with their positions.
    fn groupings_of(&self, has_bins: bool) -> impl Iterator<Item = (usize, &ActiveGrouping)> {
        let groupings = self.groupings.iter().enumerate().zip(&self.bins);
        groupings.filter(move |(_, bins)| bins.is_some() == has_bins).map(|(grouping, _)| grouping)
    }

    /// Whether some grouping has a key that the fact table's reference to this dimension leads to.
    fn is_grouped_by(&self, dimension: usize) -> bool {
        self.columns.iter().any(|column| column.root == dimension)
    }

    /// What its fact rows meet.
    fn filters(&self) -> Filters<'_> {
        let Star { roots, dimensions, kinds, only, .. } = self;
        Filters { roots, dimensions, kinds, is_one: only.is_some() }
    }

    /// The words of slots whose rows have to be narrowed, where all rows are the same to the scan.
    fn narrowed_words(&self) -> &SetWords {
        if self.binned == SetId::EMPTY { &self.words } else { &self.unbinned }
    }

    /// Codes the columns that tell groups apart, and says where all of them are read.
    fn code_keys(
        &mut self,
        node: &StarNode,
        grouping: &StarGrouping,
        active: &mut ActiveGrouping,
    ) -> Option<()> {
        let mut stride = 1u32;
        let mut coded = vec![None; grouping.keys.len()];
        for (position, key) in grouping.keys.iter().enumerate() {
            let GroupingKey::Own(key) = key else { continue };
            let column = self.code(node, *key);
            let count = self.columns[column].representatives.len().max(1) as u32;
            active.keys.push((column, stride));
            coded[position] = Some((column, (stride, count)));
            stride = stride.checked_mul(count)?;
        }
        let output = (0..grouping.keys.len()).map(|position| {
            let (by, key) = match grouping.keys[position] {
                GroupingKey::Own(key) => (position, key),
                GroupingKey::Determined { by, key } => (by, key),
            };
            let (column, place) = coded[by].expect("what determines others tells groups apart");
            let locations = self.columns[column].locations(node, &self.dimensions, key.dimension);
            let view = self.dimensions[key.dimension].view.clone();
            OutputKey { place, view, column: key.column, locations: locations.into() }
        });
        active.output = output.collect();
        Some(())
    }

    /// Finds the groupings for which bins cost less than pairs.
    fn bin(&mut self, node: &StarNode, batch: &Batch<'_>) {
        if self.only.is_some() {
            self.bins = self.groupings.iter().map(|_| None).collect();
            return;
        }
        let shares = Shares::new(self, batch.sets.slots());
        let mut kinds: Vec<Option<Kinds>> = self.roots.iter().map(|_| None).collect();
        let bins = self.groupings.iter().map(|grouping| {
            let aggregates = node.groupings[grouping.number].aggregates.len();
            BinSpace::new(self, grouping, aggregates, &shares, &mut kinds)
        });
        self.bins = bins.collect();
        self.kinds = kinds;
        self.code_kinds();
        self.shares = Some(shares);
        let binned = self.groupings.iter().zip(&self.bins).filter(|(_, bins)| bins.is_some());
        self.binned =
            binned.fold(SetId::EMPTY, |all, (grouping, _)| batch.sets.union(all, grouping.set));
    }

    /// Codes by kind where kinds tell all coded columns of their dimension apart.
    fn code_kinds(&mut self) {
        for ((_, dimension), kinds) in self.roots.iter().zip(&self.kinds) {
            let Some(kinds) = kinds else { continue };
            let own = |column: &(usize, &CodedColumn)| column.1.root == *dimension;
            if !self.columns.iter().enumerate().filter(own).all(|(column, _)| kinds.tells(column)) {
                continue;
            }
            for column in self.columns.iter_mut().filter(|column| column.root == *dimension) {
                let codes = kinds.places.iter().map(|&place| column.codes.get(place));
                column.by_kind = Some(ByPlace::new(&codes.collect::<Vec<_>>()));
            }
        }
    }

    /// The kinds by which a grouped root's references are told apart; `None` where they are by their places.
    fn grouped_kinds(&self, root: usize) -> Option<&Kinds> {
        let mut own = self.columns.iter().filter(|column| column.root == self.roots[root].1);
        let is_by_kind = own.next().is_some_and(|column| column.by_kind.is_some());
        self.kinds.get(root)?.as_ref().filter(|_| is_by_kind)
    }

    /// The position of a coded column.
    fn code(&mut self, node: &StarNode, key: StarKey) -> usize {
        let known = self.columns.iter().position(|column| column.key == key);
        known.unwrap_or_else(|| {
            self.columns.push(CodedColumn::new(node, &self.dimensions, key));
            self.columns.len() - 1
        })
    }
}

impl StarGrouping {
    /// Whether aggregates can be computed from the fact table's columns alone, chunk by chunk, for all slots at once.
    pub fn is_fit(aggregates: &[Aggregate], fact_columns: usize) -> bool {
        aggregates.iter().all(|aggregate| {
            let reads_fact = match &aggregate.argument {
                None | Some(Scalar::Literal(_)) => true,
                Some(Scalar::Column(column)) => *column < fact_columns,
                Some(Scalar::Parameter(_)) => false,
                Some(Scalar::Expression(expression)) => {
                    expression.parameters().is_empty()
                        && expression.columns().iter().all(|&column| column < fact_columns)
                }
            };
            reads_fact && !aggregate.distinct && aggregate.filter.is_none() && !has_ranks(aggregate)
        })
    }
}

/// Whether two aggregates take the same numbers.
fn same_argument(a: &Aggregate, b: &Aggregate) -> bool {
    let same = match (&a.argument, &b.argument) {
        (None, None) => true,
        (Some(Scalar::Column(a)), Some(Scalar::Column(b))) => a == b,
        (Some(Scalar::Literal(a)), Some(Scalar::Literal(b))) => a == b,
        (Some(Scalar::Expression(a)), Some(Scalar::Expression(b))) => {
            a.meaning() == b.meaning() && a.columns() == b.columns()
        }
        _ => false,
    };
    same && a.function == b.function
}

/// Extremes of strings are kept as ranks among the strings of one chunk, which cannot be put together.
fn has_ranks(aggregate: &Aggregate) -> bool {
    matches!(aggregate.function, AggregateFunction::Min | AggregateFunction::Max)
        && (aggregate.data_type.is_string() || aggregate.data_type == DataType::Bytea)
}
