//! `SET`, `SHOW` and what the protocol reports of it.

mod changed;
mod checked;
mod durations;
mod response_time;

use std::collections::BTreeSet;
use std::time::Duration;

use engine::heartbeat::Sharing;
use engine::types::{Error, Result, SqlState};

use crate::text::{SessionZone, usual_name};
use crate::verification::Share;
use durations::{duration_text, microseconds, microseconds_text, milliseconds};

pub use changed::{ChangedSettings, ShownSetting};
pub use response_time::{Late, response_time};

/// What a setting's value must look like.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Boolean,
    Integer(i64, i64),
    /// A number of milliseconds, with or without a unit.
    Duration,
    /// The same to the microsecond.
    PreciseDuration,
    /// A number from 0 to 1, or `server`.
    Share,
    OneOf(&'static [&'static str]),
    TimeZone,
    Encoding,
    DateStyle,
    Fixed,
}

struct Definition {
    name: &'static str,
    kind: Kind,
    default: &'static str,
    /// Sent to the client as ParameterStatus.
    reported: bool,
}

const fn setting(name: &'static str, kind: Kind, default: &'static str) -> Definition {
    Definition { name, kind, default, reported: false }
}

const fn reported(name: &'static str, kind: Kind, default: &'static str) -> Definition {
    Definition { name, kind, default, reported: true }
}

/// PostgreSQL's version that clients see; drivers choose their catalog queries by it.
pub const SERVER_VERSION: &str = concat!("15.0 (SharedDB ", env!("CARGO_PKG_VERSION"), ")");

const ISOLATION_LEVELS: &[&str] =
    &["read committed", "repeatable read", "read uncommitted", "serializable"];

const DEFINITIONS: &[Definition] = &[
    reported("application_name", Kind::Text, ""),
    reported("client_encoding", Kind::Encoding, "UTF8"),
    reported("DateStyle", Kind::DateStyle, "ISO, MDY"),
    reported("default_transaction_read_only", Kind::Boolean, "off"),
    reported("in_hot_standby", Kind::Fixed, "off"),
    reported("integer_datetimes", Kind::Fixed, "on"),
    reported("IntervalStyle", Kind::OneOf(&["postgres"]), "postgres"),
    reported("is_superuser", Kind::Fixed, "on"),
    reported("server_encoding", Kind::Fixed, "UTF8"),
    reported("server_version", Kind::Fixed, SERVER_VERSION),
    reported("session_authorization", Kind::Fixed, "shareddb"),
    reported("standard_conforming_strings", Kind::OneOf(&["on"]), "on"),
    reported("TimeZone", Kind::TimeZone, "UTC"),
    setting("backslash_quote", Kind::OneOf(&["safe_encoding", "on", "off"]), "safe_encoding"),
    setting("bytea_output", Kind::OneOf(&["hex"]), "hex"),
    setting("check_function_bodies", Kind::Boolean, "on"),
    setting(
        "client_min_messages",
        Kind::OneOf(&["debug5", "debug1", "log", "notice", "warning", "error"]),
        "notice",
    ),
    setting("deadlock_timeout", Kind::Duration, "1s"),
    setting("default_table_access_method", Kind::Text, "heap"),
    setting("default_tablespace", Kind::Text, ""),
    setting("default_text_search_config", Kind::Text, "pg_catalog.simple"),
    setting("default_transaction_deferrable", Kind::Boolean, "off"),
    setting("default_transaction_isolation", Kind::OneOf(ISOLATION_LEVELS), "read committed"),
    setting("escape_string_warning", Kind::Boolean, "on"),
    setting("extra_float_digits", Kind::Integer(-15, 3), "1"),
    setting("idle_in_transaction_session_timeout", Kind::Duration, "0"),
    setting("jit", Kind::Boolean, "off"),
    setting("lc_collate", Kind::Fixed, "C"),
    setting("lc_ctype", Kind::Fixed, "C"),
    setting("lc_messages", Kind::Text, "C"),
    setting("lc_monetary", Kind::Text, "C"),
    setting("lc_numeric", Kind::Text, "C"),
    setting("lc_time", Kind::Text, "C"),
    setting("lock_timeout", Kind::Duration, "0"),
    setting("maintenance_work_mem", Kind::Text, "64MB"),
    setting("max_identifier_length", Kind::Fixed, "63"),
    setting("max_index_keys", Kind::Fixed, "32"),
    setting("role", Kind::Fixed, "none"),
    setting("row_security", Kind::Boolean, "on"),
    setting("shareddb.late", Kind::OneOf(&["drop", "finish"]), "drop"),
    setting("shareddb.path", Kind::OneOf(&["automatic", "global", "alone"]), "automatic"),
    setting("shareddb.pipelining", Kind::Boolean, "on"),
    setting("shareddb.response_time", Kind::PreciseDuration, "0"),
    setting("shareddb.sharing", Kind::OneOf(&["server", "automatic", "always", "never"]), "server"),
    setting("shareddb.verify", Kind::Share, "server"),
    setting("search_path", Kind::Text, "\"$user\", public"),
    setting("server_version_num", Kind::Fixed, "150000"),
    setting("statement_timeout", Kind::Duration, "0"),
    setting(
        "synchronous_commit",
        Kind::OneOf(&["on", "remote_apply", "remote_write", "local"]),
        "on",
    ),
    setting("transaction_deferrable", Kind::Boolean, "off"),
    setting("transaction_isolation", Kind::OneOf(ISOLATION_LEVELS), "read committed"),
    setting("transaction_read_only", Kind::Boolean, "off"),
    setting("work_mem", Kind::Text, "4MB"),
    setting("xmloption", Kind::OneOf(&["content", "document"]), "content"),
];

/// Settings that say who the session is: RESET ALL leaves them, each has a statement of its own.
const IDENTITY: [&str; 3] = ["role", "session_authorization", "is_superuser"];

/// One session's settings.
#[derive(Debug, Default)]
pub struct Settings {
    changed: ChangedSettings,
    /// Names that the protocol has yet to report.
    unreported: BTreeSet<&'static str>,
    /// Counts changes of who the session is.
    identity_serial: u64,
    /// `statement_timeout` in milliseconds, kept beside its text since every statement asks.
    statement_timeout: u64,
    /// `shareddb.response_time`, kept likewise; `None` for none.
    response_time: Option<Duration>,
    /// `shareddb.verify`, kept likewise; `None` for the server's.
    verify: Option<Share>,
    /// By `TimeZone`; every statement asks, too.
    zone: SessionZone,
}

/// `shareddb.path`: where queries run that the global plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSetting {
    /// A query by itself where it is predicted to be cheaper, others in the global plan.
    Automatic,
    /// In the global plan.
    Global,
    /// Query at a time, for comparisons.
    Alone,
}

/// What a setting was before a change; `None` for its default.
pub type Before = (String, Option<String>);

impl Settings {
    /// Fresh settings; all that is reported will be.
    pub fn new(user: &str) -> Settings {
        let mut settings = Settings::default();
        settings.changed.put("session_authorization", Some(user.to_owned()));
        let all = DEFINITIONS.iter().filter(|d| d.reported).map(|d| d.name);
        settings.unreported.extend(all);
        settings
    }

    /// The value of a setting; 42704 for an unknown one.
    pub fn show(&self, name: &str) -> Result<String> {
        let (canonical, default) = match find(name) {
            Some(definition) => (definition.name, Some(definition.default)),
            None => (name, None),
        };
        let value = self.changed.get(canonical).map(String::as_str).or(default);
        value.map(str::to_owned).ok_or_else(|| unrecognized(name))
    }

    /// What differs from the defaults, for a statement that goes on without its session.
    pub fn changed(&self) -> ChangedSettings {
        self.changed.clone()
    }

    /// Changes a setting; `None` is what it was when the session began. Gives back what it was, for ROLLBACK and SET
    /// LOCAL.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<Before> {
        let definition = find(name);
        let name = definition.map_or(name, |definition| definition.name);
        let value = match definition {
            Some(definition) => value.map(|value| definition.check(value)).transpose()?,
            None => {
                checked::check_custom(name)?;
                value.map(str::to_owned)
            }
        };
        let value = value.or_else(|| self.changed.first(name));
        let before = (name.to_owned(), self.changed.get(name).cloned());
        self.put(name, value);
        Ok(before)
    }

    /// Puts a setting back.
    pub fn restore(&mut self, (name, value): Before) {
        self.put(&name, value);
    }

    /// RESET ALL.
    pub fn reset_all(&mut self) {
        for name in self.changed.since_first() {
            let first = self.changed.first(&name);
            self.put(&name, first);
        }
    }

    /// What the settings are now is what RESET returns to.
    pub fn settle(&mut self) {
        self.changed.settle();
    }

    fn put(&mut self, name: &str, value: Option<String>) {
        if let Some(definition) = find(name).filter(|definition| definition.reported) {
            self.unreported.insert(definition.name);
        }
        self.changed.put(name, value);
        if IDENTITY[..2].contains(&name) {
            self.identity_serial += 1;
        }
        if name == "statement_timeout" {
            let text = self.changed.get(name).map_or("0", String::as_str);
            self.statement_timeout = milliseconds(text).unwrap_or(0);
        }
        if name == "shareddb.response_time" {
            let text = self.changed.get(name);
            let time = text.and_then(|text| response_time(text));
            self.response_time = time.filter(|time| !time.is_zero());
        }
        if name == "shareddb.verify" {
            self.verify = self.changed.get(name).and_then(|text| share(text));
        }
        if name == "TimeZone" {
            let zone = self.changed.get(name).and_then(|zone| SessionZone::named(zone));
            self.zone = zone.unwrap_or_default();
        }
    }

    /// A number that changes with who the session is.
    pub fn identity_serial(&self) -> u64 {
        self.identity_serial
    }

    /// The role by SET ROLE, if any.
    pub fn role(&self) -> Option<&str> {
        self.changed.get("role").map(String::as_str)
    }

    /// SET ROLE, checked before; `None` for NONE.
    pub fn set_role(&mut self, role: Option<&str>) -> Before {
        let before = ("role".to_owned(), self.changed.get("role").cloned());
        self.put("role", role.map(str::to_owned));
        before
    }

    /// The role by SET SESSION AUTHORIZATION, or that came in.
    pub fn session_authorization(&self) -> &str {
        self.changed.get("session_authorization").map_or("shareddb", String::as_str)
    }

    /// SET SESSION AUTHORIZATION, checked before.
    pub fn set_session_authorization(&mut self, role: &str) -> Before {
        let name = "session_authorization";
        let before = (name.to_owned(), self.changed.get(name).cloned());
        self.put(name, Some(role.to_owned()));
        before
    }

    /// Notes whether the current role is a superuser, which is reported.
    pub fn tell_superuser(&mut self, superuser: bool) {
        let value = if superuser { "on" } else { "off" };
        if self.show("is_superuser").as_deref() != Ok(value) {
            self.put("is_superuser", Some(value.to_owned()));
        }
    }

    /// Whether a boolean setting is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.changed.get(name).is_some_and(|value| value == "on")
    }

    /// Whether a setting that differs from its default has this value.
    pub fn is_changed_to(&self, name: &str, value: &str) -> bool {
        self.changed.get(name).is_some_and(|own| own == value)
    }

    /// Where queries run that the global plan has.
    pub fn path(&self) -> PathSetting {
        match self.changed.get("shareddb.path").map(String::as_str) {
            Some("global") => PathSetting::Global,
            Some("alone") => PathSetting::Alone,
            _ => PathSetting::Automatic,
        }
    }

    /// Whether queries of the global plan share; `None`: as the server was started.
    pub fn sharing(&self) -> Option<Sharing> {
        match self.changed.get("shareddb.sharing").map(String::as_str) {
            Some("automatic") => Some(Sharing::Automatic),
            Some("always") => Some(Sharing::Always),
            Some("never") => Some(Sharing::Never),
            _ => None,
        }
    }

    /// Which share of the session's activations is verified; `None`: as the server was started.
    pub fn verify(&self) -> Option<Share> {
        self.verify
    }

    /// Whether the session's zone is UTC.
    pub fn is_utc(&self) -> bool {
        self.zone.is_utc()
    }

    /// The session's zone.
    pub fn zone(&self) -> &SessionZone {
        &self.zone
    }

    /// How long a statement may run.
    pub fn statement_timeout(&self) -> Option<Duration> {
        (self.statement_timeout > 0).then(|| Duration::from_millis(self.statement_timeout))
    }

    /// How long a statement waits for a lock at most.
    pub fn lock_timeout(&self) -> Option<Duration> {
        let patience = self.duration("lock_timeout");
        (!patience.is_zero()).then_some(patience)
    }

    /// How long a statement waits for a lock before it looks whether that is in vain.
    pub fn deadlock_timeout(&self) -> Duration {
        self.duration("deadlock_timeout").max(Duration::from_millis(1))
    }

    fn duration(&self, name: &str) -> Duration {
        let text = self.show(name).unwrap_or_default();
        Duration::from_millis(milliseconds(&text).unwrap_or(0))
    }

    /// Settings to report since the last call.
    pub fn take_reported(&mut self) -> Vec<(String, String)> {
        let names = std::mem::take(&mut self.unreported);
        let value = |name: &str| self.show(name).expect("reported settings are known");
        names.into_iter().map(|name| (name.to_owned(), value(name))).collect()
    }
}

fn find(name: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|definition| definition.name.eq_ignore_ascii_case(name))
}

fn unrecognized(name: &str) -> Error {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    Error::new(SqlState::UndefinedObject, message)
}

impl Definition {
    /// The value as kept.
    fn check(&self, value: &str) -> Result<String> {
        let invalid = || {
            let message = format!("invalid value for parameter \"{}\": \"{value}\"", self.name);
            Error::new(SqlState::InvalidParameterValue, message)
        };
        match self.kind {
            Kind::Text => Ok(value.to_owned()),
            Kind::Boolean => boolean(value).map(str::to_owned).ok_or_else(|| {
                let message = format!("parameter \"{}\" requires a Boolean value", self.name);
                Error::new(SqlState::InvalidParameterValue, message)
            }),
            Kind::Integer(least, most) => {
                let number: i64 = value.trim().parse().map_err(|_| invalid())?;
                let in_range = (least..=most).contains(&number);
                in_range.then(|| number.to_string()).ok_or_else(|| {
                    let message = format!(
                        "{number} is outside the valid range for parameter \"{}\" \
                         ({least} .. {most})",
                        self.name
                    );
                    Error::new(SqlState::InvalidParameterValue, message)
                })
            }
            Kind::Share if value.eq_ignore_ascii_case("server") => Ok("server".to_owned()),
            Kind::Share => share(value).map(|_| value.trim().to_owned()).ok_or_else(invalid),
            Kind::Duration => milliseconds(value).map(duration_text).ok_or_else(invalid),
            Kind::PreciseDuration => microseconds(value).map(microseconds_text).ok_or_else(invalid),
            Kind::OneOf(words) => {
                let known = words.iter().find(|word| word.eq_ignore_ascii_case(value));
                known.map(|word| (*word).to_owned()).ok_or_else(invalid)
            }
            Kind::TimeZone => time_zone(value),
            Kind::Encoding => encoding(value).map(str::to_owned).ok_or_else(invalid),
            Kind::DateStyle => date_style(value).ok_or_else(invalid),
            Kind::Fixed => Err(self.fixed()),
        }
    }
}

impl Definition {
    /// 55P02
    fn fixed(&self) -> Error {
        let message = format!("parameter \"{}\" cannot be changed", self.name);
        Error::new(SqlState::FixedParameter, message)
    }
}

fn boolean(value: &str) -> Option<&'static str> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" | "t" | "y" => Some("on"),
        "off" | "false" | "no" | "0" | "f" | "n" => Some("off"),
        _ => None,
    }
}

fn share(value: &str) -> Option<Share> {
    value.trim().parse().ok().and_then(Share::new)
}

fn time_zone(value: &str) -> Result<String> {
    usual_name(value).ok_or_else(|| {
        let message = format!("invalid value for parameter \"TimeZone\": \"{value}\"");
        Error::new(SqlState::InvalidParameterValue, message)
    })
}

fn encoding(value: &str) -> Option<&'static str> {
    let name: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    match name.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" => Some("UTF8"),
        "sqlascii" => Some("SQL_ASCII"),
        _ => None,
    }
}

/// Output is ISO whatever is asked for; the order of day and month is fixed too.
fn date_style(value: &str) -> Option<String> {
    let mut words = value.split(',').map(|word| word.trim().to_ascii_lowercase());
    let known = words.all(|word| matches!(word.as_str(), "iso" | "mdy" | "us"));
    known.then(|| "ISO, MDY".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_checked_and_reported_once() {
        let mut settings = Settings::new("me");
        assert!(settings.take_reported().contains(&("client_encoding".into(), "UTF8".into())));
        settings.set("application_name", Some("x")).expect("known");
        settings.set("extra_float_digits", Some("3")).expect("known");
        assert_eq!(settings.take_reported(), [("application_name".into(), "x".into())]);
        assert!(settings.take_reported().is_empty());
        let state = |r: Result<Before>| r.expect_err("refused").state.code();
        assert_eq!(state(settings.set("nonsense", Some("1"))), "42704");
        assert_eq!(state(settings.set("extra_float_digits", Some("9"))), "22023");
        assert_eq!(state(settings.set("client_encoding", Some("latin1"))), "22023");
    }

    #[test]
    fn unknown_names_under_the_own_prefix_are_refused() {
        let mut settings = Settings::new("me");
        let error = settings.set("shareddb.packing", Some("never")).expect_err("refused");
        assert_eq!(error.state.code(), "42602");
        assert_eq!(error.detail.as_deref(), Some("\"shareddb\" is a reserved prefix."));
        settings.set("sharedbd.packing", Some("never")).expect("anybody's");
    }

    #[test]
    fn durations_have_units() {
        let mut settings = Settings::new("me");
        settings.set("statement_timeout", Some("2s")).expect("valid");
        assert_eq!(settings.statement_timeout(), Some(Duration::from_secs(2)));
        assert_eq!(settings.show("statement_timeout"), Ok("2s".into()));
        let before = settings.set("statement_timeout", Some("1500")).expect("valid");
        assert_eq!(settings.show("STATEMENT_TIMEOUT"), Ok("1500ms".into()));
        settings.restore(before);
        assert_eq!(settings.show("statement_timeout"), Ok("2s".into()));
        settings.reset_all();
        assert_eq!(settings.statement_timeout(), None);
    }
}
