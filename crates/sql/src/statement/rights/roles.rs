//! CREATE, ALTER, DROP ROLE.

use engine::types::{DataType, Definition, Error, Result, SqlState, Value};

use super::memberships::{self, add_member};
use super::tree::{RoleOption, RoleSpec};
use super::{known, put_kept, put_role, role_of};
use crate::catalog::Catalog;
use crate::rights::{Holder, NEXT_ROLE, Object, Role, RoleId, refused};
use crate::session::Session;
use crate::statement::constraint::unsupported;

/// CREATE ROLE
pub async fn create(
    session: &mut Session,
    name: &str,
    login: bool,
    options: &[RoleOption],
) -> Result<()> {
    let catalog = session.catalog();
    let holder = session.holder();
    let mut role = Role { login, ..Role::new(catalog.rights().next_role(), name) };
    apply(session, &mut role, options)?;
    may_create(&catalog, &holder, &role)?;
    refuse_reserved(name)?;
    if catalog.rights().find(name).is_some() {
        let message = format!("role \"{name}\" already exists");
        return Err(Error::new(SqlState::DuplicateObject, message));
    }
    let mut changed = Vec::new();
    for option in options {
        match option {
            RoleOption::In(others) => {
                for other in others {
                    let other = known(&catalog, role_of(session, &catalog, other)?)?;
                    memberships::may_change(&catalog, &holder, &other)?;
                    add_member(session, &catalog, &other, &mut role, &holder, false)?;
                }
            }
            RoleOption::Members(members) | RoleOption::Admins(members) => {
                let admin = matches!(option, RoleOption::Admins(_));
                for member in members {
                    let mut member = known(&catalog, role_of(session, &catalog, member)?)?;
                    add_member(session, &catalog, &role, &mut member, &holder, admin)?;
                    changed.push(put_role(&member));
                }
            }
            _ => {}
        }
    }
    let next = (role.id.0 + 1).to_string().into_bytes();
    changed.push(Definition::PutEntry { key: NEXT_ROLE.to_owned(), value: Some(next) });
    changed.push(put_role(&role));
    session.define_all(changed).await
}

fn may_create(catalog: &Catalog, holder: &Holder, role: &Role) -> Result<()> {
    if holder.superuser {
        return Ok(());
    }
    if role.superuser {
        return Err(refused("must be superuser to create superusers"));
    }
    if role.replication {
        return Err(refused("must be superuser to create replication users"));
    }
    if role.bypass_policies {
        return Err(refused("must be superuser to create bypassrls users"));
    }
    match creates_roles(catalog, holder) {
        true => Ok(()),
        false => Err(refused("permission denied to create role")),
    }
}

/// CREATEROLE, which is not inherited.
pub fn creates_roles(catalog: &Catalog, holder: &Holder) -> bool {
    let own = catalog.rights().role_of(holder.role);
    holder.superuser || own.is_some_and(|role| role.create_role)
}

fn refuse_reserved(name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        let message = format!("role name \"{name}\" is reserved");
        return Err(Error::new(SqlState::InvalidRoleName, message)
            .detail("Role names starting with \"pg_\" are reserved."));
    }
    if matches!(name, "public" | "none") {
        let message = format!("role name \"{name}\" is reserved");
        return Err(Error::new(SqlState::InvalidRoleName, message));
    }
    if name.chars().any(|c| c.is_control()) || name.is_empty() {
        return Err(Error::new(SqlState::InvalidName, "a role's name holds no control characters"));
    }
    Ok(())
}

/// Takes what the statement says about the role itself.
fn apply(session: &mut Session, role: &mut Role, options: &[RoleOption]) -> Result<()> {
    for option in options {
        match option {
            RoleOption::Superuser(on) => role.superuser = *on,
            RoleOption::CreateDatabase(on) => role.create_database = *on,
            RoleOption::CreateRole(on) => role.create_role = *on,
            RoleOption::Inherit(on) => role.inherit = *on,
            RoleOption::Login(on) => role.login = *on,
            RoleOption::Replication(on) => role.replication = *on,
            RoleOption::BypassPolicies(on) => role.bypass_policies = *on,
            RoleOption::ConnectionLimit(limit) if *limit < -1 => {
                let message = format!("invalid connection limit: {limit}");
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
            RoleOption::ConnectionLimit(limit) => role.connection_limit = *limit,
            RoleOption::ValidUntil(text) => role.valid_until = moment(text)?,
            RoleOption::Password(password) => {
                role.verifier = verifier(session, password.as_deref())?
            }
            RoleOption::In(_)
            | RoleOption::Members(_)
            | RoleOption::Admins(_)
            | RoleOption::Ignored => {}
        }
    }
    Ok(())
}

/// A time; `None` for ever.
fn moment(text: &str) -> Result<Option<i64>> {
    if text.trim().eq_ignore_ascii_case("infinity") {
        return Ok(None);
    }
    match crate::text::parse_value(text, DataType::TimestampTz)? {
        Value::TimestampTz(moment) => Ok(Some(moment)),
        other => unreachable!("a time is no {other:?}"),
    }
}

/// What is stored instead of the password.
fn verifier(session: &mut Session, password: Option<&str>) -> Result<Option<String>> {
    let Some(text) = password else { return Ok(None) };
    if text.is_empty() {
        let message = "empty string is not a valid password, clearing password";
        session.notice(Error::new(SqlState::SuccessfulCompletion, message));
        return Ok(None);
    }
    if text.len() == 35 && text.starts_with("md5") {
        return Err(unsupported("an MD5 password"));
    }
    match session.database().password_verifier {
        Some(make) => Ok(Some(make(text))),
        None if text.starts_with("SCRAM-SHA-256$") => Ok(Some(text.to_owned())),
        None => Err(unsupported("setting a password")),
    }
}

/// ALTER ROLE
pub async fn alter(session: &mut Session, spec: &RoleSpec, options: &[RoleOption]) -> Result<()> {
    let catalog = session.catalog();
    let holder = session.holder();
    let mut role = known(&catalog, role_of(session, &catalog, spec)?)?;
    may_alter(&catalog, &holder, &role, options)?;
    if role.id == crate::rights::FIRST && options.contains(&RoleOption::Superuser(false)) {
        let message = format!("permission denied: role \"{}\" must stay a superuser", role.name);
        return Err(refused(message));
    }
    apply(session, &mut role, options)?;
    session.define_all(vec![put_role(&role)]).await
}

/// A role may change its own password, and nothing else without being asked.
fn may_alter(
    catalog: &Catalog,
    holder: &Holder,
    role: &Role,
    options: &[RoleOption],
) -> Result<()> {
    if holder.superuser {
        return Ok(());
    }
    let names = |wanted: fn(&RoleOption) -> bool| options.iter().any(wanted);
    if role.superuser || names(|option| matches!(option, RoleOption::Superuser(_))) {
        return Err(refused(
            "must be superuser to alter superuser roles or change superuser attribute",
        ));
    }
    if role.replication || names(|option| matches!(option, RoleOption::Replication(_))) {
        return Err(refused(
            "must be superuser to alter replication roles or change replication attribute",
        ));
    }
    if names(|option| matches!(option, RoleOption::BypassPolicies(_))) {
        return Err(refused("must be superuser to change bypassrls attribute"));
    }
    let own_password = role.id == holder.role
        && options.iter().all(|option| matches!(option, RoleOption::Password(_)));
    match creates_roles(catalog, holder) || own_password {
        true => Ok(()),
        false => Err(refused("permission denied")),
    }
}

/// ALTER ROLE ... RENAME TO
pub async fn rename(session: &mut Session, from: &RoleSpec, to: &str) -> Result<()> {
    let catalog = session.catalog();
    let holder = session.holder();
    let role = known(&catalog, role_of(session, &catalog, from)?)?;
    if role.id == session.session_role(&catalog) {
        return Err(unsupported("renaming the session's user"));
    }
    if role.id == holder.role {
        return Err(unsupported("renaming the current user"));
    }
    if role.is_pinned() {
        let message = format!("role name \"{}\" is reserved", role.name);
        return Err(Error::new(SqlState::InvalidRoleName, message));
    }
    refuse_reserved(to)?;
    if catalog.rights().find(to).is_some() {
        let message = format!("role \"{to}\" already exists");
        return Err(Error::new(SqlState::DuplicateObject, message));
    }
    may_drop(&catalog, &holder, &role, "must be superuser to rename superusers", "rename")?;
    let gone = Definition::PutEntry { key: Role::key(&role.name), value: None };
    let renamed = Role { name: to.to_owned(), ..role };
    session.define_all(vec![gone, put_role(&renamed)]).await
}

fn may_drop(
    catalog: &Catalog,
    holder: &Holder,
    role: &Role,
    of_superusers: &str,
    verb: &str,
) -> Result<()> {
    if role.superuser && !holder.superuser {
        return Err(refused(of_superusers));
    }
    match creates_roles(catalog, holder) {
        true => Ok(()),
        false => Err(refused(format!("permission denied to {verb} role"))),
    }
}

/// DROP ROLE
pub async fn drop(session: &mut Session, specs: &[RoleSpec], if_exists: bool) -> Result<()> {
    let catalog = session.catalog();
    let holder = session.holder();
    if !creates_roles(&catalog, &holder) {
        return Err(refused("permission denied to drop role"));
    }
    let mut dropped: Vec<Role> = Vec::new();
    for spec in specs {
        let RoleSpec::Named(name) = spec else {
            let message = "cannot use special role specifier in DROP ROLE";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        };
        match catalog.rights().find(name) {
            Some(role) if dropped.contains(role) => {}
            Some(role) => {
                may_be_dropped(session, &catalog, &holder, role)?;
                dropped.push(role.clone());
            }
            None if if_exists => {
                let message = format!("role \"{name}\" does not exist, skipping");
                session.notice(Error::new(SqlState::SuccessfulCompletion, message));
            }
            None => return Err(crate::rights::undefined_role(name)),
        }
    }
    let ids: Vec<RoleId> = dropped.iter().map(|role| role.id).collect();
    let gone = dropped.iter();
    let gone = gone.map(|role| Definition::PutEntry { key: Role::key(&role.name), value: None });
    let mut changed: Vec<Definition> = gone.collect();
    let kept = catalog.rights().kept().filter(|(key, _)| ids.contains(&key.role));
    changed.extend(kept.map(|(key, _)| put_kept(key, None)));
    for other in catalog.rights().roles().filter(|role| !ids.contains(&role.id)) {
        let kept = other.memberships.iter().filter(|membership| !ids.contains(&membership.role));
        let kept: Vec<_> = kept.copied().collect();
        if kept.len() < other.memberships.len() {
            changed.push(put_role(&Role { memberships: kept, ..other.clone() }));
        }
    }
    session.define_all(changed).await
}

fn may_be_dropped(
    session: &mut Session,
    catalog: &Catalog,
    holder: &Holder,
    role: &Role,
) -> Result<()> {
    if role.id == holder.role {
        return Err(Error::new(SqlState::ObjectInUse, "current user cannot be dropped"));
    }
    if role.id == session.session_role(catalog) {
        return Err(Error::new(SqlState::ObjectInUse, "session user cannot be dropped"));
    }
    if role.is_pinned() {
        let message =
            format!("cannot drop role {} because it is required by the database system", role.name);
        return Err(Error::new(SqlState::DependentObjects, message));
    }
    may_drop(catalog, holder, role, "must be superuser to drop superusers", "drop")?;
    let details = dependents(catalog, role.id);
    if details.is_empty() {
        return Ok(());
    }
    let message =
        format!("role \"{}\" cannot be dropped because some objects depend on it", role.name);
    Err(Error::new(SqlState::DependentObjects, message).detail(details.join("\n")))
}

/// What a role owns, and where it is named.
fn dependents(catalog: &Catalog, role: RoleId) -> Vec<String> {
    let rights = catalog.rights();
    let mut details = Vec::new();
    for (object, access) in rights.objects() {
        let what = match object {
            Object::Relation(name) if catalog.has_relation(name) => {
                format!("{} {name}", crate::rights::kind_of(catalog, name).1)
            }
            Object::Relation(_) => continue,
            Object::Schema(name) => format!("schema {name}"),
            Object::Database => "database shareddb".to_owned(),
        };
        if access.owner == role {
            details.push(format!("owner of {what}"));
        } else if access.names(role) {
            details.push(format!("privileges for {what}"));
        }
    }
    for (key, acl) in rights.defaults() {
        if key.role == role || acl.names(role) {
            let of = rights.name_of(key.role);
            let kind = if key.letter() == 'S' { "sequences" } else { "relations" };
            let place = if key.in_public { " in schema public" } else { "" };
            let lead = if key.role == role { "owner of" } else { "privileges for" };
            details.push(format!(
                "{lead} default privileges on new {kind} belonging to role {of}{place}"
            ));
        }
    }
    details
}
