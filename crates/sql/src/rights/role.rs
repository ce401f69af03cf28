//! Roles: who there is, what they are by themselves, and whose members they are.

use engine::types::{Error, SqlState};

/// A role's number, for its whole life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoleId(pub u32);

/// Everybody, as grantee.
pub const PUBLIC: RoleId = RoleId(0);
/// The superuser that is there from the start.
pub const FIRST: RoleId = RoleId(10);
/// Its name.
pub const FIRST_NAME: &str = "shareddb";
/// Whoever owns the database; has no explicit members.
pub const DATABASE_OWNER: RoleId = RoleId(6171);
/// Reads everything.
pub const READ_ALL_DATA: RoleId = RoleId(6181);
/// Writes everything.
pub const WRITE_ALL_DATA: RoleId = RoleId(6182);
/// May CHECKPOINT.
pub const CHECKPOINT: RoleId = RoleId(4544);
/// Sees what other roles ask.
pub const READ_ALL_STATISTICS: RoleId = RoleId(3375);

/// Ids of roles that users make.
pub const FIRST_USER_ROLE: u32 = 16_384;

/// Roles that every PostgreSQL has.
const PREDEFINED: [(u32, &str); 12] = [
    (3373, "pg_monitor"),
    (3374, "pg_read_all_settings"),
    (3375, "pg_read_all_stats"),
    (3377, "pg_stat_scan_tables"),
    (4200, "pg_signal_backend"),
    (4544, "pg_checkpoint"),
    (4569, "pg_read_server_files"),
    (4570, "pg_write_server_files"),
    (4571, "pg_execute_server_program"),
    (6171, "pg_database_owner"),
    (6181, "pg_read_all_data"),
    (6182, "pg_write_all_data"),
];

/// A role's membership in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The other role.
    pub role: RoleId,
    /// Who has made it a member.
    pub grantor: RoleId,
    /// It may make others members.
    pub admin: bool,
}

/// A role.
#[derive(Clone, PartialEq, Eq)]
pub struct Role {
    /// Its number.
    pub id: RoleId,
    /// Its name as stored.
    pub name: String,
    /// SUPERUSER
    pub superuser: bool,
    /// INHERIT
    pub inherit: bool,
    /// CREATEROLE
    pub create_role: bool,
    /// CREATEDB
    pub create_database: bool,
    /// LOGIN
    pub login: bool,
    /// REPLICATION; kept, there is nothing to replicate to.
    pub replication: bool,
    /// BYPASSRLS; kept, there are no policies.
    pub bypass_policies: bool,
    /// CONNECTION LIMIT; -1 for none.
    pub connection_limit: i32,
    /// VALID UNTIL, in microseconds since 2000; `None` for ever.
    pub valid_until: Option<i64>,
    /// What proves its password; never the password.
    pub verifier: Option<String>,
    /// Whose member it is.
    pub memberships: Vec<Membership>,
}

impl std::fmt::Debug for Role {
    /// Verifiers are not for logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Role")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Role {
    /// A role as CREATE ROLE makes it where nothing else is said.
    pub fn new(id: RoleId, name: &str) -> Role {
        Role {
            id,
            name: name.to_owned(),
            superuser: false,
            inherit: true,
            create_role: false,
            create_database: false,
            login: false,
            replication: false,
            bypass_policies: false,
            connection_limit: -1,
            valid_until: None,
            verifier: None,
            memberships: Vec::new(),
        }
    }

    /// The superuser that is there from the start.
    pub fn first() -> Role {
        Role {
            superuser: true,
            create_role: true,
            create_database: true,
            login: true,
            replication: true,
            bypass_policies: true,
            ..Role::new(FIRST, FIRST_NAME)
        }
    }

    /// The roles that are there from the start, besides the first.
    pub fn predefined() -> impl Iterator<Item = Role> {
        PREDEFINED.into_iter().map(|(id, name)| {
            let mut role = Role::new(RoleId(id), name);
            if name == "pg_monitor" {
                let part = |id| Membership { role: RoleId(id), grantor: FIRST, admin: false };
                role.memberships = [3374, 3375, 3377].map(part).to_vec();
            }
            role
        })
    }

    /// Whether it was there before any user.
    pub fn is_pinned(&self) -> bool {
        self.id.0 < FIRST_USER_ROLE
    }

    /// The key of its entry.
    pub fn key(name: &str) -> String {
        format!("{ROLE_KEYS}{name}")
    }

    /// As its entry's value, a line per field that is not as usual. The name is the entry's key.
    pub fn encode(&self) -> Vec<u8> {
        let flags = self.flags().into_iter().map(|(flag, letter)| if flag { letter } else { '-' });
        let mut text = format!("1\nid {}\nflags {}\n", self.id.0, flags.collect::<String>());
        let mut line = |word: &str, value: String| text.push_str(&format!("{word} {value}\n"));
        if self.connection_limit >= 0 {
            line("limit", self.connection_limit.to_string());
        }
        if let Some(until) = self.valid_until {
            line("until", until.to_string());
        }
        if let Some(verifier) = &self.verifier {
            line("verifier", verifier.clone());
        }
        for Membership { role, grantor, admin } in &self.memberships {
            let admin = if *admin { " admin" } else { "" };
            line("member", format!("{} {}{admin}", role.0, grantor.0));
        }
        text.into_bytes()
    }

    fn flags(&self) -> [(bool, char); 7] {
        [
            (self.superuser, 's'),
            (self.inherit, 'i'),
            (self.create_role, 'r'),
            (self.create_database, 'd'),
            (self.login, 'l'),
            (self.replication, 'p'),
            (self.bypass_policies, 'b'),
        ]
    }

    /// What `encode` wrote; `None` for anything else.
    pub fn decode(name: &str, bytes: &[u8]) -> Option<Role> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        (lines.next()? == "1").then_some(())?;
        let mut role = Role { inherit: false, ..Role::new(PUBLIC, name) };
        for line in lines {
            let (word, value) = line.split_once(' ')?;
            match word {
                "id" => role.id = RoleId(value.parse().ok()?),
                "flags" => role.set_flags(value),
                "limit" => role.connection_limit = value.parse().ok()?,
                "until" => role.valid_until = Some(value.parse().ok()?),
                "verifier" => role.verifier = Some(value.to_owned()),
                "member" => {
                    let mut parts = value.split(' ');
                    let mut id = || parts.next()?.parse().ok().map(RoleId);
                    let (role_id, grantor) = (id()?, id()?);
                    let admin = parts.next().is_some();
                    role.memberships.push(Membership { role: role_id, grantor, admin });
                }
                _ => return None,
            }
        }
        (role.id != PUBLIC).then_some(role)
    }

    fn set_flags(&mut self, letters: &str) {
        let has = |letter| letters.contains(letter);
        self.superuser = has('s');
        self.inherit = has('i');
        self.create_role = has('r');
        self.create_database = has('d');
        self.login = has('l');
        self.replication = has('p');
        self.bypass_policies = has('b');
    }

    /// What a directory holds that knew names and verifiers only: everybody could log in.
    pub fn decode_old(name: &str, bytes: &[u8], id: RoleId) -> Option<Role> {
        let verifier = std::str::from_utf8(bytes).ok()?;
        let is_verifier = verifier.is_empty() || verifier.starts_with("SCRAM-SHA-256$");
        let verifier = Some(verifier.to_owned()).filter(|verifier| !verifier.is_empty());
        is_verifier.then(|| Role { login: true, verifier, ..Role::new(id, name) })
    }
}

/// Keys of roles begin so.
pub const ROLE_KEYS: &str = "role/";

/// 42704.
pub fn undefined_role(name: &str) -> Error {
    Error::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_survive_their_encoding() {
        let plain = Role::new(RoleId(16_384), "ann");
        let all = Role {
            id: RoleId(16_385),
            connection_limit: 3,
            valid_until: Some(-5),
            verifier: Some("SCRAM-SHA-256$4096:a$b:c".to_owned()),
            memberships: vec![
                Membership { role: RoleId(16_384), grantor: FIRST, admin: true },
                Membership { role: RoleId(3375), grantor: RoleId(16_384), admin: false },
            ],
            ..Role::first()
        };
        for role in [plain, all] {
            assert_eq!(Role::decode(&role.name, &role.encode()), Some(role));
        }
        assert_eq!(Role::decode("ann", b"2\n"), None);
        let old = Role::decode_old("ann", b"", RoleId(7)).expect("known");
        assert!(old.login && old.verifier.is_none());
        assert!(!format!("{:?}", Role::first()).contains("verifier"));
    }
}
