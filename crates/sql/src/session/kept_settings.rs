//! What a session's settings are when it begins.

use engine::types::{Error, SqlState};

use super::Session;
use crate::rights::{Rights, RoleId};

impl Session {
    /// Takes the settings that are kept for a role. One that cannot be had any more is told, and left as it is.
    pub(super) fn take_kept_settings(&mut self, rights: &Rights, role: RoleId) {
        for (name, value) in rights.kept_for(role) {
            if let Err(fault) = self.settings.set(name, Some(value)) {
                self.notice(Error::new(SqlState::Warning, fault.message.clone()));
            }
        }
        self.settle_settings();
    }

    /// The session begins: to what its settings are now, what its client has asked for included, RESET returns.
    pub fn settle_settings(&mut self) {
        self.settings.settle();
    }
}
