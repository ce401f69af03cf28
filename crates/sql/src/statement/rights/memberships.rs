//! GRANT role TO role, and REVOKE.

use engine::types::{Error, Result, SqlState};

use super::roles::creates_roles;
use super::tree::{self, RoleSpec};
use super::{known, put_role, role_of};
use crate::catalog::Catalog;
use crate::rights::{DATABASE_OWNER, Holder, Membership, Role, refused};
use crate::session::Session;

/// GRANT and REVOKE of roles.
pub async fn run(session: &mut Session, statement: &tree::Membership) -> Result<()> {
    for role in &statement.roles {
        for member in &statement.members {
            one(session, statement, role, member).await?;
        }
    }
    Ok(())
}

async fn one(
    session: &mut Session,
    statement: &tree::Membership,
    role: &str,
    member: &RoleSpec,
) -> Result<()> {
    let catalog = session.catalog();
    let holder = session.holder();
    let role = catalog.rights().role(role)?.clone();
    let mut member = known(&catalog, role_of(session, &catalog, member)?)?;
    may_change(&catalog, &holder, &role)?;
    if let Some(grantor) = &statement.granted_by {
        let grantor = role_of(session, &catalog, grantor)?;
        if grantor != holder.role && !holder.superuser {
            return Err(refused("must be superuser to set grantor"));
        }
    }
    let before = member.clone();
    match statement.grant {
        true => add_member(session, &catalog, &role, &mut member, &holder, statement.admin)?,
        false => remove_member(session, &role, &mut member, statement.only_admin),
    }
    match member == before {
        true => Ok(()),
        false => session.define_all(vec![put_role(&member)]).await,
    }
}

/// 42501 unless somebody may say who is a member of a role.
pub fn may_change(catalog: &Catalog, holder: &Holder, role: &Role) -> Result<()> {
    if holder.superuser {
        return Ok(());
    }
    if role.superuser {
        return Err(refused("must be superuser to alter superusers"));
    }
    let may = creates_roles(catalog, holder) || catalog.rights().is_admin_of(holder.role, role.id);
    match may {
        true => Ok(()),
        false => Err(refused(format!("must have admin option on role \"{}\"", role.name))),
    }
}

/// Makes `member` one of `role`.
pub fn add_member(
    session: &mut Session,
    catalog: &Catalog,
    role: &Role,
    member: &mut Role,
    holder: &Holder,
    admin: bool,
) -> Result<()> {
    if role.id == DATABASE_OWNER {
        let message = format!("role \"{}\" cannot have explicit members", role.name);
        return Err(Error::new(SqlState::InvalidGrant, message));
    }
    if role.id == member.id || catalog.rights().memberships(role.id).contains(&member.id) {
        let message = format!("role \"{}\" is a member of role \"{}\"", role.name, member.name);
        return Err(Error::new(SqlState::InvalidGrant, message));
    }
    match member.memberships.iter_mut().find(|membership| membership.role == role.id) {
        Some(membership) if admin && !membership.admin => membership.admin = true,
        Some(_) => {
            let message =
                format!("role \"{}\" is already a member of role \"{}\"", member.name, role.name);
            session.notice(Error::new(SqlState::SuccessfulCompletion, message));
        }
        None => {
            let grantor = holder.role;
            member.memberships.push(Membership { role: role.id, grantor, admin });
        }
    }
    Ok(())
}

fn remove_member(session: &mut Session, role: &Role, member: &mut Role, only_admin: bool) {
    let Some(at) = member.memberships.iter().position(|known| known.role == role.id) else {
        let message = format!("role \"{}\" is not a member of role \"{}\"", member.name, role.name);
        session.notice(Error::new(SqlState::Warning, message));
        return;
    };
    match only_admin {
        true => member.memberships[at].admin = false,
        false => drop(member.memberships.remove(at)),
    }
}
