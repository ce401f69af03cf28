//! Strings of chunks as one Arrow array that shares their bytes.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::{ArrayRef, StringViewArray};
use arrow_buffer::{Buffer, ScalarBuffer};

use super::column_store::{ColumnData, Heap};
use super::gather::{Position, Validity};
use super::{Chunk, Dictionary, Nulls, Unsigned};
use crate::types::{ColumnId, Value, ValueRef};

/// A run of fewer strings is copied: sharing a heap costs about as much as copying these.
const LEAST_SHARED: usize = 16;
/// Longest string inside its view.
const INLINE: usize = 12;

/// A string array in the making.
pub(super) struct StringViews {
    views: Vec<u128>,
    validity: Validity,
    /// Buffer 0 of the array.
    copied: Vec<u8>,
    /// Buffers 1 and up.
    shared: Vec<Buffer>,
    /// Where the pages of a dictionary begin in `shared`.
    dictionary: Option<(*const Dictionary, usize)>,
}

impl StringViews {
    /// No strings, room for `rows`.
    pub fn with_capacity(rows: usize) -> StringViews {
        StringViews {
            views: Vec::with_capacity(rows),
            validity: Validity::default(),
            copied: Vec::new(),
            shared: Vec::new(),
            dictionary: None,
        }
    }

    /// Appends NULLs.
    pub fn append_nulls(&mut self, count: usize) {
        self.views.resize(self.views.len() + count, 0);
        self.validity.append(false, count);
    }

    /// Appends the column's strings at these positions of a chunk.
    pub fn append_run<P: Position>(&mut self, chunk: &Chunk, column: ColumnId, run: &[P]) {
        self.validity.append_run(chunk.column(column), run);
        let data = chunk.columns.get(column.index()).map(|c| (&c.data, c.nulls()));
        match data {
            Some((ColumnData::Codes(codes, dictionary), _))
                if self.shares(dictionary, run.len()) =>
            {
                self.append_codes(codes.slice(chunk.rows()), dictionary, run);
            }
            Some((ColumnData::Strings(heap), _)) if run.len() >= LEAST_SHARED => {
                self.append_heap(heap, run);
            }
            Some((ColumnData::Absent, _)) => self.views.resize(self.views.len() + run.len(), 0),
            Some((_, nulls)) => self.append_copies(chunk, column, nulls, run),
            None => self.append_constant(chunk, column, run.len()),
        }
    }

    /// Whether a run of so many strings of a dictionary should name its pages: they are shared once.
    fn shares(&self, dictionary: &Dictionary, run: usize) -> bool {
        let is_shared = self.dictionary.is_some_and(|(known, _)| std::ptr::eq(known, dictionary));
        is_shared || run >= LEAST_SHARED
    }

    fn append_codes<P: Position>(
        &mut self,
        codes: Unsigned<'_>,
        dictionary: &Dictionary,
        run: &[P],
    ) {
        let base = self.share(dictionary);
        let view = |position: &P| view_of(codes.get(position.offset()), dictionary, base);
        self.views.extend(run.iter().map(view));
    }

    /// Strings of these codes, none of which is NULL.
    pub fn of_codes(codes: &[u32], dictionary: &Dictionary) -> ArrayRef {
        let mut views = StringViews::with_capacity(codes.len());
        let base = views.share(dictionary);
        views.views.extend(codes.iter().map(|&code| view_of(code, dictionary, base)));
        views.validity.append(true, codes.len());
        views.finish()
    }

    /// Where the pages of a dictionary begin among the buffers.
    fn share(&mut self, dictionary: &Dictionary) -> usize {
        match self.dictionary {
            Some((known, base)) if std::ptr::eq(known, dictionary) => base,
            _ => {
                let base = self.shared.len() + 1;
                self.shared.extend(dictionary.buffers());
                self.dictionary = Some((dictionary, base));
                base
            }
        }
    }

    fn append_heap<P: Position>(&mut self, heap: &Heap, run: &[P]) {
        let last = run.iter().map(|position| position.offset()).max().unwrap_or(0);
        let strings = heap.slice(last + 1, true);
        self.shared.push(heap.bytes.arrow(strings.heap().len()));
        let buffer = self.shared.len() as u32;
        self.views.extend(run.iter().map(|position| {
            let row = position.offset();
            make_view(strings.bytes(row), buffer, strings.offsets()[row])
        }));
    }

    fn append_copies<P: Position>(
        &mut self,
        chunk: &Chunk,
        column: ColumnId,
        nulls: Nulls<'_>,
        run: &[P],
    ) {
        for position in run {
            let text = match chunk.cell(column, position.offset() as u32) {
                ValueRef::Text(text) if !nulls.is_null(position.offset()) => text,
                _ => "",
            };
            let view = self.copy(text);
            self.views.push(view);
        }
    }

    fn append_constant(&mut self, chunk: &Chunk, column: ColumnId, count: usize) {
        let view = match chunk.cell(column, 0).to_owned() {
            Value::Text(text) => self.copy(&text),
            _ => 0,
        };
        self.views.resize(self.views.len() + count, view);
    }

    fn copy(&mut self, text: &str) -> u128 {
        let offset = self.copied.len() as u32;
        if text.len() > INLINE {
            self.copied.extend_from_slice(text.as_bytes());
        }
        make_view(text.as_bytes(), 0, offset)
    }

    /// The array.
    pub fn finish(self) -> ArrayRef {
        let mut buffers = Vec::with_capacity(self.shared.len() + 1);
        buffers.push(Buffer::from_vec(self.copied));
        buffers.extend(self.shared);
        let (views, nulls) = (ScalarBuffer::from(self.views), self.validity.finish());
        // SAFETY: every view is inline or names bytes of a `str` inside one of the buffers, which
        // hold what chunks, dictionaries and `copy` appended whole; checking again would cost a
        // pass over all bytes.
        Arc::new(unsafe { StringViewArray::new_unchecked(views, buffers, nulls) })
    }
}

/// The view of a code's string; `base` is where the dictionary's pages begin.
#[inline(always)]
fn view_of(code: u32, dictionary: &Dictionary, base: usize) -> u128 {
    let view = u128::from_le_bytes(*dictionary.view(code));
    match view as u32 as usize {
        0..=INLINE => view,
        _ => view + ((base as u128) << 64),
    }
}
