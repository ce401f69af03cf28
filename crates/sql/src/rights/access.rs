//! Whose an object is, and what was said about it: the value of one entry.

use std::collections::BTreeMap;

use super::acl::AclItem;
use super::acl::IsMine;
use super::{Acl, DATABASE_OWNER, FIRST, ObjectKind, PUBLIC, Privileges, RoleId};

/// What somebody can have rights on. Tables, views and sequences share one space of names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Object {
    /// A table, a view or a sequence of `public`.
    Relation(String),
    /// A schema.
    Schema(String),
    /// The database.
    Database,
}

/// Keys of what was said about objects begin so.
pub const OBJECT_KEYS: &str = "rights/object/";

impl Object {
    /// The key of its entry.
    pub fn key(&self) -> String {
        match self {
            Object::Relation(name) => format!("{OBJECT_KEYS}relation/{name}"),
            Object::Schema(name) => format!("{OBJECT_KEYS}schema/{name}"),
            Object::Database => format!("{OBJECT_KEYS}database"),
        }
    }

    /// The object of a key.
    pub fn of_key(key: &str) -> Option<Object> {
        match key.strip_prefix(OBJECT_KEYS)?.split_once('/') {
            Some(("relation", name)) => Some(Object::Relation(name.to_owned())),
            Some(("schema", name)) => Some(Object::Schema(name.to_owned())),
            None => Some(Object::Database),
            Some(_) => None,
        }
    }
}

/// An object's owner and lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whose it is.
    pub owner: RoleId,
    /// `None`: nobody has said anything.
    pub acl: Option<Acl>,
    /// Of columns, by their number, counted from 1.
    pub columns: BTreeMap<i16, Acl>,
}

impl Access {
    /// An object of which nobody has said anything.
    pub fn of(owner: RoleId) -> Access {
        Access { owner, acl: None, columns: BTreeMap::new() }
    }

    /// What an object has that has no entry.
    pub fn usual(object: &Object) -> Access {
        let may = |grantee, owner, letters| AclItem {
            grantee,
            grantor: owner,
            privileges: Privileges::of_letters(letters).expect("letters of privileges"),
            options: Privileges::NONE,
        };
        match object {
            Object::Schema(name) => {
                let owner = if name == "public" { DATABASE_OWNER } else { FIRST };
                let acl = Acl::of(vec![may(owner, owner, "UC"), may(PUBLIC, owner, "U")]);
                Access { acl: Some(acl), ..Access::of(owner) }
            }
            _ => Access::of(FIRST),
        }
    }

    /// The list that holds, said or not.
    pub fn list(&self, kind: ObjectKind) -> Acl {
        self.acl.clone().unwrap_or_else(|| Acl::usual(kind, self.owner))
    }

    /// What somebody may do with the whole object.
    pub fn held(&self, kind: ObjectKind, is_mine: IsMine<'_>) -> Privileges {
        match &self.acl {
            Some(acl) => acl.held(is_mine),
            None if is_mine(self.owner) => kind.known(),
            None => kind.usual_of_public(),
        }
    }

    /// What somebody may do with one column, beside what the whole object gives.
    pub fn held_of_column(&self, column: i16, is_mine: IsMine<'_>) -> Privileges {
        self.columns.get(&column).map_or(Privileges::NONE, |acl| acl.held(is_mine))
    }

    /// What somebody may do with some column, whichever.
    pub fn held_of_any_column(&self, is_mine: IsMine<'_>) -> Privileges {
        let all = self.columns.values().map(|acl| acl.held(is_mine));
        all.fold(Privileges::NONE, Privileges::with)
    }

    /// All its lists.
    pub fn lists(&mut self) -> impl Iterator<Item = &mut Acl> {
        self.acl.iter_mut().chain(self.columns.values_mut())
    }

    /// Whether a role is named in a list.
    pub fn names(&self, role: RoleId) -> bool {
        self.acl.iter().chain(self.columns.values()).any(|acl| acl.names(role))
    }

    /// Gives it to another owner.
    pub fn change_owner(&mut self, new: RoleId) {
        let old = std::mem::replace(&mut self.owner, new);
        self.lists().for_each(|acl| acl.change_owner(old, new));
    }

    /// As its entry's value.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = format!("1\nowner {}\n", self.owner.0);
        if let Some(acl) = &self.acl {
            text.push_str(&format!("acl {}\n", acl.encode()));
        }
        for (column, acl) in &self.columns {
            text.push_str(&format!("column {column} {}\n", acl.encode()));
        }
        text.into_bytes()
    }

    /// What `encode` wrote.
    pub fn decode(bytes: &[u8]) -> Option<Access> {
        let mut lines = std::str::from_utf8(bytes).ok()?.lines();
        (lines.next()? == "1").then_some(())?;
        let owner = lines.next()?.strip_prefix("owner ")?.parse().ok()?;
        let mut access = Access::of(RoleId(owner));
        for line in lines {
            match line.split_once(' ')? {
                ("acl", items) => access.acl = Some(Acl::decode(items)?),
                ("column", rest) => {
                    let (column, items) = rest.split_once(' ')?;
                    access.columns.insert(column.parse().ok()?, Acl::decode(items)?);
                }
                _ => return None,
            }
        }
        Some(access)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_survives_its_encoding() {
        let mut access = Access::of(RoleId(16_384));
        assert_eq!(Access::decode(&access.encode()), Some(access.clone()));
        access.acl = Some(Acl::default());
        access.columns.insert(2, Acl::usual(ObjectKind::Relation, RoleId(5)));
        assert_eq!(Access::decode(&access.encode()), Some(access));
        assert_eq!(Access::decode(b"1\n"), None);
    }

    #[test]
    fn keys_lead_back_to_objects() {
        let named = |name: &str| Object::Relation(name.to_owned());
        for object in [named("a"), named("a/b"), Object::Schema("public".into()), Object::Database]
        {
            assert_eq!(Object::of_key(&object.key()), Some(object));
        }
    }

    #[test]
    fn public_belongs_to_whoever_owns_the_database() {
        let access = Access::usual(&Object::Schema("public".to_owned()));
        let kind = ObjectKind::Schema;
        assert_eq!(access.held(kind, &|_| false), Privileges::USAGE);
        assert_eq!(access.held(kind, &|role| role == DATABASE_OWNER), kind.known());
    }
}
