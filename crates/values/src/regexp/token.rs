//! The tokens of patterns.

use super::class::Class;

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Before the first.
    Start,
    End,
    /// A character that stands for itself.
    Plain(u32),
    /// `.`
    Any,
    Or,
    /// `*`, `+`, `?`: the least and most repetitions, and whether it takes as much as it can.
    Repeat(u32, Option<u32>, bool),
    /// `{`
    BoundOpen,
    Digit(u32),
    Comma,
    /// `}`, and whether it takes as much as it can.
    BoundClose(bool),
    /// `(` that captures, and `(?:`.
    Open {
        captures: bool,
    },
    Close,
    Anchor(Anchor),
    /// `(?=` and the like.
    Look {
        is_ahead: bool,
        is_positive: bool,
    },
    BackReference(u32),
    /// `[` and `[^`.
    Bracket {
        is_complement: bool,
    },
    /// `\d` and the like; with a capital its complement.
    Class(Class, bool),
    /// `]`
    BracketClose,
    /// `-` in brackets.
    Range,
    /// `[.`, `[=`, `[:`, and what ends them.
    NameOpen(u8),
    NameClose,
}

/// What matches a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Anchor {
    /// `^`
    Start,
    /// `$`
    End,
    /// `\A`
    TextStart,
    /// `\Z`
    TextEnd,
    /// `\m`
    WordStart,
    /// `\M`
    WordEnd,
    /// `\y`
    WordEdge,
    /// `\Y`
    NoWordEdge,
}
