//! Kept settings: what ALTER ROLE and ALTER DATABASE SET have said, and sessions begin with.

use super::{PUBLIC, Rights, RoleId};

/// Keys of kept settings begin so.
pub const KEPT_KEYS: &str = "rights/setting/";

/// Whose settings are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptKey {
    /// Of sessions of this role; PUBLIC: of everybody's. Its number, so that names may change.
    pub role: RoleId,
    /// In the database, rather than in any.
    pub in_database: bool,
}

impl KeptKey {
    /// The key of its entry.
    pub fn key(self) -> String {
        let place = if self.in_database { "database" } else { "anywhere" };
        format!("{KEPT_KEYS}{}/{place}", self.role.0)
    }

    /// What `key` wrote.
    pub fn of_key(key: &str) -> Option<KeptKey> {
        let (role, place) = key.strip_prefix(KEPT_KEYS)?.split_once('/')?;
        Some(KeptKey { role: RoleId(role.parse().ok()?), in_database: place == "database" })
    }
}

/// Settings with their values as they were said, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptSettings(Vec<(String, String)>);

impl KeptSettings {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a setting is among them.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// Keeps a value, in the place of the one before.
    pub fn put(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, before)) => *before = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Keeps only those settings, by name.
    pub fn retain(&mut self, stays: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _)| stays(name));
    }

    /// `name=value` of each, as `pg_db_role_setting` has them.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// As its entry's value: `name=value`, each with a NUL, which is in no text, behind it. A value may have several lines.
    pub fn encode(&self) -> Vec<u8> {
        let settings: String = self.texts().iter().map(|text| format!("{text}\0")).collect();
        format!("1\n{settings}").into_bytes()
    }

    /// What `encode` wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<KeptSettings> {
        let settings = std::str::from_utf8(bytes).ok()?.strip_prefix("1\n")?;
        let setting = |text: &str| {
            let (name, value) = text.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        settings.split_terminator('\0').map(setting).collect::<Option<_>>().map(KeptSettings)
    }
}

impl Rights {
    /// All kept settings.
    pub fn kept(&self) -> impl Iterator<Item = (KeptKey, &KeptSettings)> {
        self.kept.iter().map(|(key, settings)| (*key, settings))
    }

    /// Settings as they were said.
    pub fn kept_of(&self, key: KeptKey) -> Option<&KeptSettings> {
        self.kept.get(&key)
    }

    /// What a session of a role begins with, in the order in which it applies: later values take the place of earlier ones.
    pub fn kept_for(&self, role: RoleId) -> impl Iterator<Item = (&str, &str)> {
        let of = [(PUBLIC, false), (PUBLIC, true), (role, false), (role, true)];
        let keys = of.map(|(role, in_database)| KeptKey { role, in_database });
        keys.into_iter().filter_map(|key| self.kept_of(key)).flat_map(KeptSettings::iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(all: &[(&str, &str)]) -> KeptSettings {
        let mut settings = KeptSettings::default();
        all.iter().for_each(|(name, value)| settings.put(name, (*value).to_owned()));
        settings
    }

    #[test]
    fn settings_survive_their_encoding() {
        for all in [
            settings(&[]),
            settings(&[("work_mem", "")]),
            settings(&[("my.text", "a=b\n c\\"), ("TimeZone", "UTC")]),
        ] {
            assert_eq!(KeptSettings::decode(&all.encode()), Some(all));
        }
        assert_eq!(KeptSettings::decode(b"2\nwork_mem=1\0"), None);
        assert_eq!(KeptSettings::decode(b"1\nwork_mem\0"), None);
    }

    #[test]
    fn a_value_takes_the_place_of_the_one_before() {
        let mut kept = settings(&[("work_mem", "1MB"), ("jit", "on"), ("WORK_MEM", "2MB")]);
        assert_eq!(kept.texts(), ["work_mem=2MB", "jit=on"]);
        kept.retain(|name| name != "work_mem");
        assert!(kept.has("JIT") && !kept.has("work_mem"));
    }

    #[test]
    fn what_is_said_of_less_comes_later() {
        let (ann, bob) = (RoleId(16_384), RoleId(16_385));
        let entry = |role, in_database, value| {
            let key = KeptKey { role, in_database };
            assert_eq!(KeptKey::of_key(&key.key()), Some(key));
            (key.key(), settings(&[("work_mem", value)]).encode())
        };
        let entries = [
            entry(ann, true, "4MB"),
            entry(ann, false, "3MB"),
            entry(bob, true, "9MB"),
            entry(PUBLIC, true, "2MB"),
            entry(PUBLIC, false, "1MB"),
        ];
        let read = entries.iter().map(|(key, value)| (key.as_str(), Some(value.as_slice())));
        let gone = (entries[1].0.as_str(), None);
        let values = |rights: &Rights, role| {
            rights.kept_for(role).map(|(_, value)| value.to_owned()).collect::<Vec<_>>()
        };
        let rights = Rights::read(read.clone());
        assert_eq!(values(&rights, ann), ["1MB", "2MB", "3MB", "4MB"]);
        assert_eq!(values(&rights, bob), ["1MB", "2MB", "9MB"]);
        assert_eq!(values(&Rights::read(read.chain([gone])), ann), ["1MB", "2MB", "4MB"]);
    }
}
