//! CREATE, ALTER and DROP ROLE, GRANT and REVOKE, owners: statements that change who may do what, or what roles begin with.
//!
//! [`read`] makes trees of PostgreSQL's nodes, [`run`] changes the entries that [`crate::rights`] reads. `utility` says whether a
//! statement that is no query may run. Called by `session::utility`.

mod grants;
mod kept;
mod memberships;
mod nodes;
mod owners;
mod roles;
mod tree;
mod utility;

use engine::types::{Definition, Error, Result, SqlState};

use crate::catalog::Catalog;
use crate::rights::{Access, DefaultKey, KeptKey, KeptSettings, Object, PUBLIC, Role, RoleId};
use crate::session::Session;

pub use nodes::read;
pub use tree::RightsStatement;
use tree::RoleSpec;
pub use utility::{check, check_lock};

/// Runs what changes definitions.
pub async fn run(session: &mut Session, statement: &RightsStatement) -> Result<()> {
    if let RightsStatement::Owned(owned) = statement {
        // DROP OWNED waits for its turn by itself: it runs other statements.
        return owners::owned(session, owned).await;
    }
    let _defining = session.define_alone().await?;
    match statement {
        RightsStatement::CreateRole { name, login, options } => {
            roles::create(session, name, *login, options).await
        }
        RightsStatement::AlterRole { role, options } => roles::alter(session, role, options).await,
        RightsStatement::RenameRole { from, to } => roles::rename(session, from, to).await,
        RightsStatement::DropRoles { roles, if_exists } => {
            roles::drop(session, roles, *if_exists).await
        }
        RightsStatement::Grant(grant) => grants::run(session, grant).await,
        RightsStatement::Membership(membership) => memberships::run(session, membership).await,
        RightsStatement::Defaults { roles, schemas, grant } => {
            grants::defaults(session, roles, schemas, grant).await
        }
        RightsStatement::Owner { kind, name, if_exists, to } => {
            owners::alter(session, kind, name, *if_exists, to).await
        }
        RightsStatement::Settings(alter) => kept::alter(session, alter).await,
        RightsStatement::Owned(_) => Ok(()),
    }
}

/// The statement's tag.
pub fn tag(statement: &RightsStatement) -> String {
    match statement {
        RightsStatement::CreateRole { .. } => "CREATE ROLE",
        RightsStatement::AlterRole { .. } | RightsStatement::RenameRole { .. } => "ALTER ROLE",
        RightsStatement::DropRoles { .. } => "DROP ROLE",
        RightsStatement::Grant(grant) if grant.is_grant => "GRANT",
        RightsStatement::Grant(_) => "REVOKE",
        RightsStatement::Membership(membership) if membership.grant => "GRANT ROLE",
        RightsStatement::Membership(_) => "REVOKE ROLE",
        RightsStatement::Defaults { .. } => "ALTER DEFAULT PRIVILEGES",
        RightsStatement::Owner { kind, .. } => return format!("ALTER {}", kind.to_uppercase()),
        RightsStatement::Settings(alter) => alter.tag,
        RightsStatement::Owned(owned) if owned.to.is_some() => "REASSIGN OWNED",
        RightsStatement::Owned(_) => "DROP OWNED",
    }
    .to_owned()
}

/// The role that a statement names; 42704.
fn role_of(session: &mut Session, catalog: &Catalog, spec: &RoleSpec) -> Result<RoleId> {
    match spec {
        RoleSpec::Named(name) => catalog.rights().role(name).map(|role| role.id),
        RoleSpec::Current => Ok(session.standing().role),
        RoleSpec::Session => Ok(session.session_role(catalog)),
        RoleSpec::Public => Err(crate::rights::undefined_role("public")),
    }
}

/// The same where PUBLIC will do.
fn grantee_of(session: &mut Session, catalog: &Catalog, spec: &RoleSpec) -> Result<RoleId> {
    match spec {
        RoleSpec::Public => Ok(PUBLIC),
        spec => role_of(session, catalog, spec),
    }
}

/// A role that is there, to be changed.
fn known(catalog: &Catalog, id: RoleId) -> Result<Role> {
    let missing = || Error::new(SqlState::UndefinedObject, "the role does not exist any more");
    catalog.rights().role_of(id).cloned().ok_or_else(missing)
}

fn put_role(role: &Role) -> Definition {
    Definition::PutEntry { key: Role::key(&role.name), value: Some(role.encode()) }
}

fn put_access(object: &Object, access: &Access) -> Definition {
    Definition::PutEntry { key: object.key(), value: Some(access.encode()) }
}

fn put_default(key: DefaultKey, value: Option<String>) -> Definition {
    Definition::PutEntry { key: key.key(), value: value.map(String::into_bytes) }
}

fn put_kept(key: KeptKey, settings: Option<&KeptSettings>) -> Definition {
    let settings = settings.filter(|settings| !settings.is_empty());
    Definition::PutEntry { key: key.key(), value: settings.map(KeptSettings::encode) }
}
