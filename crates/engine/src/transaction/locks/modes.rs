//! Modes of rows and of tables as one kind of thing, and sets of them.

use super::{LockMode, TableMode};

/// A mode in which a thing is locked: one of those of rows where the thing is a row or a key, else one of those of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Of a row, a key or the definitions.
    Row(LockMode),
    /// Of a table, or of what clients name by number.
    Table(TableMode),
}

impl From<LockMode> for Mode {
    fn from(mode: LockMode) -> Mode {
        Mode::Row(mode)
    }
}

impl From<TableMode> for Mode {
    fn from(mode: TableMode) -> Mode {
        Mode::Table(mode)
    }
}

/// Bits of the modes of tables begin here.
const TABLE: u16 = 4;

impl Mode {
    /// Whether two transactions cannot have both.
    pub fn conflicts(self, other: Mode) -> bool {
        match (self, other) {
            (Mode::Row(one), Mode::Row(other)) => one.conflicts(other),
            (Mode::Table(one), Mode::Table(other)) => one.conflicts(other),
            (Mode::Row(_), Mode::Table(_)) | (Mode::Table(_), Mode::Row(_)) => false,
        }
    }

    fn bit(self) -> u16 {
        match self {
            Mode::Row(mode) => 1 << mode as u16,
            Mode::Table(mode) => 1 << (TABLE + mode as u16),
        }
    }

    fn all() -> impl Iterator<Item = Mode> {
        use LockMode::{KeyShare, NoKeyUpdate, Share, Update};
        let of_rows = [KeyShare, Share, NoKeyUpdate, Update].into_iter().map(Mode::Row);
        of_rows.chain(TableMode::ALL.into_iter().map(Mode::Table))
    }
}

/// The modes in which somebody has a thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Modes(u16);

impl Modes {
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn with(self, mode: Mode) -> Modes {
        Modes(self.0 | mode.bit())
    }

    pub fn without(self, mode: Mode) -> Modes {
        Modes(self.0 & !mode.bit())
    }

    pub fn and(self, other: Modes) -> Modes {
        Modes(self.0 | other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Mode> {
        Mode::all().filter(move |mode| self.0 & mode.bit() != 0)
    }

    pub fn conflict(self, mode: Mode) -> bool {
        !self.is_empty() && self.iter().any(|held| held.conflicts(mode))
    }

    /// Whether they exclude all that this mode excludes.
    pub fn cover(self, mode: Mode) -> bool {
        self.0 & mode.bit() != 0
            || !self.is_empty()
                && Mode::all().filter(|other| other.conflicts(mode)).all(|o| self.conflict(o))
    }

    /// Whether one of them excludes what statements take of a table.
    pub fn is_strong(self) -> bool {
        self.iter().any(|mode| matches!(mode, Mode::Table(mode) if mode.is_strong()))
    }
}
