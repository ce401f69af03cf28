//! What can be allowed: PostgreSQL's privileges, and which of them an object of a kind knows.

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Privileges(u16);

/// Privileges as the grammar names them, with their letters in `aclitem`, in its order.
const ALL: [(&str, char); 12] = [
    ("INSERT", 'a'),
    ("SELECT", 'r'),
    ("UPDATE", 'w'),
    ("DELETE", 'd'),
    ("TRUNCATE", 'D'),
    ("REFERENCES", 'x'),
    ("TRIGGER", 't'),
    ("EXECUTE", 'X'),
    ("USAGE", 'U'),
    ("CREATE", 'C'),
    ("CONNECT", 'c'),
    ("TEMPORARY", 'T'),
];

impl Privileges {
    /// No privilege.
    pub const NONE: Privileges = Privileges(0);
    /// INSERT
    pub const INSERT: Privileges = Privileges(1);
    /// SELECT
    pub const SELECT: Privileges = Privileges(1 << 1);
    /// UPDATE
    pub const UPDATE: Privileges = Privileges(1 << 2);
    /// DELETE
    pub const DELETE: Privileges = Privileges(1 << 3);
    /// TRUNCATE
    pub const TRUNCATE: Privileges = Privileges(1 << 4);
    /// REFERENCES
    pub const REFERENCES: Privileges = Privileges(1 << 5);
    /// TRIGGER
    pub const TRIGGER: Privileges = Privileges(1 << 6);
    /// USAGE
    pub const USAGE: Privileges = Privileges(1 << 8);
    /// CREATE
    pub const CREATE: Privileges = Privileges(1 << 9);
    /// CONNECT
    pub const CONNECT: Privileges = Privileges(1 << 10);
    /// TEMPORARY
    pub const TEMPORARY: Privileges = Privileges(1 << 11);

    /// The privilege of that name, whatever object it is for; `TEMP` is TEMPORARY.
    pub fn named(name: &str) -> Option<Privileges> {
        let name = if name.eq_ignore_ascii_case("TEMP") { "TEMPORARY" } else { name };
        let found = ALL.iter().position(|known| known.0.eq_ignore_ascii_case(name));
        found.map(|place| Privileges(1 << place))
    }

    /// The privileges of letters; `None` where one is no letter of a privilege.
    pub fn of_letters(letters: &str) -> Option<Privileges> {
        let bit = |letter| ALL.iter().position(|known| known.1 == letter);
        letters
            .chars()
            .try_fold(Privileges::NONE, |set, letter| Some(set.with(Privileges(1 << bit(letter)?))))
    }

    /// Each privilege of the set by itself, with its name and letter.
    pub fn each(self) -> impl Iterator<Item = (Privileges, &'static str, char)> {
        let known = ALL.iter().enumerate().map(|(i, (name, letter))| (i, *name, *letter));
        known.filter_map(move |(place, name, letter)| {
            let one = Privileges(1 << place);
            self.meets(one).then_some((one, name, letter))
        })
    }

    /// The letters of the set.
    pub fn letters(self) -> String {
        self.each().map(|(_, _, letter)| letter).collect()
    }

    /// Both sets together.
    pub const fn with(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    /// What is not in the other set.
    pub const fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    /// What is in both sets.
    pub const fn and(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }

    /// Whether any privilege is in both.
    pub const fn meets(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all of the other set is here.
    pub const fn holds(self, other: Privileges) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether it is no privilege at all.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// What privileges are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A table or a view.
    Relation,
    /// A column of one.
    Column,
    /// A sequence.
    Sequence,
    /// A schema.
    Schema,
    /// The database.
    Database,
}

impl ObjectKind {
    /// The privileges that objects of the kind know.
    pub const fn known(self) -> Privileges {
        use Privileges as P;
        match self {
            ObjectKind::Relation => P::INSERT
                .with(P::SELECT)
                .with(P::UPDATE)
                .with(P::DELETE)
                .with(P::TRUNCATE)
                .with(P::REFERENCES)
                .with(P::TRIGGER),
            ObjectKind::Column => P::INSERT.with(P::SELECT).with(P::UPDATE).with(P::REFERENCES),
            ObjectKind::Sequence => P::USAGE.with(P::SELECT).with(P::UPDATE),
            ObjectKind::Schema => P::USAGE.with(P::CREATE),
            ObjectKind::Database => P::CREATE.with(P::TEMPORARY).with(P::CONNECT),
        }
    }

    /// What everybody may do with an object of which nobody has said anything.
    pub const fn usual_of_public(self) -> Privileges {
        match self {
            ObjectKind::Database => Privileges::TEMPORARY.with(Privileges::CONNECT),
            _ => Privileges::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_in_postgresqls_order() {
        assert_eq!(ObjectKind::Relation.known().letters(), "arwdDxt");
        assert_eq!(ObjectKind::Schema.known().letters(), "UC");
        assert_eq!(ObjectKind::Database.known().letters(), "CcT");
        assert_eq!(ObjectKind::Sequence.known().letters(), "rwU");
        assert_eq!(Privileges::of_letters("arwdDxt"), Some(ObjectKind::Relation.known()));
        assert_eq!(Privileges::of_letters("z"), None);
        assert_eq!(Privileges::named("temp"), Some(Privileges::TEMPORARY));
    }
}
