//! The parts of a pattern that a match is cut into: those with groups, and those that prefer otherwise than what is around them.

use super::expression::Id;

/// A part's place in the list of a pattern.
pub(super) type PartId = u32;

/// What a part prefers, and what is in it. As PostgreSQL does, it hangs on these whether parts are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    /// Prefers its longest match.
    pub(super) is_long: bool,
    /// Prefers its shortest match.
    pub(super) is_short: bool,
    /// Parts within it prefer otherwise than each other.
    pub(super) is_mixed: bool,
    /// A group is in it.
    pub(super) captures: bool,
    /// A back reference is in it.
    pub(super) refers: bool,
}

impl Traits {
    pub(super) const LONG: Self =
        Self { is_long: true, is_short: false, is_mixed: false, captures: false, refers: false };
    pub(super) const SHORT: Self = Self { is_long: false, is_short: true, ..Self::LONG };

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            is_long: self.is_long || other.is_long,
            is_short: self.is_short || other.is_short,
            is_mixed: self.is_mixed || other.is_mixed,
            captures: self.captures || other.captures,
            refers: self.refers || other.refers,
        }
    }

    /// What a part inherits from those within it.
    pub(super) fn inherited(self) -> Self {
        let is_mixed = self.is_mixed || (self.is_long && self.is_short);
        Self { is_long: false, is_short: false, is_mixed, ..self }
    }

    /// Of two parts one behind the other: the first that prefers anything decides.
    pub(super) fn followed_by(self, other: Self) -> Self {
        let deciding = if self.is_long || self.is_short { self } else { other };
        let inherited = self.or(other).inherited();
        Self { is_long: deciding.is_long, is_short: deciding.is_short, ..inherited }
    }

    /// Whether a match of it must be cut into parts.
    pub(super) fn must_be_cut(self) -> bool {
        self.is_mixed || self.captures || self.refers
    }

    pub(super) fn has_preference(self) -> bool {
        self.is_long || self.is_short || self.is_mixed
    }

    /// Its preference alone.
    pub(super) fn preference(self) -> Self {
        Self { is_long: self.is_long, is_short: self.is_short, ..Self::default() }
    }
}

/// How a match of a part is cut.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Not at all.
    Plain,
    /// What the group matched, so many times.
    Reference { group: u32, least: u32, most: Option<u32> },
    /// One behind the other.
    Sequence(PartId, PartId),
    /// The first of these that can match all of it.
    Either(Box<[PartId]>),
    /// The least and most repetitions.
    Repeat(PartId, u32, Option<u32>),
    /// A group that is nothing but another.
    Group(PartId),
}

/// A part of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) traits: Traits,
    /// The number of the group that it is; 0 where it is none.
    pub(super) group: u32,
    /// What it matches.
    pub(super) expression: Id,
    /// The groups in it, by number: from the first up to the second without it.
    pub(super) groups: (u32, u32),
}
