//! Whether somebody may: the one place where needs meet rights.

use std::collections::BTreeSet;

use engine::types::{Error, Result, SqlState};

use super::needs::COLUMN_PRIVILEGES;
use super::{
    Access, Acl, Need, Needs, Object, ObjectKind, Privileges, READ_ALL_DATA, READ_ALL_STATISTICS,
    Rights, RoleId, Subject, WRITE_ALL_DATA, denied, not_owner,
};
use crate::catalog::Catalog;
use crate::statement::naming::undefined_table;

/// A role with all whose privileges it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The role.
    pub role: RoleId,
    /// It may do everything.
    pub superuser: bool,
    /// Itself, and the roles that it inherits from.
    reach: BTreeSet<RoleId>,
}

impl Holder {
    /// A role as it stands now.
    pub fn of(rights: &Rights, role: RoleId) -> Holder {
        Holder { role, superuser: rights.is_superuser(role), reach: rights.reach(role) }
    }

    /// Whether it has a role's privileges.
    pub fn has(&self, role: RoleId) -> bool {
        self.superuser || self.reach.contains(&role)
    }
}

impl Rights {
    /// What somebody may do with a whole object.
    pub fn held(&self, holder: &Holder, object: &Object, kind: ObjectKind) -> Privileges {
        if holder.superuser {
            return kind.known();
        }
        let is_mine = |role| holder.reach.contains(&role);
        let said = match self.said(object) {
            Some(access) => access.held(kind, &is_mine),
            None => Access::usual(object).held(kind, &is_mine),
        };
        said.with(everywhere(holder, kind))
    }

    /// What somebody may do with a column, by its own list or its table's.
    pub fn held_of_column(&self, holder: &Holder, relation: &Object, column: i16) -> Privileges {
        let whole = self.held(holder, relation, ObjectKind::Relation);
        let is_mine = |role| holder.reach.contains(&role);
        let own = self.said(relation).map(|access| access.held_of_column(column, &is_mine));
        whole.with(own.unwrap_or(Privileges::NONE))
    }

    /// What somebody may do with some column, whichever, or all of them.
    pub fn held_of_any_column(&self, holder: &Holder, relation: &Object) -> Privileges {
        let whole = self.held(holder, relation, ObjectKind::Relation);
        let is_mine = |role| holder.reach.contains(&role);
        let own = self.said(relation).map(|access| access.held_of_any_column(&is_mine));
        whole.with(own.unwrap_or(Privileges::NONE))
    }

    /// What somebody may hand on of an object, and as whom: the owner where it is one of the owner's, else the role of its
    /// own that may hand on most of `wanted`.
    pub fn best_grantor(
        &self,
        holder: &Holder,
        owner: RoleId,
        acl: &Acl,
        known: Privileges,
        wanted: Privileges,
    ) -> (RoleId, Privileges) {
        if holder.has(owner) {
            return (owner, known);
        }
        let count = |options: Privileges| options.and(wanted).each().count();
        let mut best = (holder.role, acl.options(&|role| role == holder.role));
        for other in holder.reach.iter().filter(|role| **role != holder.role) {
            let options = acl.options(&|role| role == *other);
            if count(options) > count(best.1) {
                best = (*other, options);
            }
        }
        best
    }

    /// Whether somebody owns an object.
    pub fn owns(&self, holder: &Holder, object: &Object) -> bool {
        holder.has(self.access(object).owner)
    }

    /// 42501 unless somebody may do this with a schema.
    pub fn demand_schema(
        &self,
        holder: &Holder,
        schema: &str,
        privilege: Privileges,
    ) -> Result<()> {
        let object = Object::Schema(schema.to_owned());
        match self.held(holder, &object, ObjectKind::Schema).holds(privilege) {
            true => Ok(()),
            false => Err(denied("schema", schema)),
        }
    }
}

/// What the predefined roles give of every object.
fn everywhere(holder: &Holder, kind: ObjectKind) -> Privileges {
    let reads = holder.reach.contains(&READ_ALL_DATA);
    let writes = holder.reach.contains(&WRITE_ALL_DATA);
    let one = |given: bool, privileges| if given { privileges } else { Privileges::NONE };
    use Privileges as P;
    match kind {
        ObjectKind::Schema => one(reads || writes, P::USAGE),
        ObjectKind::Relation | ObjectKind::Column | ObjectKind::Sequence => {
            let changes = P::INSERT.with(P::UPDATE).with(P::DELETE);
            one(reads, P::SELECT).with(one(writes, changes)).and(kind.known())
        }
        ObjectKind::Database => P::NONE,
    }
}

/// 42501 for the first thing that somebody may not do.
pub fn demand(catalog: &Catalog, holder: &Holder, needs: &Needs) -> Result<()> {
    if holder.superuser {
        return Ok(());
    }
    needs.system.iter().try_for_each(|name| demand_system(holder, name))?;
    let rights = catalog.rights();
    if let Some(need) = needs.relations.iter().find(|need| need.subject == Subject::Invoker) {
        let usable = rights.demand_schema(holder, "public", Privileges::USAGE);
        usable.map_err(|fault| match need.qualified {
            true => fault,
            false => undefined_table(&need.relation),
        })?;
    }
    if let Some(view) = needs.unknown.first() {
        return Err(denied("view", view));
    }
    for need in &needs.relations {
        match &need.subject {
            Subject::Invoker => demand_one(catalog, holder, need)?,
            Subject::OwnerOf(view) => {
                let owner = Holder::of(rights, rights.owner_of(view));
                demand_one(catalog, &owner, need)?;
            }
        }
    }
    Ok(())
}

/// What is stored of passwords is shown to superusers only, what others ask to those who watch.
fn demand_system(holder: &Holder, name: &str) -> Result<()> {
    match name {
        "pg_authid" => Err(denied("table", name)),
        "pg_shadow" => Err(denied("view", name)),
        _ if holder.has(READ_ALL_STATISTICS) => Ok(()),
        _ => Err(denied("view", name)),
    }
}

fn demand_one(catalog: &Catalog, holder: &Holder, need: &Need) -> Result<()> {
    if holder.superuser || may(catalog.rights(), holder, need) {
        return Ok(());
    }
    Err(denied(kind_of(catalog, &need.relation).1, &need.relation))
}

fn may(rights: &Rights, holder: &Holder, need: &Need) -> bool {
    let object = Object::Relation(need.relation.clone());
    let held = rights.held(holder, &object, ObjectKind::Relation);
    // Sequences stand in the same space of names and know USAGE besides.
    let held = held.with(rights.held(holder, &object, ObjectKind::Sequence));
    if need.any {
        return held.meets(need.privileges);
    }
    let missing = need.privileges.without(held);
    missing.each().all(|(privilege, ..)| {
        let place = COLUMN_PRIVILEGES.iter().position(|known| *known == privilege);
        let Some(columns) = place.map(|place| &need.columns[place]) else { return false };
        match columns.is_empty() {
            true => rights.held_of_any_column(holder, &object).holds(privilege),
            false => columns
                .iter()
                .all(|column| rights.held_of_column(holder, &object, *column).holds(privilege)),
        }
    })
}

/// What a relation is, as object of privileges and in words.
pub fn kind_of(catalog: &Catalog, relation: &str) -> (ObjectKind, &'static str) {
    if catalog.sequence(relation).is_some() {
        (ObjectKind::Sequence, "sequence")
    } else if catalog.view(relation).is_some() {
        (ObjectKind::Relation, "view")
    } else {
        (ObjectKind::Relation, "table")
    }
}

/// 42501 unless somebody owns a relation, or the table of an index; what is not there is somebody else's to say.
pub fn demand_owner(catalog: &Catalog, holder: &Holder, relation: &str) -> Result<()> {
    if holder.superuser {
        return Ok(());
    }
    let index = catalog.index(relation).and_then(|(table, _)| catalog.table_by_id(table));
    let (owned, word) = match index {
        Some(table) => (table.name.to_string(), "index"),
        None => (relation.to_owned(), kind_of(catalog, relation).1),
    };
    if !catalog.has_relation(relation) || catalog.rights().owns(holder, &Object::Relation(owned)) {
        return Ok(());
    }
    Err(not_owner(word, relation))
}

/// 42501 in other words than those of an object.
pub fn refused(message: impl Into<String>) -> Error {
    Error::new(SqlState::InsufficientPrivilege, message)
}
