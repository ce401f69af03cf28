//! The grammar of statements about roles and rights, which the parser knows in part only: text in, a tree out.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use engine::types::{Error, Result, SqlState};

use super::tree::{
    Grant, Membership, Owned, RightsStatement, RoleOption, RoleSpec, Target, Wanted,
};
use super::words::{Words, syntax};
use crate::statement::rewrite::is_word;

/// A statement about roles and rights, or `None` for any other.
pub fn parse(text: &str) -> Result<Option<RightsStatement>> {
    const FIRST: [&str; 9] =
        ["create", "alter", "drop", "grant", "revoke", "set", "reset", "reassign", "discard"];
    let first = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
    if !first.is_empty() && !FIRST.iter().any(|word| first.eq_ignore_ascii_case(word)) {
        return Ok(None);
    }
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location() else {
        return Ok(None);
    };
    let is_word = |t: &TokenWithSpan| !matches!(t.token, Token::Whitespace(_) | Token::SemiColon);
    let (tokens, places): (Vec<Token>, Vec<Location>) =
        tokens.into_iter().filter(is_word).map(|t| (t.token, t.span.start)).unzip();
    let mut words = Words { text, tokens: &tokens, places: &places, at: 0 };
    let statement = words.statement()?;
    match statement {
        Some(statement) => words.end().map(|()| Some(statement)),
        None => Ok(None),
    }
}

impl Words<'_> {
    fn statement(&mut self) -> Result<Option<RightsStatement>> {
        if self.take("create") {
            return self.create();
        }
        if self.take("alter") {
            return self.alter();
        }
        if self.take("drop") {
            return self.drop();
        }
        if self.take("grant") {
            return self.grant(true).map(Some);
        }
        if self.take("revoke") {
            return self.grant(false).map(Some);
        }
        if self.take("set") {
            return self.set();
        }
        if self.take("reset") {
            return Ok(self.reset());
        }
        if self.take_all(&["reassign", "owned", "by"]) {
            let from = self.roles()?;
            self.expect("to")?;
            let to = self.role()?;
            return Ok(Some(RightsStatement::Owned(Owned {
                roles: from,
                to: Some(to),
                cascade: false,
            })));
        }
        Ok(None)
    }

    fn create(&mut self) -> Result<Option<RightsStatement>> {
        if self.take("policy") {
            return Err(no_policies());
        }
        let login = match () {
            () if self.take("user") => {
                if self.peek("mapping") {
                    return Ok(None);
                }
                true
            }
            () if self.take("role") || self.take("group") => false,
            () => return Ok(None),
        };
        let name = self.name()?;
        let options = self.options()?;
        Ok(Some(RightsStatement::CreateRole { name, login, options }))
    }

    fn alter(&mut self) -> Result<Option<RightsStatement>> {
        if self.take_all(&["default", "privileges"]) {
            return self.defaults().map(Some);
        }
        if self.take("policy") {
            return Err(no_policies());
        }
        if self.take("role") || self.take("user") {
            return self.alter_role();
        }
        if self.take("group") {
            let group = self.role()?;
            if self.take_all(&["rename", "to"]) {
                return Ok(Some(RightsStatement::RenameRole { from: group, to: self.name()? }));
            }
            let grant = self.take("add");
            if !grant {
                self.expect("drop")?;
            }
            self.expect("user")?;
            let members = self.roles()?;
            let roles = vec![named(group)?];
            return Ok(Some(RightsStatement::Membership(Membership {
                grant,
                roles,
                members,
                admin: false,
                only_admin: false,
                granted_by: None,
            })));
        }
        if let Some(settings) = self.alter_database()? {
            return Ok(Some(settings));
        }
        self.alter_owner()
    }

    fn alter_role(&mut self) -> Result<Option<RightsStatement>> {
        if self.peek("mapping") {
            return Ok(None);
        }
        if self.take("all") {
            return self.role_settings(None).map(Some);
        }
        let role = self.role()?;
        if self.take_all(&["rename", "to"]) {
            return Ok(Some(RightsStatement::RenameRole { from: role, to: self.name()? }));
        }
        if self.peek("set") || self.peek("reset") || self.peek("in") {
            return self.role_settings(Some(role)).map(Some);
        }
        let options = self.options()?;
        Ok(Some(RightsStatement::AlterRole { role, options }))
    }

    /// ALTER kind name OWNER TO role; other ALTERs are not ours.
    fn alter_owner(&mut self) -> Result<Option<RightsStatement>> {
        let start = self.at;
        let Some(kind) = ["table", "view", "sequence", "schema", "database", "index"]
            .into_iter()
            .find(|kind| self.take(kind))
        else {
            return Ok(None);
        };
        let if_exists = self.take_all(&["if", "exists"]);
        self.take("only");
        let Ok(name) = self.qualified() else {
            self.at = start;
            return Ok(None);
        };
        if kind == "table"
            && ["enable", "disable", "force", "no"].iter().any(|word| self.peek(word))
            && self.tokens[self.at..].iter().any(|token| is_word(token, &["security"]))
        {
            return Err(no_policies());
        }
        if !self.take_all(&["owner", "to"]) {
            return Ok(None);
        }
        let to = self.role()?;
        if self.at < self.tokens.len() {
            // One of several actions.
            return Ok(None);
        }
        Ok(Some(RightsStatement::Owner { kind, name, if_exists, to }))
    }

    fn drop(&mut self) -> Result<Option<RightsStatement>> {
        if self.take("policy") {
            return Err(no_policies());
        }
        if self.take_all(&["owned", "by"]) {
            let roles = self.roles()?;
            let cascade = self.behavior();
            return Ok(Some(RightsStatement::Owned(Owned { roles, to: None, cascade })));
        }
        if !(self.take("role") || self.take("user") || self.take("group")) || self.peek("mapping") {
            return Ok(None);
        }
        let if_exists = self.take_all(&["if", "exists"]);
        Ok(Some(RightsStatement::DropRoles { roles: self.roles()?, if_exists }))
    }

    fn set(&mut self) -> Result<Option<RightsStatement>> {
        let start = self.at;
        let local = self.take("local");
        let of_session = !local && self.take("session");
        if self.take("role") {
            // `SET role TO x` is the same.
            let _ = self.take("to") || self.take_token(&Token::Eq);
            let name = self.identity(&["none"])?;
            return Ok(Some(RightsStatement::SetRole { name, local }));
        }
        if self.take("session_authorization") {
            let _ = self.take("to") || self.take_token(&Token::Eq);
            let name = self.identity(&["default"])?;
            return Ok(Some(RightsStatement::SetSession { name, local }));
        }
        if (of_session && self.take("authorization"))
            || self.take_all(&["session", "authorization"])
        {
            let name = self.identity(&["default"])?;
            return Ok(Some(RightsStatement::SetSession { name, local }));
        }
        self.at = start;
        Ok(None)
    }

    fn reset(&mut self) -> Option<RightsStatement> {
        if self.take("role") {
            return Some(RightsStatement::SetRole { name: None, local: false });
        }
        let authorization =
            self.take_all(&["session", "authorization"]) || self.take("session_authorization");
        authorization.then_some(RightsStatement::SetSession { name: None, local: false })
    }

    /// A role's name as a word or a string; `None` for one of these words.
    fn identity(&mut self, nobody: &[&str]) -> Result<Option<String>> {
        if nobody.iter().any(|word| self.take(word)) {
            return Ok(None);
        }
        match self.string() {
            Some(text) => Ok(Some(text).filter(|text| !nobody.contains(&text.as_str()))),
            None => self.name().map(Some),
        }
    }

    fn options(&mut self) -> Result<Vec<RoleOption>> {
        self.take("with");
        let mut options = Vec::new();
        while self.at < self.tokens.len() {
            options.push(self.option()?);
        }
        Ok(options)
    }

    fn option(&mut self) -> Result<RoleOption> {
        let flags = [
            ("superuser", RoleOption::Superuser as fn(bool) -> RoleOption),
            ("createdb", RoleOption::CreateDatabase),
            ("createrole", RoleOption::CreateRole),
            ("inherit", RoleOption::Inherit),
            ("login", RoleOption::Login),
            ("replication", RoleOption::Replication),
            ("bypassrls", RoleOption::BypassPolicies),
        ];
        for (word, option) in flags {
            if self.take(word) {
                return Ok(option(true));
            }
            if self.take(&format!("no{word}")) {
                return Ok(option(false));
            }
        }
        if self.take_all(&["connection", "limit"]) {
            return self.integer().map(RoleOption::ConnectionLimit);
        }
        if self.take_all(&["valid", "until"]) {
            return self.expect_string().map(RoleOption::ValidUntil);
        }
        self.take("encrypted");
        if self.take("password") {
            let none = self.take("null");
            return Ok(RoleOption::Password(if none { None } else { Some(self.expect_string()?) }));
        }
        if self.take("sysid") {
            self.integer()?;
            return Ok(RoleOption::Ignored);
        }
        if self.take_all(&["in", "role"]) || self.take_all(&["in", "group"]) {
            return self.roles().map(RoleOption::In);
        }
        if self.take("admin") {
            return self.roles().map(RoleOption::Admins);
        }
        if self.take("role") || self.take("user") {
            return self.roles().map(RoleOption::Members);
        }
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => Err(Error::new(
                SqlState::SyntaxError,
                format!("unrecognized role option \"{}\"", word.value.to_lowercase()),
            )),
            _ => Err(self.unexpected()),
        }
    }

    fn defaults(&mut self) -> Result<RightsStatement> {
        let (mut roles, mut schemas) = (Vec::new(), Vec::new());
        loop {
            if self.take_all(&["for", "role"]) || self.take_all(&["for", "user"]) {
                roles = self.roles()?;
            } else if self.take_all(&["in", "schema"]) {
                schemas = self.list(Words::name)?;
            } else {
                break;
            }
        }
        let is_grant = self.take("grant");
        if !is_grant {
            self.expect("revoke")?;
        }
        match self.grant(is_grant)? {
            RightsStatement::Grant(grant) => {
                Ok(RightsStatement::Defaults { roles, schemas, grant })
            }
            _ => Err(syntax("syntax error in ALTER DEFAULT PRIVILEGES".to_owned())),
        }
    }

    fn grant(&mut self, is_grant: bool) -> Result<RightsStatement> {
        let options_only = !is_grant && self.take_all(&["grant", "option", "for"]);
        let only_admin = !is_grant && self.take_all(&["admin", "option", "for"]);
        let wanted = self.wanted()?;
        if !self.take("on") {
            return self.membership(is_grant, only_admin, wanted);
        }
        let target = self.target()?;
        self.expect(if is_grant { "to" } else { "from" })?;
        let grantees = self.grantees()?;
        let with_option = is_grant && self.take_all(&["with", "grant", "option"]);
        let granted_by = self.granted_by()?;
        let cascade = !is_grant && self.behavior();
        Ok(RightsStatement::Grant(Grant {
            is_grant,
            options_only,
            wanted,
            target,
            grantees,
            with_option,
            granted_by,
            cascade,
        }))
    }

    fn membership(
        &mut self,
        grant: bool,
        only_admin: bool,
        wanted: Vec<Wanted>,
    ) -> Result<RightsStatement> {
        self.expect(if grant { "to" } else { "from" })?;
        let members = self.grantees()?;
        let admin = grant && self.take_all(&["with", "admin", "option"]);
        let granted_by = self.granted_by()?;
        if !grant {
            self.behavior();
        }
        let roles = wanted.into_iter().map(|wanted| match wanted {
            Wanted { name: Some(name), columns } if columns.is_empty() => Ok(name),
            _ => Err(syntax("syntax error at or near \"TO\"".to_owned())),
        });
        let roles = roles.collect::<Result<Vec<_>>>()?;
        Ok(RightsStatement::Membership(Membership {
            grant,
            roles,
            members,
            admin,
            only_admin,
            granted_by,
        }))
    }

    /// Privileges, or the roles of GRANT role TO role.
    fn wanted(&mut self) -> Result<Vec<Wanted>> {
        self.list(|words| {
            let name = match words.take("all") {
                true => {
                    words.take("privileges");
                    None
                }
                false => Some(words.name()?),
            };
            let columns = match words.take_token(&Token::LParen) {
                true => words.list(Words::name)?,
                false => return Ok(Wanted { name, columns: Vec::new() }),
            };
            words.expect_token(&Token::RParen)?;
            Ok(Wanted { name, columns })
        })
    }

    fn target(&mut self) -> Result<Target> {
        if self.take_all(&["all", "tables", "in", "schema"]) {
            return self.list(Words::name).map(Target::AllTables);
        }
        if self.take_all(&["all", "sequences", "in", "schema"]) {
            return self.list(Words::name).map(Target::AllSequences);
        }
        for kind in ["functions", "procedures", "routines"] {
            if self.take_all(&["all", kind, "in", "schema"]) {
                return self.list(Words::name).map(Target::AllFunctions);
            }
        }
        // ALTER DEFAULT PRIVILEGES names kinds.
        let kinds = [
            ("tables", Target::Kind("tables")),
            ("sequences", Target::Kind("sequences")),
            ("schemas", Target::Kind("schemas")),
            ("functions", Target::Kind("functions")),
            ("routines", Target::Kind("functions")),
            ("types", Target::Kind("types")),
        ];
        for (word, target) in kinds {
            if self.peek(word) && (self.peek_at(1, "to") || self.peek_at(1, "from")) {
                self.at += 1;
                return Ok(target);
            }
        }
        if self.take("sequence") {
            return self.list(Words::qualified).map(Target::Sequences);
        }
        if self.take("schema") {
            return self.list(Words::name).map(Target::Schemas);
        }
        if self.take("database") {
            return self.list(Words::name).map(Target::Databases);
        }
        let others = [
            "function",
            "procedure",
            "routine",
            "language",
            "large",
            "tablespace",
            "type",
            "domain",
            "foreign",
            "parameter",
        ];
        if let Some(kind) = others.into_iter().find(|kind| self.peek(kind)) {
            return Err(unsupported(&format!("GRANT ON {}", kind.to_uppercase())));
        }
        self.take("table");
        self.list(Words::qualified).map(Target::Tables)
    }
}

fn named(role: RoleSpec) -> Result<String> {
    match role {
        RoleSpec::Named(name) => Ok(name),
        _ => Err(syntax("syntax error: a role's name is wanted".to_owned())),
    }
}

fn unsupported(what: &str) -> Error {
    Error::new(SqlState::FeatureNotSupported, format!("{what} is not supported"))
}

fn no_policies() -> Error {
    unsupported("row-level security")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(Some(statement)) => format!("{statement:?}"),
            Ok(None) => "another".to_owned(),
            Err(fault) => fault.state.code().to_owned(),
        }
    }

    #[test]
    fn other_statements_are_left_to_the_parser() {
        for text in [
            "SELECT 1",
            "CREATE TABLE role (a int)",
            "ALTER TABLE t ADD COLUMN owner int",
            "ALTER TABLE t OWNER TO a, ADD b int",
            "DROP TABLE t",
            "SET timezone = 'UTC'",
            "SET SESSION timezone = 'UTC'",
            "RESET ALL",
            "CREATE USER MAPPING FOR a SERVER b",
        ] {
            assert_eq!(shown(text), "another", "{text}");
        }
    }

    #[test]
    fn statements_about_rights_are_taken_apart() {
        for (text, part) in [
            ("CREATE USER ann PASSWORD 'x' CONNECTION LIMIT -1", "login: true"),
            ("create role \"Ann\" with nologin in role a, b", "In([Named(\"a\"), Named(\"b\")])"),
            ("GRANT ALL PRIVILEGES ON TABLE t, public.u TO PUBLIC", "Tables([t, public.u])"),
            ("GRANT SELECT (a, b), INSERT ON t TO ann WITH GRANT OPTION", "with_option: true"),
            ("REVOKE GRANT OPTION FOR SELECT ON t FROM ann CASCADE", "options_only: true"),
            ("GRANT a, b TO c WITH ADMIN OPTION GRANTED BY d", "admin: true"),
            ("REVOKE ADMIN OPTION FOR a FROM b", "only_admin: true"),
            ("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO a", "AllSequences"),
            (
                "ALTER DEFAULT PRIVILEGES FOR ROLE a IN SCHEMA public GRANT SELECT ON TABLES TO b",
                "Kind(\"tables\")",
            ),
            ("ALTER VIEW v OWNER TO CURRENT_USER", "to: Current"),
            ("SET LOCAL ROLE 'none'", "name: None, local: true"),
            ("SET SESSION AUTHORIZATION DEFAULT", "SetSession { name: None"),
            ("REASSIGN OWNED BY a TO b", "to: Some(Named(\"b\"))"),
            ("DROP OWNED BY a, b CASCADE", "cascade: true"),
            ("ALTER GROUP g ADD USER a", "grant: true"),
        ] {
            assert!(shown(text).contains(part), "{text}: {}", shown(text));
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_passwords() {
        for (text, state) in [
            ("CREATE ROLE", "42601"),
            ("CREATE ROLE a FLY", "42601"),
            ("GRANT SELECT ON t", "42601"),
            ("GRANT SELECT ON t TO none", "42939"),
            ("GRANT EXECUTE ON FUNCTION f TO a", "0A000"),
            ("CREATE POLICY p ON t", "0A000"),
            ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "0A000"),
        ] {
            assert_eq!(shown(text), state, "{text}");
        }
        let fault = parse("CREATE ROLE a PASSWORD NULL 'secret'").expect_err("refused");
        assert!(!fault.message.contains("secret"));
        let tree = parse("CREATE ROLE a PASSWORD 'secret'").expect("parses");
        assert!(!format!("{tree:?}").contains("secret"));
    }
}
