//! Who the session is, and whether it may run what it is asked to.
//!
//! A session has a role that it came in as, perhaps another one by SET SESSION AUTHORIZATION, and perhaps a third by SET
//! ROLE, which are settings like others, undone by ROLLBACK. What the role may do is looked up again whenever the catalog
//! or one of these settings changes. [`Session::check_rights`] stands before every statement that is planned; where the
//! plan was last cleared for the same role that is a comparison of three numbers.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::types::{Error, Result, SqlState};

use super::prepared::{Plan, Prepared};
use super::{Database, Session, Settings};
use crate::catalog::Catalog;
use crate::rights::{
    self, FIRST, Holder, Need, Needs, Object, ObjectKind, Privileges, Refusal, RoleId, denied,
    refused,
};
use crate::statement::command::Command;

/// As whom a session came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From inside the process: who holds the database may do everything, under whatever name.
    Process,
    /// Through the door, as a role.
    Role(RoleId),
}

/// The session's role, and what it may do, as of one state of all roles and of the settings.
#[derive(Debug)]
pub struct Standing {
    /// See [`Catalog::since`].
    since: u64,
    serial: u64,
    holder: Holder,
}

/// Stands for a role that is no more: nobody has its number.
const NOBODY: RoleId = RoleId(u32::MAX);

impl Database {
    /// A conversation with a role: 28000 for one that may not log in, 42501 for one that may not connect, 53300 for one
    /// that has as many as it may.
    pub fn log_in(self: &Arc<Self>, user: &str, address: Option<IpAddr>) -> Result<Session> {
        let catalog = self.planner.catalog();
        let rights = catalog.rights();
        let unknown = || {
            let message = format!("role \"{user}\" does not exist");
            Error::new(SqlState::InvalidAuthorization, message)
        };
        let role = rights.find(user).ok_or_else(unknown)?;
        if !role.login {
            let message = format!("role \"{user}\" is not permitted to log in");
            return Err(Error::new(SqlState::InvalidAuthorization, message));
        }
        let holder = Holder::of(rights, role.id);
        let held = rights.held(&holder, &Object::Database, ObjectKind::Database);
        if !held.holds(Privileges::CONNECT) {
            return Err(
                denied("database", "\"shareddb\"").detail("User does not have CONNECT privilege.")
            );
        }
        let seat = self.seats.take(role)?;
        let mut session = self.session(user);
        session.origin = Origin::Role(role.id);
        session.address = address;
        session.seat = Some(seat);
        session.take_kept_settings(rights, role.id);
        session.standing();
        Ok(session)
    }
}

impl Database {
    /// Whether one role is a member of another, by name.
    pub fn is_member(&self, user: &str, role: &str) -> bool {
        let catalog = self.planner.catalog();
        let rights = catalog.rights();
        let pair = rights.find(user).zip(rights.find(role));
        pair.is_some_and(|(user, role)| rights.memberships(user.id).contains(&role.id))
    }

    /// Reads roles and rights again, after somebody else than a session has changed them.
    pub fn refresh_rights(&self) {
        self.planner.refresh();
    }
}

impl Session {
    /// The role that the session acts as, with all that it may do.
    pub(crate) fn standing(&mut self) -> &Holder {
        let catalog = self.catalog();
        let serial = self.settings.identity_serial();
        let is_new = |known: &Standing| (known.since, known.serial) != (catalog.since(), serial);
        if self.standing.as_ref().is_none_or(is_new) {
            let role = self.acting_id(&catalog);
            let holder = Holder::of(catalog.rights(), role);
            self.settings.tell_superuser(holder.superuser);
            self.standing = Some(Standing { since: catalog.since(), serial, holder });
        }
        &self.standing.as_ref().expect("made above").holder
    }

    /// A copy of it, to be asked while the session is borrowed.
    pub(crate) fn holder(&mut self) -> Holder {
        self.standing().clone()
    }

    /// The role whose rights the session has.
    pub(super) fn acting_id(&self, catalog: &Catalog) -> RoleId {
        match self.settings.role() {
            None => self.session_role(catalog),
            Some(role) => catalog.rights().find(role).map_or(NOBODY, |role| role.id),
        }
    }

    /// The role of SESSION_USER. A name that another role has by now is not the one that came in.
    pub(crate) fn session_role(&self, catalog: &Catalog) -> RoleId {
        let name = self.settings.session_authorization();
        let named = catalog.rights().find(name).map(|role| role.id);
        match self.origin {
            _ if name != &*self.user => named.unwrap_or(NOBODY),
            Origin::Process => FIRST,
            Origin::Role(id) if named == Some(id) => id,
            Origin::Role(_) => NOBODY,
        }
    }

    /// Whether the role that came in is a superuser: only then may it be any other.
    pub(crate) fn came_in_as_superuser(&self, catalog: &Catalog) -> bool {
        match self.origin {
            Origin::Process => true,
            Origin::Role(id) => catalog.rights().is_superuser(id),
        }
    }

    /// SESSION_USER
    pub(crate) fn session_user(&self) -> &str {
        self.settings.session_authorization()
    }

    /// CURRENT_USER
    pub(crate) fn current_user(&self) -> &str {
        self.settings.role().unwrap_or_else(|| self.session_user())
    }

    /// The name of the role whose rights the session has.
    pub(crate) fn acting_role(&self) -> String {
        let catalog = self.catalog();
        catalog.rights().name_of(self.acting_id(&catalog))
    }

    /// 42501 where the session's role may not do what a plan does.
    pub(super) fn check_rights(&mut self, prepared: &Prepared) -> Result<()> {
        if let Plan::Command(Command::Checkpoint) = prepared.plan {
            return self.demand_checkpoint();
        }
        if prepared.needs.is_empty() {
            return Ok(());
        }
        let serial = self.settings.identity_serial();
        if let Some(standing) = &self.standing
            && (standing.since, standing.serial) == (prepared.since, serial)
            && prepared.cleared.load(Ordering::Relaxed) == standing.holder.role.0
        {
            return Ok(());
        }
        self.demand(&prepared.needs)?;
        if let Some(standing) = self.standing.as_ref().filter(|s| s.since == prepared.since) {
            prepared.cleared.store(standing.holder.role.0, Ordering::Relaxed);
        }
        Ok(())
    }

    /// 42501 where the session's role lacks something.
    pub(crate) fn demand(&mut self, needs: &Needs) -> Result<()> {
        let catalog = self.catalog();
        rights::demand(&catalog, self.standing(), needs)
    }

    /// The same for a single need.
    pub(crate) fn demand_one(&mut self, need: Need) -> Result<()> {
        self.demand(&Needs { relations: vec![need], ..Needs::default() })
    }

    /// 42501 unless the session's role owns a relation, or the table of an index.
    pub(crate) fn demand_owner(&mut self, relation: &str) -> Result<()> {
        let catalog = self.catalog();
        rights::demand_owner(&catalog, self.standing(), relation)
    }

    /// 42501 unless the session's role may make something in a schema.
    pub(crate) fn demand_create(&mut self) -> Result<()> {
        let catalog = self.catalog();
        catalog.rights().demand_schema(self.standing(), "public", Privileges::CREATE)
    }

    fn demand_checkpoint(&mut self) -> Result<()> {
        match self.standing().has(rights::CHECKPOINT) {
            true => Ok(()),
            false => Err(refused(
                "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT",
            )),
        }
    }

    /// Tells the log of a statement that was refused.
    pub(super) fn audit(&self, text: &str, fault: &Error) {
        if fault.state != SqlState::InsufficientPrivilege {
            return;
        }
        let words: Vec<&str> = text.split_whitespace().take(1).collect();
        let what = words.join(" ").to_uppercase();
        self.database.audit.refused(Refusal {
            role: self.current_user(),
            address: self.address,
            what: &what,
            why: &fault.message,
        });
    }
}

/// SET ROLE and SET SESSION AUTHORIZATION.
impl Session {
    /// SET ROLE; `None`: NONE.
    pub(crate) fn set_role(&mut self, name: Option<&str>, local: bool) -> Result<()> {
        let catalog = self.catalog();
        if let Some(name) = name {
            let role = known(&catalog, name)?;
            let session = self.session_role(&catalog);
            let rights = catalog.rights();
            let may = rights.is_superuser(session) || rights.memberships(session).contains(&role);
            if !may {
                return Err(refused(format!("permission denied to set role \"{name}\"")));
            }
        }
        self.change_identity(local, |settings| settings.set_role(name));
        Ok(())
    }

    /// SET SESSION AUTHORIZATION; `None`: DEFAULT.
    pub(crate) fn set_session_authorization(
        &mut self,
        name: Option<&str>,
        local: bool,
    ) -> Result<()> {
        let catalog = self.catalog();
        let own = self.user.clone();
        let name = name.unwrap_or(&own);
        if name != &*own {
            known(&catalog, name)?;
            if !self.came_in_as_superuser(&catalog) {
                let message = format!("permission denied to set session authorization \"{name}\"");
                return Err(refused(message));
            }
        }
        self.change_identity(local, |settings| settings.set_session_authorization(name));
        self.change_identity(local, |settings| settings.set_role(None));
        Ok(())
    }

    fn change_identity(
        &mut self,
        local: bool,
        change: impl FnOnce(&mut Settings) -> super::settings::Before,
    ) {
        if local && !self.takes_local() {
            return;
        }
        let before = change(&mut self.settings);
        if let Some(transaction) = self.block.any() {
            transaction.changed_setting(before, local);
        }
        self.standing();
    }

    /// DISCARD ALL: as the session came in.
    pub(crate) fn reset_identity(&mut self) {
        let own = self.user.clone();
        self.settings.set_session_authorization(&own);
        self.settings.set_role(None);
        self.standing();
    }
}

/// A role by a setting's value: 22023.
fn known(catalog: &Catalog, name: &str) -> Result<RoleId> {
    let missing = || {
        let message = format!("role \"{name}\" does not exist");
        Error::new(SqlState::InvalidParameterValue, message)
    };
    catalog.rights().find(name).map(|role| role.id).ok_or_else(missing)
}
