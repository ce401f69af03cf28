//! Keys to rows.
//!
//! Entries name logical rows and may be stale (an old version's key): [`super::TableView::probe`]
//! and [`super::TableView::range`] check visibility and key, which is what readers should call.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::dense::DenseKeys;
use super::key::{KeyBuffer, KeyEncoding, KeyWidth};
use super::numbers::Numbers;
use super::run::{Run, RunEntries};
use super::tree::{self, ByteKeys, Keys, Node, Root};
use super::tree_run::{Sorted, common_keys, insert_run};
use crate::types::{IndexSchema, TableSchema, ValueRef};

/// A hash or ordered index.
#[derive(Debug)]
pub struct Index {
    schema: IndexSchema,
    pub(super) encoding: KeyEncoding,
    /// Values of a unique integer column, as long as they lie close together, and their width in
    /// bytes; NULLs are in the tree.
    dense: Option<(DenseKeys, usize)>,
    entries: Entries,
    /// Whether an update ever changed a key: until then every entry of a row has its only key.
    key_changed: AtomicBool,
}

/// One end of a range over the first key columns.
#[derive(Clone, Copy, Debug)]
pub enum Bound<'a> {
    /// No limit.
    Unbounded,
    /// The limit itself is in.
    Included(&'a [crate::types::Value]),
    /// The limit itself is out.
    Excluded(&'a [crate::types::Value]),
}

#[derive(Debug)]
enum Entries {
    Word(Versions<Numbers<u64>>),
    Wide(Versions<Numbers<u128>>),
    Bytes(Versions<ByteKeys>),
}

/// The writer's tree and the one that readers see.
#[derive(Debug)]
struct Versions<K> {
    published: ArcSwap<Node<K>>,
    newest: Mutex<Root<K>>,
    changed: AtomicBool,
}

/// What a visitor of a range can ask: whether the entry has exactly this key.
pub(super) type HasKey<'a> = &'a dyn Fn(&KeyBuffer) -> bool;

impl<K: Keys> Versions<K> {
    fn new() -> Versions<K> {
        let root = tree::empty();
        Versions {
            published: ArcSwap::new(root.clone()),
            newest: Mutex::new(root),
            changed: AtomicBool::new(false),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Root<K>)) {
        change(&mut self.newest.lock());
        self.changed.store(true, Ordering::Relaxed);
    }

    fn insert_run(&self, run: &impl Sorted<K>) {
        if run.len() > 0 {
            self.change(|root| insert_run(root, run));
        }
    }

    fn common_keys(&self, run: &impl Sorted<K>, found: &mut impl FnMut(usize)) {
        common_keys(&**self.newest.lock(), run, 0..run.len(), found);
    }

    fn publish(&self) {
        if self.changed.load(Ordering::Relaxed) {
            self.changed.store(false, Ordering::Relaxed);
            self.published.store(self.newest.lock().clone());
        }
    }
}

macro_rules! each {
    ($self:expr, $key:ident, |$versions:ident, $convert:ident| $body:expr) => {
        match &$self.entries {
            Entries::Word($versions) if $self.encoding.width == KeyWidth::Hash => {
                let $convert = |$key: &KeyBuffer| $key.hash();
                $body
            }
            Entries::Word($versions) => {
                let $convert = |$key: &KeyBuffer| $key.word();
                $body
            }
            Entries::Wide($versions) => {
                let $convert = |$key: &KeyBuffer| $key.wide();
                $body
            }
            Entries::Bytes($versions) => {
                fn $convert($key: &KeyBuffer) -> &[u8] {
                    $key.bytes()
                }
                $body
            }
        }
    };
}

impl Index {
    pub(super) fn new(table: &TableSchema, schema: IndexSchema) -> Index {
        let encoding = KeyEncoding::new(table, &schema);
        let entries = match encoding.width {
            KeyWidth::Word | KeyWidth::Hash => Entries::Word(Versions::new()),
            KeyWidth::Wide => Entries::Wide(Versions::new()),
            KeyWidth::Bytes => Entries::Bytes(Versions::new()),
        };
        let width = encoding.integer_width().filter(|_| schema.unique);
        let dense = width.map(|width| (DenseKeys::new(), width));
        Index { schema, encoding, dense, entries, key_changed: AtomicBool::new(false) }
    }

    /// Its definition.
    pub fn schema(&self) -> &IndexSchema {
        &self.schema
    }

    /// A key as it can be compared and kept; `None` if part of it is NULL, or no value of the columns' types.
    pub(crate) fn kept_key(&self, key: &[ValueRef<'_>]) -> Option<Arc<[u8]>> {
        let has_null = key.iter().any(|value| value.is_null());
        let encoded = (!has_null).then(|| self.encoding.equal_key(key)).flatten()?;
        Some(encoded.bytes().into())
    }

    /// Whether readers must compare the visible row's key with the one they looked for. Asked after
    /// an entry was read: the writer says so before it adds the first such entry.
    #[inline]
    pub(super) fn must_compare(&self) -> bool {
        self.key_changed.load(Ordering::Acquire) || self.encoding.width == KeyWidth::Hash
    }

    /// Writer: an update is about to change a row's key.
    pub(super) fn set_key_changed(&self) {
        self.key_changed.store(true, Ordering::Release);
    }

    /// The array, if it holds the values, and the key there, if it is one.
    #[inline]
    fn dense_key(&self, key: &KeyBuffer) -> Option<(&DenseKeys, u64)> {
        let (dense, width) = self.dense.as_ref()?;
        Some((dense, KeyEncoding::integer(key, *width)?)).filter(|_| dense.is_active())
    }

    /// Writer: adds an entry; readers see it after [`Self::publish`] at the latest.
    pub(super) fn insert(&self, key: &KeyBuffer, row: u64) {
        if let Some((dense, number)) = self.dense_key(key) {
            if dense.insert(number, row) {
                return;
            }
            self.retire_dense();
        }
        self.insert_into_tree(key, row);
    }

    fn insert_into_tree(&self, key: &KeyBuffer, row: u64) {
        each!(self, key, |versions, convert| versions.change(|root| tree::insert(
            root,
            convert(key),
            row
        )));
    }

    /// Writer: everything moves from the array into the tree.
    fn retire_dense(&self) {
        let Some((dense, width)) = &self.dense else { return };
        let entries = dense.entries();
        let mut run = self.run(entries.len());
        for (number, row) in entries {
            run.push(&KeyEncoding::integer_key(number, *width), row);
        }
        run.sort();
        self.insert_run_into_tree(&run);
        self.publish();
        dense.retire();
    }

    /// A run for entries of this index, with room for `capacity`.
    pub(super) fn run(&self, capacity: usize) -> Run {
        Run::with_capacity(self.encoding.width, capacity)
    }

    /// Writer: adds many entries.
    pub(super) fn insert_many(&self, entries: impl ExactSizeIterator<Item = (KeyBuffer, u64)>) {
        if entries.len() == 1 {
            return entries.for_each(|(key, row)| self.insert(&key, row));
        }
        let mut run = self.run(entries.len());
        entries.for_each(|(key, row)| run.push(&key, row));
        run.sort();
        self.insert_run(&run);
    }

    /// Writer: adds the entries of a sorted run.
    pub(super) fn insert_run(&self, run: &Run) {
        match &self.dense {
            Some((dense, width)) if dense.is_active() => {
                self.insert_run_densely(dense, *width, run)
            }
            _ => self.insert_run_into_tree(run),
        }
    }

    /// Values go into the array until it gives up, NULLs and the rest into the tree.
    fn insert_run_densely(&self, dense: &DenseKeys, width: usize, run: &Run) {
        let mut left = self.run(0);
        for at in 0..run.len() {
            match run.integer(at, width) {
                Some(number) if dense.insert(number, run.row(at)) => {}
                Some(_) => {
                    self.retire_dense();
                    return self.insert_run_into_tree(run);
                }
                None => left.push(&KeyEncoding::null_prefix(), run.row(at)),
            }
        }
        self.insert_run_into_tree(&left);
    }

    fn insert_run_into_tree(&self, run: &Run) {
        match (&self.entries, &run.entries) {
            (Entries::Word(versions), RunEntries::Word(run)) => versions.insert_run(run),
            (Entries::Wide(versions), RunEntries::Wide(run)) => versions.insert_run(run),
            (Entries::Bytes(versions), RunEntries::Bytes(run)) => versions.insert_run(run),
            _ => unreachable!("a run is made for its index"),
        }
    }

    /// Writer: removes an entry.
    pub(super) fn remove(&self, key: &KeyBuffer, row: u64) {
        match self.dense_key(key) {
            Some((dense, number)) => dense.remove(number, row),
            None => each!(self, key, |versions, convert| versions.change(|root| tree::remove(
                root,
                convert(key),
                row
            ))),
        }
    }

    /// Writer: readers see all entries from now on.
    pub(super) fn publish(&self) {
        each!(self, key, |versions, _convert| versions.publish());
    }

    /// Visits the rows of all entries of a key.
    #[inline]
    pub(super) fn equal(&self, key: &KeyBuffer, visit: &mut impl FnMut(u64) -> ControlFlow<()>) {
        if let Some((dense, number)) = self.dense_key(key)
            && dense.equal(number, visit).is_some()
        {
            return;
        }
        let _ = each!(self, key, |versions, convert| versions
            .published
            .load()
            .equal(convert(key), visit));
    }

    /// Writer: like [`Self::equal`], with the entries that are not published yet.
    pub(super) fn equal_newest(
        &self,
        key: &KeyBuffer,
        visit: &mut impl FnMut(u64) -> ControlFlow<()>,
    ) {
        if let Some((dense, number)) = self.dense_key(key)
            && dense.equal(number, visit).is_some()
        {
            return;
        }
        let _ =
            each!(self, key, |versions, convert| versions.newest.lock().equal(convert(key), visit));
    }

    /// Visits the rows of entries with `lower <= key < upper` in order.
    pub(super) fn range(
        &self,
        lower: Option<&KeyBuffer>,
        upper: Option<&KeyBuffer>,
        descending: bool,
        visit: &mut impl FnMut(u64, HasKey<'_>) -> ControlFlow<()>,
    ) {
        assert!(self.encoding.width != KeyWidth::Hash, "a hash index has no order");
        let _ = match &self.dense {
            Some((dense, width)) if dense.is_active() => {
                self.range_with_dense(dense, *width, (lower, upper), descending, visit)
            }
            _ => self.range_in_tree(lower, upper, descending, visit),
        };
    }

    fn range_in_tree(
        &self,
        lower: Option<&KeyBuffer>,
        upper: Option<&KeyBuffer>,
        descending: bool,
        visit: &mut impl FnMut(u64, HasKey<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        each!(self, key, |versions, convert| versions.published.load().range(
            lower.map(convert),
            upper.map(convert),
            descending,
            &mut |keys, at, row| visit(row, &|key| keys.compare(at, convert(key)).is_eq()),
        ))
    }

    /// Values from the array (from the tree, if they move there meanwhile), NULLs from the tree.
    fn range_with_dense(
        &self,
        dense: &DenseKeys,
        width: usize,
        (lower, upper): (Option<&KeyBuffer>, Option<&KeyBuffer>),
        descending: bool,
        visit: &mut impl FnMut(u64, HasKey<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let null = KeyEncoding::null_prefix();
        let is_above = |bound: &KeyBuffer| bound.bytes() >= null.bytes();
        let first_null = Some(lower.filter(|bound| is_above(bound)).unwrap_or(&null));
        if descending {
            self.range_in_tree(first_null, upper, true, visit)?;
        }
        let number = |bound: &KeyBuffer| KeyEncoding::integer(bound, width).unwrap_or(u64::MAX);
        let numbers = lower.map_or(0, number)..upper.map_or(u64::MAX, number);
        let values = dense.range(numbers, descending, &mut |number, row| {
            visit(row, &|key| KeyEncoding::integer(key, width) == Some(number))
        });
        match values {
            Some(flow) => flow?,
            None => {
                let end = Some(upper.filter(|bound| !is_above(bound)).unwrap_or(&null));
                self.range_in_tree(lower, end, descending, visit)?;
            }
        }
        match descending {
            true => ControlFlow::Continue(()),
            false => self.range_in_tree(first_null, upper, false, visit),
        }
    }

    /// Writer: hands the positions of a sorted run's entries whose key is there already, published
    /// or not, to `found`; some more than once.
    pub(super) fn common_keys(&self, run: &Run, found: &mut impl FnMut(usize)) {
        if let Some((dense, width)) = &self.dense
            && dense.is_active()
        {
            for at in 0..run.len() {
                let number = run.integer(at, *width).unwrap_or(u64::MAX);
                let _ = dense.equal(number, &mut |_| {
                    found(at);
                    ControlFlow::Break(())
                });
            }
        }
        match (&self.entries, &run.entries) {
            (Entries::Word(versions), RunEntries::Word(run)) => versions.common_keys(run, found),
            (Entries::Wide(versions), RunEntries::Wide(run)) => versions.common_keys(run, found),
            (Entries::Bytes(versions), RunEntries::Bytes(run)) => versions.common_keys(run, found),
            _ => unreachable!("a run is made for its index"),
        }
    }

    /// Entries and bytes held.
    pub(super) fn weigh(&self) -> (usize, usize) {
        // The writer waits for no walk over all nodes.
        let tree = each!(self, key, |versions, _convert| {
            let root = versions.newest.lock().clone();
            root.weigh()
        });
        let dense = self.dense.as_ref().map_or((0, 0), |(dense, _)| dense.weigh());
        (tree.0 + dense.0, tree.1 + dense.1)
    }
}
