//! Statements about roles and rights, from PostgreSQL's nodes.
//!
//! In comes the node of a statement; out goes what [`super::tree`] has for it, or `None` for a statement of another kind. Called by
//! `statement::command`.

mod grants;
mod kept;
mod owners;
mod roles;

use engine::types::{Error, Result, SqlState};
use syntax::{List, Node, ObjectType, RoleSpecType};

use super::tree::{Owned, RightsStatement, RoleSpec};
use crate::statement::constraint::unsupported;

/// What a statement about roles and rights says; `None` for any other.
pub fn read(node: Node<'_>, text: &str) -> Result<Option<RightsStatement>> {
    Ok(Some(match node {
        Node::GrantStmt(grant) => RightsStatement::Grant(grants::grant(grant)?),
        Node::GrantRoleStmt(grant) => RightsStatement::Membership(grants::membership(grant)?),
        Node::AlterDefaultPrivilegesStmt(alter) => grants::defaults(alter, text)?,
        Node::CreateRoleStmt(create) => roles::create(create, text)?,
        Node::AlterRoleStmt(alter) => roles::alter(alter, text)?,
        Node::DropRoleStmt(drop) => RightsStatement::DropRoles {
            roles: role_list(drop.roles()),
            if_exists: drop.missing_ok(),
        },
        Node::RenameStmt(rename) if rename.rename_type() == ObjectType::Role => {
            let [from, to] = [rename.subname(), rename.newname()].map(name);
            RightsStatement::RenameRole { from: RoleSpec::Named(from), to }
        }
        Node::ReassignOwnedStmt(owned) => {
            let (roles, to) = (role_list(owned.roles()), owned.newrole().map(role));
            RightsStatement::Owned(Owned { roles, to, cascade: false })
        }
        Node::DropOwnedStmt(owned) => {
            let (roles, cascade) = (role_list(owned.roles()), is_cascade(owned.behavior()));
            RightsStatement::Owned(Owned { roles, to: None, cascade })
        }
        Node::AlterRoleSetStmt(alter) => kept::of_role(alter)?,
        Node::AlterDatabaseSetStmt(alter) => kept::of_database(alter)?,
        Node::AlterOwnerStmt(alter) => return owners::of_object(alter),
        Node::AlterTableStmt(alter) => return owners::of_relation(alter),
        Node::DropStmt(drop) if drop.remove_type() == ObjectType::Policy => {
            return Err(no_policies());
        }
        Node::Other(other) if matches!(other.name(), "CreatePolicyStmt" | "AlterPolicyStmt") => {
            return Err(no_policies());
        }
        _ => return Ok(None),
    }))
}

fn name(name: Option<&str>) -> String {
    name.unwrap_or_default().to_owned()
}

fn role(spec: syntax::RoleSpec<'_>) -> RoleSpec {
    match spec.roletype() {
        RoleSpecType::CurrentRole | RoleSpecType::CurrentUser => RoleSpec::Current,
        RoleSpecType::SessionUser => RoleSpec::Session,
        RoleSpecType::Public => RoleSpec::Public,
        RoleSpecType::Cstring => RoleSpec::Named(name(spec.rolename())),
    }
}

fn role_list(specs: List<'_, syntax::RoleSpec<'_>>) -> Vec<RoleSpec> {
    specs.iter().map(role).collect()
}

fn is_cascade(behavior: syntax::DropBehavior) -> bool {
    behavior == syntax::DropBehavior::Cascade
}

fn no_policies() -> Error {
    unsupported("row-level security")
}

/// 0LP01.
fn invalid(message: &str) -> Error {
    Error::new(SqlState::InvalidGrant, message)
}

#[cfg(test)]
mod tests {
    use crate::statement::command::{Asked, Command};

    fn shown(text: &str) -> String {
        match Asked::of(text) {
            Ok((Asked::Command(command), _)) => match *command {
                Command::Rights(statement) => format!("{statement:?}"),
                _ => "another".to_owned(),
            },
            Ok(_) => "another".to_owned(),
            Err(fault) => fault.state.code().to_owned(),
        }
    }

    #[test]
    fn other_statements_are_left_to_others() {
        for text in [
            "SELECT 1",
            "CREATE TABLE role (a int)",
            "ALTER TABLE t ADD COLUMN owner int",
            "ALTER TABLE t OWNER TO a, ADD b int",
            "DROP TABLE t",
            "SET timezone = 'UTC'",
            "RESET ALL",
            "CREATE USER MAPPING FOR a SERVER b",
            "ALTER DATABASE d RENAME TO e",
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
            ("GRANT ALL ON SCHEMA a, b TO c", "wanted: [Wanted { name: None, columns: [] }]"),
            ("GRANT SELECT (a, b), INSERT ON t TO ann WITH GRANT OPTION", "with_option: true"),
            ("REVOKE GRANT OPTION FOR SELECT ON t FROM ann CASCADE", "options_only: true"),
            ("GRANT a, b TO c WITH ADMIN OPTION GRANTED BY d", "admin: true"),
            ("REVOKE ADMIN OPTION FOR a FROM b", "only_admin: true"),
            ("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO a", "AllSequences([\"public\"])"),
            (
                "ALTER DEFAULT PRIVILEGES FOR ROLE a IN SCHEMA public GRANT SELECT ON TABLES TO b",
                "Kind(\"tables\")",
            ),
            ("ALTER DEFAULT PRIVILEGES IN SCHEMA x GRANT SELECT ON TABLES TO b", "[\"x\"]"),
            ("ALTER VIEW v OWNER TO CURRENT_USER", "to: Current"),
            ("ALTER SCHEMA s OWNER TO a", "kind: \"schema\", name: s"),
            ("ALTER TABLE IF EXISTS public.t OWNER TO a", "name: public.t, if_exists: true"),
            ("ALTER ROLE a RENAME TO \"B\"", "from: Named(\"a\"), to: \"B\""),
            ("DROP USER IF EXISTS a, session_user", "[Named(\"a\"), Session], if_exists: true"),
            ("REASSIGN OWNED BY a TO b", "to: Some(Named(\"b\"))"),
            ("DROP OWNED BY a, b CASCADE", "cascade: true"),
            ("ALTER GROUP g ADD USER a", "grant: true"),
            ("ALTER GROUP g DROP USER a, b", "members: [Named(\"a\"), Named(\"b\")]"),
        ] {
            assert!(shown(text).contains(part), "{text}: {}", shown(text));
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_passwords() {
        for (text, state) in [
            ("CREATE ROLE", "42601"),
            ("CREATE ROLE a FLY", "42601"),
            ("CREATE ROLE a LOGIN NOLOGIN", "42601"),
            ("GRANT SELECT ON t", "42601"),
            ("GRANT SELECT ON t TO none", "42939"),
            ("GRANT a (b) TO c", "0LP01"),
            ("GRANT EXECUTE ON FUNCTION f TO a", "0A000"),
            ("CREATE POLICY p ON t", "0A000"),
            ("DROP POLICY p ON t", "0A000"),
            ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "0A000"),
        ] {
            assert_eq!(shown(text), state, "{text}");
        }
        let fault = Asked::of("CREATE ROLE a LOGIN PASSWORD 'x' LOGIN").expect_err("twice");
        assert_eq!(fault.position, Some(34));
        assert!(!shown("CREATE ROLE a PASSWORD 'secret'").contains("secret"));
    }
}
