//! ALTER ... OWNER TO, REASSIGN OWNED, DROP OWNED.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectType};
use engine::types::{Definition, Error, Result, SqlState};

use super::grants::in_public;
use super::tree::{Name, Owned, RoleSpec};
use super::{put_access, put_default, role_of};
use crate::catalog::Catalog;
use crate::rights::{
    Acl, Holder, Object, ObjectKind, Privileges, RoleId, denied, kind_of, not_owner, refused,
};
use crate::session::Session;
use crate::statement::drop::{Drop, drop as drop_objects};
use crate::statement::naming::undefined_table;

/// ALTER kind name OWNER TO role
pub async fn alter(
    session: &mut Session,
    kind: &str,
    name: &Name,
    if_exists: bool,
    to: &RoleSpec,
) -> Result<()> {
    let catalog = session.catalog();
    let holder = session.holder();
    let object = match kind {
        "schema" | "database" => place(kind, name)?,
        _ => match relation(&catalog, kind, name) {
            Ok(Some(name)) => Object::Relation(name),
            Ok(None) => {
                let bare = name.0.last().cloned().unwrap_or_default();
                let message = format!("cannot change owner of index \"{bare}\"");
                let hint = "Change the ownership of the index's table, instead.";
                session.notice(Error::new(SqlState::Warning, message).hint(hint));
                return Ok(());
            }
            Err(fault) if if_exists && fault.state == SqlState::UndefinedTable => {
                let message = format!("relation \"{name:?}\" does not exist, skipping");
                session.notice(Error::new(SqlState::SuccessfulCompletion, message));
                return Ok(());
            }
            Err(fault) => return Err(fault),
        },
    };
    let to = role_of(session, &catalog, to)?;
    let changed = transfer(&catalog, &holder, &object, to)?;
    session.define_all(changed).await
}

fn place(kind: &str, name: &Name) -> Result<Object> {
    let bare = name.0.last().cloned().unwrap_or_default();
    match (kind, bare.as_str()) {
        ("database", "shareddb") => Ok(Object::Database),
        ("database", _) => {
            let message = format!("database \"{bare}\" does not exist");
            Err(Error::new(SqlState::InvalidDatabase, message))
        }
        (_, "public") => Ok(Object::Schema(bare)),
        (_, "pg_catalog" | "information_schema" | "shareddb") => Err(not_owner("schema", &bare)),
        _ => {
            let message = format!("schema \"{bare}\" does not exist");
            Err(Error::new(SqlState::InvalidSchema, message))
        }
    }
}

/// The relation, `None` for an index.
fn relation(catalog: &Catalog, kind: &str, name: &Name) -> Result<Option<String>> {
    let bare = in_public(name)?;
    if !catalog.has_relation(&bare) {
        return Err(undefined_table(&bare));
    }
    if catalog.index(&bare).is_some() {
        return Ok(None);
    }
    let is = kind_of(catalog, &bare).1;
    // ALTER TABLE takes any relation.
    if kind != "table" && kind != is {
        let article = if kind == "index" { "an" } else { "a" };
        let message = format!("\"{bare}\" is not {article} {kind}");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    if let Some((owner, _)) = catalog.sequence(&bare).and_then(|sequence| sequence.owner)
        && let Some(table) = catalog.table_by_id(owner)
    {
        let message = format!("cannot change owner of sequence \"{bare}\"");
        let detail = format!("Sequence \"{bare}\" is linked to table \"{}\".", table.name);
        return Err(Error::new(SqlState::FeatureNotSupported, message).detail(detail));
    }
    Ok(Some(bare))
}

/// Gives an object, and the sequences of a table, to another role.
fn transfer(
    catalog: &Catalog,
    holder: &Holder,
    object: &Object,
    to: RoleId,
) -> Result<Vec<Definition>> {
    let rights = catalog.rights();
    let access = rights.access(object);
    if access.owner == to {
        return Ok(Vec::new());
    }
    if !holder.superuser {
        if !holder.has(access.owner) {
            return Err(match object {
                Object::Relation(name) => not_owner(kind_of(catalog, name).1, name),
                Object::Schema(name) => not_owner("schema", name),
                Object::Database => not_owner("database", "shareddb"),
            });
        }
        if !rights.memberships(holder.role).contains(&to) {
            let name = rights.name_of(to);
            return Err(refused(format!("must be member of role \"{name}\"")));
        }
        let new = Holder::of(rights, to);
        match object {
            Object::Relation(_) => rights.demand_schema(&new, "public", Privileges::CREATE)?,
            Object::Schema(_) => {
                let held = rights.held(holder, &Object::Database, ObjectKind::Database);
                if !held.holds(Privileges::CREATE) {
                    return Err(denied("database", "shareddb"));
                }
            }
            Object::Database => {}
        }
    }
    Ok(given(catalog, object, to))
}

fn given(catalog: &Catalog, object: &Object, to: RoleId) -> Vec<Definition> {
    let mut objects = vec![object.clone()];
    if let Object::Relation(name) = object
        && let Some(table) = catalog.table(None, name)
    {
        let sequences = catalog.sequences().into_iter();
        let own = sequences.filter(|s| s.owner.is_some_and(|(owner, _)| owner == table.id));
        objects.extend(own.map(|sequence| Object::Relation(sequence.name.to_string())));
    }
    let changed = objects.into_iter().map(|object| {
        let mut access = catalog.rights().access(&object);
        access.change_owner(to);
        put_access(&object, &access)
    });
    changed.collect()
}

/// REASSIGN OWNED and DROP OWNED.
pub async fn owned(session: &mut Session, statement: &Owned) -> Result<()> {
    let defining = session.define_alone().await?;
    let catalog = session.catalog();
    let holder = session.holder();
    let mut roles = Vec::new();
    for spec in &statement.roles {
        let role = role_of(session, &catalog, spec)?;
        if !holder.has(role) {
            let name = catalog.rights().name_of(role);
            let verb = if statement.to.is_some() { "reassign" } else { "drop" };
            return Err(refused(format!("permission denied to {verb} objects"))
                .detail(format!("Only roles with privileges of role \"{name}\" may do that.")));
        }
        if catalog.rights().role_of(role).is_none_or(|role| role.is_pinned()) {
            let name = catalog.rights().name_of(role);
            let message = format!(
                "cannot reassign or drop objects owned by role {name} because they are required by \
                 the database system"
            );
            return Err(Error::new(SqlState::DependentObjects, message));
        }
        roles.push(role);
    }
    match &statement.to {
        Some(to) => {
            let to = role_of(session, &catalog, to)?;
            if !holder.has(to) {
                return Err(refused("permission denied to reassign objects"));
            }
            let own =
                catalog.rights().objects().filter(|(_, access)| roles.contains(&access.owner));
            let mut changed = Vec::new();
            for (object, _) in own {
                changed.extend(given(&catalog, object, to));
            }
            session.define_all(changed).await
        }
        None => {
            let names = disown(session, &catalog, &roles).await?;
            std::mem::drop(defining);
            drop_all(session, &names, statement.cascade).await
        }
    }
}

/// Takes roles out of all lists; gives the relations that are theirs.
async fn disown(session: &mut Session, catalog: &Catalog, roles: &[RoleId]) -> Result<Vec<String>> {
    let rights = catalog.rights();
    let mut changed = Vec::new();
    for (key, acl) in rights.defaults() {
        let mut acl = acl.clone();
        roles.iter().for_each(|role| acl.forget(*role));
        let gone = roles.contains(&key.role) || acl == Acl::default();
        changed.push(put_default(key, (!gone).then(|| acl.encode())));
    }
    let mut names = Vec::new();
    for (object, access) in rights.objects() {
        match object {
            Object::Relation(name) if roles.contains(&access.owner) => names.push(name.clone()),
            _ if roles.iter().any(|role| access.names(*role)) => {
                let mut access = access.clone();
                access.lists().for_each(|acl| roles.iter().for_each(|role| acl.forget(*role)));
                changed.push(put_access(object, &access));
            }
            _ => {}
        }
    }
    session.define_all(changed).await?;
    Ok(names)
}

async fn drop_all(session: &mut Session, names: &[String], cascade: bool) -> Result<()> {
    for (kind, word) in [
        (ObjectType::View, "view"),
        (ObjectType::Table, "table"),
        (ObjectType::Sequence, "sequence"),
    ] {
        let catalog = session.catalog();
        let left = names.iter().filter(|name| catalog.has_relation(name));
        let left: Vec<ObjectName> = left
            .filter(|name| kind_of(&catalog, name).1 == word)
            .map(|name| ObjectName::from(vec![Ident::with_quote('"', name)]))
            .collect();
        if !left.is_empty() {
            drop_objects(session, Drop { kind, names: &left, if_exists: true, cascade }).await?;
        }
    }
    Ok(())
}
