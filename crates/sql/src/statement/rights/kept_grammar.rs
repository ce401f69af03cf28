//! The grammar of SET and RESET behind ALTER ROLE and ALTER DATABASE.

use datafusion::sql::sqlparser::tokenizer::Token;
use engine::types::Result;

use super::tree::{AlterSettings, KeptChange, RightsStatement, RoleSpec};
use super::words::Words;
use crate::catalog::system::quoted;
use crate::statement::constraint::unsupported;

impl Words<'_> {
    /// ALTER ROLE whose [IN DATABASE name], from there on.
    pub fn role_settings(&mut self, role: Option<RoleSpec>) -> Result<RightsStatement> {
        let database = match self.take_all(&["in", "database"]) {
            true => Some(self.name()?),
            false => None,
        };
        match self.kept_change()? {
            Some(change) => {
                let tag = "ALTER ROLE";
                Ok(RightsStatement::Settings(AlterSettings { tag, role, database, change }))
            }
            None => Err(self.unexpected()),
        }
    }

    /// ALTER DATABASE name SET and RESET; `None`, with nothing taken, for anything else.
    pub fn alter_database(&mut self) -> Result<Option<RightsStatement>> {
        let start = self.at;
        if self.take("database")
            && let Ok(name) = self.name()
            && let Some(change) = self.kept_change()?
        {
            let (tag, role, database) = ("ALTER DATABASE", None, Some(name));
            let alter = AlterSettings { tag, role, database, change };
            return Ok(Some(RightsStatement::Settings(alter)));
        }
        self.at = start;
        Ok(None)
    }

    fn kept_change(&mut self) -> Result<Option<KeptChange>> {
        if self.take("set") {
            return self.kept_set().map(Some);
        }
        if self.take("reset") {
            return self.kept_reset().map(Some);
        }
        Ok(None)
    }

    fn kept_set(&mut self) -> Result<KeptChange> {
        if self.take_all(&["time", "zone"]) {
            return self.kept_value("TimeZone".to_owned());
        }
        let name = self.setting_name()?;
        if self.take_all(&["from", "current"]) {
            return Ok(KeptChange::FromCurrent(name));
        }
        if self.take("to") || self.take_token(&Token::Eq) {
            return self.kept_value(name);
        }
        // SET with words of its own: it is PostgreSQL's, and not kept here.
        let others = ["role", "session", "transaction", "names", "schema", "xml", "tablespace"];
        if others.contains(&name.as_str()) {
            return Err(unsupported(&format!("ALTER ... SET {}", name.to_uppercase())));
        }
        Err(self.unexpected())
    }

    fn kept_value(&mut self, name: String) -> Result<KeptChange> {
        let is_zone = name == "TimeZone";
        if self.take("default") || is_zone && self.take("local") {
            return Ok(KeptChange::Reset(name));
        }
        let mut values = self.list(Words::setting_value)?;
        if name == "search_path" {
            // A list of names: each is one again when it is read.
            values = values.iter().map(|value| quoted(value)).collect();
        }
        Ok(KeptChange::Set { name, value: values.join(", ") })
    }

    fn kept_reset(&mut self) -> Result<KeptChange> {
        if self.take("all") {
            return Ok(KeptChange::ResetAll);
        }
        if self.take_all(&["time", "zone"]) {
            return Ok(KeptChange::Reset("TimeZone".to_owned()));
        }
        if self.take_all(&["transaction", "isolation", "level"]) {
            return Ok(KeptChange::Reset("transaction_isolation".to_owned()));
        }
        if self.take_all(&["session", "authorization"]) {
            return Ok(KeptChange::Reset("session_authorization".to_owned()));
        }
        self.setting_name().map(KeptChange::Reset)
    }

    fn setting_name(&mut self) -> Result<String> {
        Ok(self.qualified()?.0.join("."))
    }

    /// A word, a string or a number.
    fn setting_value(&mut self) -> Result<String> {
        if let Some(text) = self.string() {
            return Ok(text);
        }
        let sign = match self.take_token(&Token::Minus) {
            true => "-",
            false => {
                self.take_token(&Token::Plus);
                ""
            }
        };
        match self.tokens.get(self.at) {
            Some(Token::Number(digits, _)) => {
                self.at += 1;
                Ok(format!("{sign}{digits}"))
            }
            _ if sign.is_empty() => self.name(),
            _ => Err(self.unexpected()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn settings(text: &str) -> AlterSettings {
        match parse(text) {
            Ok(Some(RightsStatement::Settings(settings))) => settings,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn set(name: &str, value: &str) -> KeptChange {
        KeptChange::Set { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn settings_are_taken_apart() {
        let reset = |name: &str| KeptChange::Reset(name.to_owned());
        for (text, wanted) in [
            ("SET work_mem TO '8MB'", set("work_mem", "8MB")),
            ("SET Work_Mem = 4096", set("work_mem", "4096")),
            ("SET extra_float_digits = -1", set("extra_float_digits", "-1")),
            ("SET my.words TO one, 'Two', Three", set("my.words", "one, Two, three")),
            ("SET search_path = \"$user\", public", set("search_path", "\"$user\", public")),
            ("SET TIME ZONE 'UTC'", set("TimeZone", "UTC")),
            ("SET TIME ZONE LOCAL", reset("TimeZone")),
            ("SET jit TO DEFAULT", reset("jit")),
            ("SET jit FROM CURRENT", KeptChange::FromCurrent("jit".to_owned())),
            ("RESET jit", reset("jit")),
            ("RESET TRANSACTION ISOLATION LEVEL", reset("transaction_isolation")),
            ("RESET ALL", KeptChange::ResetAll),
        ] {
            assert_eq!(settings(&format!("ALTER ROLE ann {text}")).change, wanted, "{text}");
            assert_eq!(settings(&format!("ALTER DATABASE d {text};")).change, wanted, "{text}");
        }
    }

    #[test]
    fn it_is_said_whose_they_are() {
        let ann = || Some(RoleSpec::Named("ann".to_owned()));
        for (text, role, database, tag) in [
            ("ALTER ROLE ann RESET ALL", ann(), None, "ALTER ROLE"),
            ("ALTER USER ann IN DATABASE d RESET ALL", ann(), Some("d"), "ALTER ROLE"),
            ("ALTER ROLE CURRENT_USER RESET ALL", Some(RoleSpec::Current), None, "ALTER ROLE"),
            ("ALTER ROLE ALL RESET ALL", None, None, "ALTER ROLE"),
            ("ALTER ROLE ALL IN DATABASE d RESET ALL", None, Some("d"), "ALTER ROLE"),
            ("ALTER DATABASE d RESET ALL", None, Some("d"), "ALTER DATABASE"),
        ] {
            let AlterSettings { tag: is, role: whose, database: place, change } = settings(text);
            assert_eq!((whose, place.as_deref(), is), (role, database, tag), "{text}");
            assert_eq!(change, KeptChange::ResetAll);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, state) in [
            ("ALTER ROLE ann SET", "42601"),
            ("ALTER ROLE ann SET jit", "42601"),
            ("ALTER ROLE ann SET jit = on off", "42601"),
            ("ALTER ROLE ann IN ROLE bob", "42601"),
            ("ALTER ROLE ALL CREATEDB", "42601"),
            ("ALTER ROLE ann SET jit = on NOLOGIN", "42601"),
            ("ALTER DATABASE d RESET", "42601"),
            ("ALTER ROLE ann SET ROLE bob", "0A000"),
            ("ALTER DATABASE d SET TABLESPACE t", "0A000"),
        ] {
            assert_eq!(parse(text).expect_err(text).state.code(), state, "{text}");
        }
        assert_eq!(parse("ALTER DATABASE d RENAME TO e"), Ok(None));
    }
}
