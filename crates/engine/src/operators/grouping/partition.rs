//! Workers' parts of a grouping cut by key: what has the same key lies in the same partition of every part, so that
//! partitions are put together and finished on all workers, each as if it were a grouping of its own.

use arrow_array::{ArrayRef, UInt32Array};

use super::GroupNode;
use super::build::{Chunk, GroupBuild};
use super::fold::Folded;
use crate::operators::kernel::{bucket_all, value_hashes};
use crate::query_set::{SlotBuckets, Tuples};
use crate::types::Slot;

/// Groups of all parts from which on cutting them pays: putting so many together takes some milliseconds.
const GROUPS: usize = 1 << 15;
/// Workers from which on it pays. Giving a group of another worker its place takes about 40 ns, on one thread; cutting a
/// group off takes 90 and giving it a place again 50, on all: 40 (W - 1) / W against 140 / W.
const WORKERS: usize = 6;
/// Partitions per worker: their sizes differ, and nobody should wait long for the last one.
const PER_WORKER: usize = 2;

/// Groups of a part by partition.
struct Cut {
    partitions: SlotBuckets,
    /// The number that each group has in its partition.
    numbers: Vec<u32>,
}

impl GroupBuild {
    /// Into how many partitions the workers' parts should be cut; `None` where putting them together as they are takes
    /// no longer.
    pub fn partitions(node: &GroupNode, builds: &[GroupBuild], workers: usize) -> Option<usize> {
        let groups: usize = builds.iter().map(GroupBuild::groups).sum();
        let pays = builds.len() >= WORKERS && groups > GROUPS;
        (pays && !node.keys.is_empty()).then_some(workers * PER_WORKER)
    }

    /// Cuts a worker's part by key.
    pub fn partition(self, node: &GroupNode, parts: usize) -> Vec<GroupBuild> {
        let owners = self.owners_by_hash(node, parts);
        self.divide(&owners, parts)
    }

    /// Cuts it into parts of groups; `owners` tells the part of each.
    pub(super) fn divide(self, owners: &[u32], parts: usize) -> Vec<GroupBuild> {
        let cut = Cut::new(owners, parts);
        let mut partitions: Vec<GroupBuild> =
            (0..parts).map(|_| GroupBuild::holding(self.hold)).collect();
        let mut first = 0;
        for run in &self.representatives {
            let groups = first..first + run.rows as u32;
            for (part, own) in partitions.iter_mut().enumerate() {
                let of_part = cut.groups(part);
                let before = |end: u32| of_part.partition_point(|group| *group < end);
                let of_run = &of_part[before(groups.start)..before(groups.end)];
                let rows: Vec<u32> = of_run.iter().map(|group| group - first).collect();
                if !rows.is_empty() || run.rows == 0 {
                    own.representatives.push(run.take(&rows));
                }
            }
            first = groups.end;
        }
        for chunk in &self.chunks {
            let rows = cut.rows(&chunk.groups);
            for (part, own) in partitions.iter_mut().enumerate() {
                let rows = rows.rows(Slot(part as u32));
                own.held += rows.len();
                own.chunks.push(chunk.take(rows, &cut.numbers));
            }
        }
        if let Some(folded) = &self.folded {
            let bucketed = (!folded.is_in_order()).then(|| cut.rows(&folded.groups));
            let rows = bucketed.as_ref().unwrap_or(&cut.partitions);
            for (part, own) in partitions.iter_mut().enumerate() {
                own.folded = Some(folded.take(rows.rows(Slot(part as u32)), &cut.numbers));
            }
        }
        partitions
    }

    fn owners_by_hash(&self, node: &GroupNode, parts: usize) -> Vec<u32> {
        let identity = node.identity_of_output();
        let part = |hash: u64| (hash % parts as u64) as u32;
        let hashes = |run: &Tuples| {
            let columns: Vec<ArrayRef> = identity.iter().map(|&key| run.column(key)).collect();
            value_hashes(&columns, run.rows)
        };
        let runs = self.representatives.iter().filter(|run| run.rows > 0);
        runs.flat_map(hashes).map(part).collect()
    }
}

impl Cut {
    fn new(owners: &[u32], parts: usize) -> Cut {
        let mut sizes = vec![0; parts];
        let mut number = |&owner: &u32| {
            let size: &mut u32 = &mut sizes[owner as usize];
            *size += 1;
            *size - 1
        };
        let numbers = owners.iter().map(&mut number).collect();
        Cut { partitions: bucket_all(owners, parts), numbers }
    }

    /// The groups of a partition, ascending.
    fn groups(&self, part: usize) -> &[u32] {
        self.partitions.rows(Slot(part as u32))
    }

    /// Rows of these groups, by partition.
    fn rows(&self, groups: &[u32]) -> SlotBuckets {
        let mut owners = vec![0; self.numbers.len()];
        for (part, own) in self.partitions.iter() {
            own.iter().for_each(|&group| owners[group as usize] = part.0);
        }
        let owners: Vec<u32> = groups.iter().map(|&group| owners[group as usize]).collect();
        bucket_all(&owners, self.partitions.offsets.len() - 1)
    }
}

impl Chunk {
    /// The rows named; their groups get the numbers given.
    fn take(&self, rows: &[u32], numbers: &[u32]) -> Chunk {
        let places = UInt32Array::from(rows.to_vec());
        let take = |array: &Option<ArrayRef>| {
            let array = array.as_ref();
            array.map(|a| arrow_select::take::take(a, &places, None).expect("rows of the chunk"))
        };
        Chunk {
            groups: rows.iter().map(|&row| numbers[self.groups[row as usize] as usize]).collect(),
            sets: self.sets.take(rows),
            arguments: self.arguments.iter().map(|(a, b)| (take(a), take(b))).collect(),
        }
    }
}

impl Folded {
    /// The rows named; their groups get the numbers given.
    fn take(&self, rows: &[u32], numbers: &[u32]) -> Folded {
        let rows_of = rows.iter().map(|&row| row as usize);
        Folded {
            groups: rows_of.clone().map(|row| numbers[self.groups[row] as usize]).collect(),
            sets: rows_of.map(|row| self.sets[row]).collect(),
            accumulators: self.accumulators.iter().map(|own| own.take(rows)).collect(),
            arguments: self.arguments.iter().map(super::Argument::emptied).collect(),
            places: self.places.emptied(),
        }
        .renumbered()
    }
}
