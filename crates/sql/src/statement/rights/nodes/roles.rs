//! CREATE and ALTER ROLE, USER and GROUP.

use engine::types::Result;
use syntax::{AlterRoleStmt, CreateRoleStmt, DefElem, List, Node, RoleStmtType};

use super::{name, role};
use crate::statement::constraint::unsupported;
use crate::statement::option;
use crate::statement::rights::tree::{Membership, RightsStatement, RoleOption, RoleSpec};

/// CREATE ROLE, USER, GROUP
pub fn create(create: CreateRoleStmt<'_>, text: &str) -> Result<RightsStatement> {
    Ok(RightsStatement::CreateRole {
        name: name(create.role()),
        login: create.stmt_type() == RoleStmtType::User,
        options: options(create.options(), text)?,
    })
}

/// ALTER ROLE and USER with options, ALTER GROUP ADD and DROP USER.
pub fn alter(alter: AlterRoleStmt<'_>, text: &str) -> Result<RightsStatement> {
    let whose = alter.role().map(role).expect("the grammar has one");
    let members = alter.options().iter().find(|given| given.defname() == Some("rolemembers"));
    let Some(members) = members else {
        let options = options(alter.options(), text)?;
        return Ok(RightsStatement::AlterRole { role: whose, options });
    };
    let RoleSpec::Named(group) = whose else {
        return Err(unsupported("ALTER GROUP of the current user"));
    };
    Ok(RightsStatement::Membership(Membership {
        grant: alter.action() > 0,
        roles: vec![group],
        members: roles(members),
        admin: false,
        only_admin: false,
        granted_by: None,
    }))
}

fn options(given: List<'_, DefElem<'_>>, text: &str) -> Result<Vec<RoleOption>> {
    option::check_distinct(given.iter(), text)?;
    Ok(given.iter().map(role_option).collect())
}

fn role_option(given: DefElem<'_>) -> RoleOption {
    let on = || option::flag(given);
    match given.defname().unwrap_or_default() {
        "superuser" => RoleOption::Superuser(on()),
        "createdb" => RoleOption::CreateDatabase(on()),
        "createrole" => RoleOption::CreateRole(on()),
        "inherit" => RoleOption::Inherit(on()),
        "canlogin" => RoleOption::Login(on()),
        "isreplication" => RoleOption::Replication(on()),
        "bypassrls" => RoleOption::BypassPolicies(on()),
        "connectionlimit" => RoleOption::ConnectionLimit(integer(given)),
        "validUntil" => RoleOption::ValidUntil(name(option::string(given))),
        "password" => RoleOption::Password(option::string(given).map(str::to_owned)),
        "addroleto" => RoleOption::In(roles(given)),
        "rolemembers" => RoleOption::Members(roles(given)),
        "adminmembers" => RoleOption::Admins(roles(given)),
        "sysid" => RoleOption::Ignored,
        other => unreachable!("the grammar knows no option {other} of a role"),
    }
}

fn integer(given: DefElem<'_>) -> i32 {
    match given.arg() {
        Some(Node::IntegerValue(value)) => value.value(),
        _ => unreachable!("the grammar takes an integer alone"),
    }
}

fn roles(given: DefElem<'_>) -> Vec<RoleSpec> {
    option::list::<syntax::RoleSpec<'_>>(given).into_iter().map(role).collect()
}
