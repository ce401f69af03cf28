//! ALTER ROLE and ALTER DATABASE ... SET and RESET: what sessions to come begin with.

use engine::types::{Error, Result, SqlState};

use super::roles::creates_roles;
use super::tree::{AlterSettings, KeptChange, RoleSpec};
use super::{known, put_kept, role_of};
use crate::catalog::Catalog;
use crate::rights::{Holder, KeptKey, KeptSettings, Object, PUBLIC, RoleId, not_owner, refused};
use crate::session::{Session, Settings};
use crate::statement::constraint::unsupported;

/// Runs it. No session that there is has its settings changed.
pub async fn alter(session: &mut Session, alter: &AlterSettings) -> Result<()> {
    let catalog = session.catalog();
    let key = key(session, &catalog, alter)?;
    let before = catalog.rights().kept_of(key);
    let mut kept = before.cloned().unwrap_or_default();
    change(session, &mut kept, &alter.change)?;
    if kept == before.cloned().unwrap_or_default() {
        return Ok(());
    }
    session.define_all(vec![put_kept(key, Some(&kept))]).await
}

/// Whose settings the statement changes, where it may.
fn key(session: &mut Session, catalog: &Catalog, alter: &AlterSettings) -> Result<KeptKey> {
    let holder = session.holder();
    let role = match &alter.role {
        Some(role) => changed_role(session, catalog, &holder, role)?,
        None => PUBLIC,
    };
    match &alter.database {
        Some(name) if name != "shareddb" => {
            let message = format!("database \"{name}\" does not exist");
            return Err(Error::new(SqlState::InvalidDatabase, message));
        }
        Some(name) if role == PUBLIC && !catalog.rights().owns(&holder, &Object::Database) => {
            return Err(not_owner("database", name));
        }
        None if role == PUBLIC && !holder.superuser => {
            return Err(refused("must be superuser to alter settings globally"));
        }
        _ => {}
    }
    Ok(KeptKey { role, in_database: alter.database.is_some() })
}

fn changed_role(
    session: &mut Session,
    catalog: &Catalog,
    holder: &Holder,
    role: &RoleSpec,
) -> Result<RoleId> {
    if let RoleSpec::Named(name) = role
        && name.starts_with("pg_")
    {
        let message = format!("role name \"{name}\" is reserved");
        let detail = "Cannot alter reserved roles.";
        return Err(Error::new(SqlState::InvalidRoleName, message).detail(detail));
    }
    let role = known(catalog, role_of(session, catalog, role)?)?;
    if role.superuser && !holder.superuser {
        return Err(refused("must be superuser to alter superusers"));
    }
    match role.superuser || role.id == holder.role || creates_roles(catalog, holder) {
        true => Ok(role.id),
        false => Err(refused("permission denied")),
    }
}

fn change(session: &mut Session, kept: &mut KeptSettings, change: &KeptChange) -> Result<()> {
    let superuser = session.holder().superuser;
    match change {
        KeptChange::Set { name, value } => {
            kept.put(may_keep(superuser, name, Some(value))?, value.clone());
        }
        KeptChange::FromCurrent(name) => {
            let value = session.show_setting(name)?;
            kept.put(may_keep(superuser, name, Some(&value))?, value);
        }
        KeptChange::Reset(name) => {
            // What is kept goes, even if this server does not know it; where nothing is, PostgreSQL does not ask either.
            let is_asked = !kept.has(name) || !superuser && is_custom(name);
            if is_asked && !kept.is_empty() {
                may_keep(superuser, name, None)?;
            }
            kept.retain(|other| !other.eq_ignore_ascii_case(name));
        }
        KeptChange::ResetAll => kept.retain(|name| !superuser && is_custom(name)),
    }
    Ok(())
}

/// The name under which a setting is kept. As in PostgreSQL only superusers keep settings that nobody has defined: somebody may
/// one day.
fn may_keep<'a>(superuser: bool, name: &'a str, value: Option<&str>) -> Result<&'a str> {
    match Settings::check(name, value) {
        Ok(Some(own)) => Ok(own),
        Ok(None) if superuser => Ok(name),
        Ok(None) => Err(refused(format!("permission denied to set parameter \"{name}\""))),
        Err(_) if is_identity(name) && value.is_none() => Ok(name),
        Err(_) if is_identity(name) => Err(unsupported(&format!("ALTER ... SET {name}"))),
        Err(fault) => Err(fault),
    }
}

fn is_custom(name: &str) -> bool {
    Settings::check(name, None) == Ok(None)
}

/// What PostgreSQL keeps, too, and changes by statements of its own.
fn is_identity(name: &str) -> bool {
    ["role", "session_authorization"].iter().any(|own| own.eq_ignore_ascii_case(name))
}
