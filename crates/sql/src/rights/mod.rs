//! Who may do what: roles, owners, what was granted, and the settings that roles begin with.
//!
//! Entries of the engine's key-value catalog come in ([`Rights::read`]), answers to "may this role do that" go out. A
//! [`Rights`] is immutable and part of one [`Catalog`](crate::catalog::Catalog): each change gives a new catalog with a
//! higher version, so that a statement that compares versions has seen every REVOKE. `needs` says what a statement needs,
//! `session::rights` asks for it whenever one runs. Absent here: changing anything (`statement::rights`), who is who at the
//! door (the server).

mod access;
mod acl;
mod audit;
mod check;
mod kept;
mod needs;
mod privilege;
mod role;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use engine::types::{Error, Result, SqlState};

use kept::KEPT_KEYS;

pub use access::{Access, OBJECT_KEYS, Object};
pub use acl::{Acl, AclItem};
pub use audit::{Audit, Refusal};
pub use check::{Holder, demand, demand_owner, kind_of, refused};
pub use kept::{KeptKey, KeptSettings};
pub use needs::{Need, Needs, Subject, columns_of, needs_of, query_needs};
pub use privilege::{ObjectKind, Privileges};
pub use role::{
    CHECKPOINT, DATABASE_OWNER, FIRST, FIRST_NAME, FIRST_USER_ROLE, Membership, PUBLIC,
    READ_ALL_DATA, READ_ALL_STATISTICS, ROLE_KEYS, Role, RoleId, WRITE_ALL_DATA, undefined_role,
};

/// Keys of default privileges begin so.
pub const DEFAULT_KEYS: &str = "rights/default/";

/// The entry that holds the number of the next role: a number is never given twice.
pub const NEXT_ROLE: &str = "rights/next role";

/// What new objects get: of whom, where, and of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefaultKey {
    /// Who makes the object.
    pub role: RoleId,
    /// In `public` only, rather than anywhere.
    pub in_public: bool,
    /// Its kind.
    pub kind: ObjectKind,
}

impl DefaultKey {
    /// The key of its entry.
    pub fn key(self) -> String {
        let place = if self.in_public { "public" } else { "anywhere" };
        format!("{DEFAULT_KEYS}{}/{place}/{}", self.role.0, self.letter())
    }

    /// The kind's letter in `pg_default_acl`.
    pub fn letter(self) -> char {
        match self.kind {
            ObjectKind::Sequence => 'S',
            ObjectKind::Schema => 'n',
            _ => 'r',
        }
    }

    fn of_key(key: &str) -> Option<DefaultKey> {
        let mut parts = key.strip_prefix(DEFAULT_KEYS)?.split('/');
        let role = RoleId(parts.next()?.parse().ok()?);
        let in_public = parts.next()? == "public";
        let kind = match parts.next()? {
            "S" => ObjectKind::Sequence,
            "n" => ObjectKind::Schema,
            _ => ObjectKind::Relation,
        };
        Some(DefaultKey { role, in_public, kind })
    }
}

/// All roles, owners and lists at one moment.
#[derive(Debug, Default)]
pub struct Rights {
    roles: BTreeMap<RoleId, Role>,
    by_name: HashMap<String, RoleId>,
    objects: BTreeMap<Object, Access>,
    defaults: BTreeMap<DefaultKey, Acl>,
    kept: BTreeMap<KeptKey, KeptSettings>,
    next_role: u32,
}

impl Rights {
    /// Reads entries, later ones in the place of earlier ones with the same key; `None` removes one.
    pub fn read<'a>(entries: impl IntoIterator<Item = (&'a str, Option<&'a [u8]>)>) -> Rights {
        let mut rights = Rights { next_role: FIRST_USER_ROLE, ..Rights::default() };
        let first = std::iter::once(Role::first());
        first.chain(Role::predefined()).for_each(|role| rights.put_role(role));
        for (key, value) in entries {
            rights.apply(key, value);
        }
        rights
    }

    /// Whether an entry's key is one of these.
    pub fn concerns(key: &str) -> bool {
        let own = [ROLE_KEYS, OBJECT_KEYS, DEFAULT_KEYS, KEPT_KEYS, NEXT_ROLE];
        own.iter().any(|own| key.starts_with(own))
    }

    fn apply(&mut self, key: &str, value: Option<&[u8]>) {
        if let Some(name) = key.strip_prefix(ROLE_KEYS) {
            self.apply_role(name, value);
        } else if let Some(object) = Object::of_key(key) {
            // What cannot be read is nobody's but the first role's.
            let access =
                value.map(|value| Access::decode(value).unwrap_or_else(|| Access::of(FIRST)));
            match access {
                Some(access) => drop(self.objects.insert(object, access)),
                None => drop(self.objects.remove(&object)),
            }
        } else if let Some(default) = DefaultKey::of_key(key) {
            let text = value.and_then(|value| std::str::from_utf8(value).ok());
            match text.and_then(Acl::decode) {
                Some(acl) => drop(self.defaults.insert(default, acl)),
                None => drop(self.defaults.remove(&default)),
            }
        } else if let Some(kept) = KeptKey::of_key(key) {
            match value.and_then(KeptSettings::decode) {
                Some(settings) => drop(self.kept.insert(kept, settings)),
                None => drop(self.kept.remove(&kept)),
            }
        } else if key == NEXT_ROLE {
            let text = value.and_then(|value| std::str::from_utf8(value).ok());
            let next = text.and_then(|text| text.parse().ok()).unwrap_or(FIRST_USER_ROLE);
            self.next_role = self.next_role.max(next);
        }
    }

    fn apply_role(&mut self, name: &str, value: Option<&[u8]>) {
        let Some(value) = value else {
            if let Some(id) = self.by_name.remove(name) {
                self.roles.remove(&id);
            }
            return;
        };
        let known = self.by_name.get(name).copied();
        let id = known.unwrap_or(RoleId(self.next_role));
        let read = Role::decode(name, value).or_else(|| {
            let old = Role::decode_old(name, value, id)?;
            let first = Role { verifier: old.verifier.clone(), ..Role::first() };
            Some(if name == FIRST_NAME { first } else { old })
        });
        if let Some(role) = read {
            self.put_role(role);
        }
    }

    fn put_role(&mut self, role: Role) {
        self.next_role = self.next_role.max(role.id.0.saturating_add(1)).max(FIRST_USER_ROLE);
        self.by_name.insert(role.name.clone(), role.id);
        self.roles.insert(role.id, role);
    }

    /// Whether roles are the same, and what was said of schemas and the database.
    pub fn agrees_on_roles(&self, other: &Rights) -> bool {
        let is_beside = |object: &Object| !matches!(object, Object::Relation(_));
        let beside = |rights: &Rights| -> Vec<(Object, Access)> {
            let said = rights.objects.iter().filter(|(object, _)| is_beside(object));
            said.map(|(object, access)| (object.clone(), access.clone())).collect()
        };
        self.roles == other.roles && beside(self) == beside(other)
    }

    /// The number of the next role.
    pub fn next_role(&self) -> RoleId {
        RoleId(self.next_role)
    }

    /// All roles, by number.
    pub fn roles(&self) -> impl Iterator<Item = &Role> {
        self.roles.values()
    }

    /// A role by name; 42704.
    pub fn role(&self, name: &str) -> Result<&Role> {
        self.find(name).ok_or_else(|| undefined_role(name))
    }

    /// A role by name.
    pub fn find(&self, name: &str) -> Option<&Role> {
        self.by_name.get(name).and_then(|id| self.roles.get(id))
    }

    /// A role by number.
    pub fn role_of(&self, id: RoleId) -> Option<&Role> {
        self.roles.get(&id)
    }

    /// A role's name, PUBLIC's too; its number where nothing has it any more.
    pub fn name_of(&self, id: RoleId) -> String {
        match self.roles.get(&id) {
            Some(role) => role.name.clone(),
            None if id == PUBLIC => "PUBLIC".to_owned(),
            None => id.0.to_string(),
        }
    }

    /// Whether a role is a superuser.
    pub fn is_superuser(&self, id: RoleId) -> bool {
        self.roles.get(&id).is_some_and(|role| role.superuser)
    }

    /// The roles whose privileges a role has, itself among them: by way of those that inherit.
    pub fn reach(&self, role: RoleId) -> BTreeSet<RoleId> {
        self.closure(role, |role| role.inherit)
    }

    /// The roles that a role is a member of, itself among them, whether it inherits or not.
    pub fn memberships(&self, role: RoleId) -> BTreeSet<RoleId> {
        self.closure(role, |_| true)
    }

    fn closure(&self, role: RoleId, passes: impl Fn(&Role) -> bool) -> BTreeSet<RoleId> {
        let database_owner = self.access(&Object::Database).owner;
        let mut found = BTreeSet::from([role]);
        let mut waiting = vec![role];
        while let Some(id) = waiting.pop() {
            let Some(known) = self.roles.get(&id).filter(|role| passes(role)) else { continue };
            let implicit = (id == database_owner).then_some(DATABASE_OWNER);
            let others = known.memberships.iter().map(|membership| membership.role);
            waiting.extend(others.chain(implicit).filter(|other| found.insert(*other)));
        }
        found
    }

    /// Whether a role may make others members of another one.
    pub fn is_admin_of(&self, role: RoleId, of: RoleId) -> bool {
        let reached = self.memberships(role);
        reached.iter().filter_map(|id| self.roles.get(id)).any(|known| {
            known.memberships.iter().any(|membership| membership.role == of && membership.admin)
        })
    }

    /// What is known of an object.
    pub fn access(&self, object: &Object) -> Access {
        self.said(object).cloned().unwrap_or_else(|| Access::usual(object))
    }

    /// What was said of an object; `None` where nothing was.
    pub fn said(&self, object: &Object) -> Option<&Access> {
        self.objects.get(object)
    }

    /// All objects of which something was said.
    pub fn objects(&self) -> impl Iterator<Item = (&Object, &Access)> {
        self.objects.iter()
    }

    /// A relation's owner.
    pub fn owner_of(&self, relation: &str) -> RoleId {
        // Looked up by a key of its own: relations are asked for by name on every path.
        self.said(&Object::Relation(relation.to_owned())).map_or(FIRST, |access| access.owner)
    }

    /// All default privileges.
    pub fn defaults(&self) -> impl Iterator<Item = (DefaultKey, &Acl)> {
        self.defaults.iter().map(|(key, acl)| (*key, acl))
    }

    /// Default privileges as they were said.
    pub fn default_of(&self, key: DefaultKey) -> Option<&Acl> {
        self.defaults.get(&key)
    }

    /// What a new object of a role begins with.
    pub fn of_new(&self, role: RoleId, kind: ObjectKind) -> Access {
        let key = |in_public| DefaultKey { role, in_public, kind };
        let anywhere = self.defaults.get(&key(false));
        let here = self.defaults.get(&key(true)).filter(|_| kind != ObjectKind::Schema);
        let usual = Acl::usual(kind, role);
        let mut acl = anywhere.cloned().unwrap_or_else(|| usual.clone());
        for item in here.map_or(&[][..], Acl::items) {
            // By the owner itself, which is in no circle.
            let _ = acl.grant(role, *item);
        }
        let said = (acl != usual).then_some(acl);
        Access { acl: said, ..Access::of(role) }
    }

    /// An item as PostgreSQL prints it: `ann=r*w/shareddb`.
    pub fn item_text(&self, item: &AclItem) -> String {
        let name = |id| match id {
            PUBLIC => String::new(),
            id => quoted_role(&self.name_of(id)),
        };
        format!("{}={}/{}", name(item.grantee), item.letters(), name(item.grantor))
    }
}

/// A role's name inside an item: quoted where it is not letters, digits and underscores.
fn quoted_role(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// 42501, in PostgreSQL's words.
pub fn denied(kind: &str, name: &str) -> Error {
    Error::new(SqlState::InsufficientPrivilege, format!("permission denied for {kind} {name}"))
}

/// 42501: only its owner may.
pub fn not_owner(kind: &str, name: &str) -> Error {
    Error::new(SqlState::InsufficientPrivilege, format!("must be owner of {kind} {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(id: u32, name: &str, inherit: bool, of: &[u32]) -> Role {
        let member =
            |id: &u32| Membership { role: RoleId(*id), grantor: FIRST, admin: *id == 1001 };
        let memberships = of.iter().map(member).collect();
        Role { inherit, memberships, ..Role::new(RoleId(id), name) }
    }

    fn rights(roles: &[Role]) -> Rights {
        let entries: Vec<_> = roles.iter().map(|r| (Role::key(&r.name), r.encode())).collect();
        Rights::read(entries.iter().map(|(key, value)| (key.as_str(), Some(value.as_slice()))))
    }

    #[test]
    fn who_does_not_inherit_is_a_member_all_the_same() {
        let rights = rights(&[
            role(1001, "a", true, &[]),
            role(1002, "b", false, &[1001]),
            role(1003, "c", true, &[1002]),
        ]);
        let reach: Vec<u32> = rights.reach(RoleId(1003)).into_iter().map(|id| id.0).collect();
        assert_eq!(reach, [1002, 1003]);
        assert_eq!(rights.memberships(RoleId(1003)).len(), 3);
        assert!(rights.is_admin_of(RoleId(1003), RoleId(1001)));
        assert!(!rights.is_admin_of(RoleId(1003), RoleId(1002)));
        assert!(rights.reach(FIRST).contains(&DATABASE_OWNER));
    }

    #[test]
    fn what_an_old_directory_holds_are_roles_that_log_in() {
        let rights = Rights::read([
            ("role/ann", Some(&b""[..])),
            ("role/shareddb", Some(&b"SCRAM-SHA-256$x"[..])),
        ]);
        assert!(rights.role("ann").expect("there").login);
        let first = rights.role("shareddb").expect("there");
        assert!(first.superuser && first.verifier.is_some());
        assert!(rights.role("bob").is_err());
    }

    #[test]
    fn numbers_of_roles_are_never_given_twice() {
        let gone = rights(&[role(20_000, "a", true, &[])]);
        assert_eq!(gone.next_role(), RoleId(20_001));
        let later = Rights::read([(NEXT_ROLE, Some(&b"20001"[..]))]);
        assert_eq!(later.next_role(), RoleId(20_001));
    }

    #[test]
    fn new_objects_begin_with_the_defaults() {
        let key = DefaultKey { role: FIRST, in_public: true, kind: ObjectKind::Relation };
        let rights = Rights::read([(key.key().as_str(), Some(&b"20000=r/10"[..]))]);
        let access = rights.of_new(FIRST, ObjectKind::Relation);
        let acl = access.acl.expect("said");
        let texts: Vec<String> = acl.items().iter().map(|item| rights.item_text(item)).collect();
        assert_eq!(texts, ["shareddb=arwdDxt/shareddb", "20000=r/shareddb"]);
        assert_eq!(rights.of_new(FIRST, ObjectKind::Sequence).acl, None);
    }
}
