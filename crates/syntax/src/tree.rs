//! What a text is to PostgreSQL's grammar.

use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;

use crate::arena::Arena;
use crate::library;
use crate::raw::Raw;
use crate::{Node, Nodes, Notice, RawStmt};

/// The raw parse tree of a text, which may have many statements or none. It owns the memory of its nodes, which goes at once with it.
pub struct Tree {
    arena: Arena,
    statements: Option<NonNull<c_void>>,
    notices: Vec<Notice>,
    text_bytes: usize,
}

// SAFETY: the pointer is into the arena, which is both; nobody writes to a tree once it is parsed.
unsafe impl Send for Tree {}
// SAFETY: as above.
unsafe impl Sync for Tree {}

impl Tree {
    pub(crate) fn new(raw: library::Raw, text_bytes: usize) -> Tree {
        let library::Raw { arena, statements, notices } = raw;
        Tree { arena, statements, notices, text_bytes }
    }

    /// The statements in order. Empty ones, `;;` or a comment alone, are none.
    pub fn statements(&self) -> impl ExactSizeIterator<Item = Statement<'_>> {
        // SAFETY: it is a list of the grammar, and lives as long as `self`.
        let list = unsafe { Nodes::new(self.statements.map(|list| Raw::new(list))) };
        list.iter().map(|element| match element {
            Node::RawStmt(raw) => Statement::new(raw, self.text_bytes),
            other => panic!("{} in the list of statements", other.name()),
        })
    }

    /// What PostgreSQL says of the text beside its answer.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// The memory of its nodes.
    pub fn memory_bytes(&self) -> usize {
        self.arena.bytes()
    }
}

impl fmt::Debug for Tree {
    /// The outlines of its statements, see `outline`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.statements().map(|statement| statement.node)).finish()
    }
}

/// A statement of a text.
#[derive(Clone, Debug)]
pub struct Statement<'t> {
    /// What it is.
    pub node: Node<'t>,
    /// Its bytes in the text, from its first word to the end of its last, or to what stands before the `;`.
    pub range: Range<usize>,
}

impl<'t> Statement<'t> {
    fn new(raw: RawStmt<'t>, text_bytes: usize) -> Statement<'t> {
        let node = raw.stmt().expect("the grammar lists no empty statements");
        let start = raw.stmt_location().unwrap_or(0);
        // The last statement of a text without `;` has no length.
        let bytes = raw.stmt_len().filter(|bytes| *bytes > 0);
        let end = bytes.map_or(text_bytes, |bytes| start + bytes);
        Statement { node, range: start..end }
    }
}
