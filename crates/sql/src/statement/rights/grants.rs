//! GRANT and REVOKE of privileges, and ALTER DEFAULT PRIVILEGES.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::types::{Definition, Error, Result, SqlState};

use super::tree::{Grant, Name, RoleSpec, Target, Wanted};
use super::{grantee_of, put_access, put_default, role_of};
use crate::catalog::Catalog;
use crate::rights::{
    Access, Acl, AclItem, DefaultKey, Holder, Object, ObjectKind, PUBLIC, Privileges, RoleId,
    columns_of, denied, kind_of, refused,
};
use crate::session::Session;
use crate::statement::constraint::unsupported;
use crate::statement::naming::{undefined_column, undefined_table};

/// GRANT and REVOKE.
pub async fn run(session: &mut Session, grant: &Grant) -> Result<()> {
    let catalog = session.catalog();
    let holder = session.holder();
    let grantees = grantees(session, &catalog, grant)?;
    if let Some(grantor) = &grant.granted_by
        && role_of(session, &catalog, grantor)? != holder.role
    {
        let message = "grantor must be current user";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let mut changed = Vec::new();
    for object in objects(&catalog, &grant.target)? {
        let saying = Saying { grant, grantees: &grantees, catalog: &catalog, holder: &holder };
        let (access, notices) = saying.about(&object)?;
        notices.into_iter().for_each(|notice| session.notice(notice));
        changed.extend(access.map(|access| put_access(&object.object, &access)));
    }
    session.define_all(changed).await
}

fn grantees(session: &mut Session, catalog: &Catalog, grant: &Grant) -> Result<Vec<RoleId>> {
    let mut grantees = Vec::new();
    for spec in &grant.grantees {
        let grantee = grantee_of(session, catalog, spec)?;
        if grantee == PUBLIC && grant.with_option {
            let message = "grant options can only be granted to roles";
            return Err(Error::new(SqlState::InvalidGrant, message));
        }
        grantees.push(grantee);
    }
    Ok(grantees)
}

/// An object that a statement names.
struct Named {
    object: Object,
    kind: ObjectKind,
    /// In words, for messages.
    word: &'static str,
    name: String,
}

impl Named {
    fn relation(catalog: &Catalog, name: &str) -> Named {
        let (kind, word) = kind_of(catalog, name);
        Named { object: Object::Relation(name.to_owned()), kind, word, name: name.to_owned() }
    }
}

fn objects(catalog: &Catalog, target: &Target) -> Result<Vec<Named>> {
    match target {
        Target::Tables(names) => names
            .iter()
            .map(|name| Ok(Named::relation(catalog, &relation(catalog, name)?)))
            .collect(),
        Target::Sequences(names) => names.iter().map(|name| sequence(catalog, name)).collect(),
        Target::Schemas(names) => names.iter().map(|name| schema(name)).collect(),
        Target::Databases(names) => names.iter().map(|name| database(name)).collect(),
        Target::AllTables(schemas) => {
            let all = all_in_public(schemas)?;
            let tables = catalog.tables().into_iter().map(|table| table.name.to_string());
            let views = catalog.views().into_iter().map(|view| view.name.clone());
            let names = tables.chain(views).filter(|_| all);
            Ok(names.map(|name| Named::relation(catalog, &name)).collect())
        }
        Target::AllSequences(schemas) => {
            let all = all_in_public(schemas)?;
            let sequences = catalog.sequences().into_iter().filter(|_| all);
            Ok(sequences.map(|sequence| Named::relation(catalog, &sequence.name)).collect())
        }
        Target::AllFunctions(schemas) => all_in_public(schemas).map(|_| Vec::new()),
        Target::Kind(kind) => {
            Err(Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{kind}\"")))
        }
    }
}

/// Whether `public` is among the schemas; 3F000 for one that is not there.
fn all_in_public(schemas: &[String]) -> Result<bool> {
    schemas.iter().try_for_each(|name| schema(name).map(drop))?;
    Ok(schemas.iter().any(|name| name == "public"))
}

fn relation(catalog: &Catalog, name: &Name) -> Result<String> {
    let bare = in_public(name)?;
    if catalog.index(&bare).is_some() {
        let message = format!("\"{bare}\" is an index");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    if catalog.has_relation(&bare) { Ok(bare) } else { Err(undefined_table(&bare)) }
}

fn sequence(catalog: &Catalog, name: &Name) -> Result<Named> {
    let bare = relation(catalog, name)?;
    match catalog.sequence(&bare) {
        Some(_) => Ok(Named::relation(catalog, &bare)),
        None => {
            let message = format!("\"{bare}\" is not a sequence");
            Err(Error::new(SqlState::WrongObjectType, message))
        }
    }
}

/// The last part of a name whose schema, if it has one, is `public`.
pub fn in_public(name: &Name) -> Result<String> {
    match name.0.as_slice() {
        [bare] => Ok(bare.clone()),
        [.., place, bare] if place == "public" => Ok(bare.clone()),
        [.., place, bare] if matches!(place.as_str(), "pg_catalog" | "information_schema") => {
            Err(denied("table", bare))
        }
        [.., place, _] => Err(no_schema(place)),
        [] => Err(undefined_table("")),
    }
}

fn no_schema(name: &str) -> Error {
    Error::new(SqlState::InvalidSchema, format!("schema \"{name}\" does not exist"))
}

fn schema(name: &str) -> Result<Named> {
    match name {
        "public" | "pg_catalog" | "information_schema" | "shareddb" => Ok(Named {
            object: Object::Schema(name.to_owned()),
            kind: ObjectKind::Schema,
            word: "schema",
            name: name.to_owned(),
        }),
        _ => Err(no_schema(name)),
    }
}

fn database(name: &str) -> Result<Named> {
    if name != "shareddb" {
        let message = format!("database \"{name}\" does not exist");
        return Err(Error::new(SqlState::InvalidDatabase, message));
    }
    let (object, kind) = (Object::Database, ObjectKind::Database);
    Ok(Named { object, kind, word: "database", name: name.to_owned() })
}

/// A statement that says something.
struct Saying<'a> {
    grant: &'a Grant,
    grantees: &'a [RoleId],
    catalog: &'a Arc<Catalog>,
    holder: &'a Holder,
}

/// Privileges for the whole of an object, and by column.
#[derive(Default)]
struct Asked {
    whole: Privileges,
    all: bool,
    columns: BTreeMap<i16, Privileges>,
}

impl Saying<'_> {
    /// What is known of an object when the statement has said its part, with warnings; `None`: nothing changes.
    fn about(&self, named: &Named) -> Result<(Option<Access>, Vec<Error>)> {
        let mut notices = Vec::new();
        let asked = self.asked(named, &mut notices)?;
        let mut access = self.catalog.rights().access(&named.object);
        let before = access.clone();
        let owner = access.owner;
        if !asked.whole.is_none() || asked.all {
            let mut acl = access.list(named.kind);
            let held = acl.clone();
            self.say(named, owner, &held, &mut acl, (asked.whole, asked.all), &mut notices)?;
            access.acl = Some(acl);
            if !self.grant.is_grant {
                // What is taken from the table is taken from its columns.
                for acl in access.columns.values_mut() {
                    let whole = asked.whole.and(ObjectKind::Column.known());
                    self.say(named, owner, &held, acl, (whole, true), &mut Vec::new())?;
                }
            }
        }
        for (column, privileges) in asked.columns {
            let mut acl = access.columns.remove(&column).unwrap_or_default();
            let mut held = access.list(named.kind);
            acl.items().iter().for_each(|item| drop(held.grant(owner, *item)));
            self.say(named, owner, &held, &mut acl, (privileges, false), &mut notices)?;
            access.columns.insert(column, acl);
        }
        access.columns.retain(|_, acl| !acl.is_empty());
        Ok(((access != before).then_some(access), notices))
    }

    /// Changes one list. `held` says what the speaker may hand on.
    fn say(
        &self,
        named: &Named,
        owner: RoleId,
        held: &Acl,
        acl: &mut Acl,
        (wanted, all): (Privileges, bool),
        notices: &mut Vec<Error>,
    ) -> Result<()> {
        let known = named.kind.known();
        let (grantor, options) =
            self.catalog.rights().best_grantor(self.holder, owner, held, known, wanted);
        if options.is_none() && held.held(&|role| role == grantor).is_none() {
            return Err(denied(named.word, &named.name));
        }
        let privileges = wanted.and(options);
        if privileges.is_none() && !wanted.is_none() {
            notices.push(self.warning("no privileges", named));
        } else if privileges != wanted && !all {
            notices.push(self.warning("not all privileges", named));
        }
        for grantee in self.grantees {
            self.change(owner, acl, grantor, *grantee, privileges)?;
        }
        Ok(())
    }

    fn change(
        &self,
        owner: RoleId,
        acl: &mut Acl,
        grantor: RoleId,
        grantee: RoleId,
        privileges: Privileges,
    ) -> Result<()> {
        let none = Privileges::NONE;
        let options_named = self.grant.with_option || self.grant.options_only;
        let item = AclItem {
            grantee,
            grantor,
            privileges: if self.grant.options_only { none } else { privileges },
            options: if options_named { privileges } else { none },
        };
        match self.grant.is_grant {
            true if privileges.is_none() => Ok(()),
            true => acl.grant(owner, item),
            false => acl.revoke(owner, &item, self.grant.cascade),
        }
    }

    fn warning(&self, what: &str, named: &Named) -> Error {
        let (verb, state) = match self.grant.is_grant {
            true => ("were granted", SqlState::PrivilegeNotGranted),
            false => ("could be revoked", SqlState::PrivilegeNotRevoked),
        };
        Error::new(state, format!("{what} {verb} for \"{}\"", named.name))
    }

    /// The privileges that the statement names, for an object of this kind.
    fn asked(&self, named: &Named, notices: &mut Vec<Error>) -> Result<Asked> {
        let mut asked = Asked::default();
        for wanted in &self.grant.wanted {
            self.add(named, wanted, &mut asked, notices)?;
        }
        Ok(asked)
    }

    fn add(
        &self,
        named: &Named,
        wanted: &Wanted,
        asked: &mut Asked,
        notices: &mut Vec<Error>,
    ) -> Result<()> {
        let privilege = wanted.name.as_deref().map(privilege_named).transpose()?;
        if wanted.columns.is_empty() {
            let Some(privilege) = privilege else {
                (asked.whole, asked.all) = (named.kind.known(), true);
                return Ok(());
            };
            let allowed = check_kind(&self.grant.target, named, privilege)?;
            if !allowed.holds(privilege) {
                let message = format!(
                    "sequence \"{}\" only supports USAGE, SELECT, and UPDATE privileges",
                    named.name
                );
                notices.push(Error::new(SqlState::InvalidGrant, message));
            }
            asked.whole = asked.whole.with(privilege.and(allowed));
            return Ok(());
        }
        if !matches!(self.grant.target, Target::Tables(_)) || named.kind != ObjectKind::Relation {
            let message = "column privileges are only valid for relations";
            return Err(Error::new(SqlState::InvalidGrant, message));
        }
        let known = ObjectKind::Column.known();
        let privilege = privilege.unwrap_or(known);
        if !known.holds(privilege) {
            let name = wanted.name.as_deref().unwrap_or_default().to_uppercase();
            return Err(invalid_type(&name, "column"));
        }
        let Some(columns) = columns_of(self.catalog, &named.name) else {
            return Err(unsupported("privileges on columns of a view that does not name them all"));
        };
        for name in &wanted.columns {
            let number = columns.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
            let number = number.ok_or_else(|| undefined_column(&named.name, name))?;
            let slot = asked.columns.entry(number).or_default();
            *slot = slot.with(privilege);
        }
        Ok(())
    }
}

/// A privilege by name; 42601.
pub fn privilege_named(name: &str) -> Result<Privileges> {
    Privileges::named(name).ok_or_else(|| {
        Error::new(SqlState::SyntaxError, format!("unrecognized privilege type \"{name}\""))
    })
}

/// What an object of a kind knows of a privilege; 0LP01 where no object that the statement may name does.
fn check_kind(target: &Target, named: &Named, privilege: Privileges) -> Result<Privileges> {
    let (known, word) = match target {
        Target::Tables(_) if named.kind == ObjectKind::Sequence => {
            // Tables and sequences can be named alike: what a sequence lacks is left out with a warning.
            let both = ObjectKind::Relation.known().with(ObjectKind::Sequence.known());
            if both.holds(privilege) {
                return Ok(ObjectKind::Sequence.known());
            }
            (both, "relation")
        }
        Target::Tables(_) => match privilege == Privileges::USAGE {
            true => (named.kind.known(), "table"),
            false => (named.kind.known(), "relation"),
        },
        _ => {
            let word = if named.word == "view" { "relation" } else { named.word };
            (named.kind.known(), if word == "table" { "relation" } else { word })
        }
    };
    if known.holds(privilege) {
        return Ok(known);
    }
    let name = privilege.each().map(|(_, name, _)| name).next().unwrap_or_default();
    Err(invalid_type(name, word))
}

fn invalid_type(name: &str, word: &str) -> Error {
    let message = format!("invalid privilege type {name} for {word}");
    Error::new(SqlState::InvalidGrant, message)
}

/// ALTER DEFAULT PRIVILEGES
pub async fn defaults(
    session: &mut Session,
    specs: &[RoleSpec],
    schemas: &[String],
    grant: &Grant,
) -> Result<()> {
    let catalog = session.catalog();
    let holder = session.holder();
    let kind = match &grant.target {
        Target::Kind("tables") => ObjectKind::Relation,
        Target::Kind("sequences") => ObjectKind::Sequence,
        Target::Kind("schemas") if schemas.is_empty() => ObjectKind::Schema,
        Target::Kind("schemas") => {
            let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
            return Err(Error::new(SqlState::InvalidGrant, message));
        }
        // There are no functions and types to come.
        Target::Kind(_) => return Ok(()),
        _ => {
            return Err(Error::new(
                SqlState::SyntaxError,
                "syntax error in ALTER DEFAULT PRIVILEGES",
            ));
        }
    };
    let in_public = all_in_public(schemas)?;
    if !schemas.is_empty() && !in_public {
        return Err(refused("permission denied for a schema of the system"));
    }
    let grantees = grantees(session, &catalog, grant)?;
    let wanted = default_privileges(grant, kind)?;
    let roles = match specs.is_empty() {
        true => vec![holder.role],
        false => {
            let roles = specs.iter().map(|spec| role_of(session, &catalog, spec));
            roles.collect::<Result<Vec<_>>>()?
        }
    };
    let mut changed: Vec<Definition> = Vec::new();
    for role in roles {
        if !holder.superuser && !catalog.rights().memberships(holder.role).contains(&role) {
            let name = catalog.rights().name_of(role);
            return Err(refused(format!("must be member of role \"{name}\"")));
        }
        let key = DefaultKey { role, in_public, kind };
        let usual = if in_public { Acl::default() } else { Acl::usual(kind, role) };
        let mut acl = catalog.rights().default_of(key).unwrap_or(&usual).clone();
        let saying = Saying { grant, grantees: &grantees, catalog: &catalog, holder: &holder };
        for grantee in &grantees {
            saying.change(role, &mut acl, role, *grantee, wanted)?;
        }
        let text = (acl != usual).then(|| acl.encode());
        changed.push(put_default(key, text));
    }
    session.define_all(changed).await
}

fn default_privileges(grant: &Grant, kind: ObjectKind) -> Result<Privileges> {
    let word = match kind {
        ObjectKind::Sequence => "sequence",
        ObjectKind::Schema => "schema",
        _ => "relation",
    };
    let mut all = Privileges::NONE;
    for wanted in &grant.wanted {
        if !wanted.columns.is_empty() {
            let message = "default privileges cannot be set for columns";
            return Err(Error::new(SqlState::InvalidGrant, message));
        }
        let privilege = match &wanted.name {
            None => kind.known(),
            Some(name) => privilege_named(name)?,
        };
        if !kind.known().holds(privilege) {
            let name = wanted.name.as_deref().unwrap_or_default().to_uppercase();
            return Err(invalid_type(&name, word));
        }
        all = all.with(privilege);
    }
    Ok(all)
}
