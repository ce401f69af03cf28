//! CONNECTION LIMIT: how many sessions each role has.

use std::collections::HashMap;
use std::sync::Arc;

use engine::types::{Error, Result, SqlState};
use parking_lot::Mutex;

use crate::rights::{Role, RoleId};

/// Sessions by role.
#[derive(Clone, Debug, Default)]
pub struct Seats(Arc<Mutex<HashMap<RoleId, i32>>>);

/// A session's place in its role's count.
#[derive(Debug)]
pub struct RoleSeat {
    seats: Seats,
    role: RoleId,
}

impl Seats {
    /// Takes a place; 53300 where a role that is no superuser has as many as it may.
    pub fn take(&self, role: &Role) -> Result<RoleSeat> {
        let mut counts = self.0.lock();
        let count = counts.entry(role.id).or_default();
        if role.connection_limit >= 0 && *count >= role.connection_limit && !role.superuser {
            let message = format!("too many connections for role \"{}\"", role.name);
            return Err(Error::new(SqlState::TooManyConnections, message));
        }
        *count += 1;
        Ok(RoleSeat { seats: self.clone(), role: role.id })
    }
}

impl Drop for RoleSeat {
    fn drop(&mut self) {
        let mut counts = self.seats.0.lock();
        if let Some(count) = counts.get_mut(&self.role) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.role);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_as_many_sessions_as_it_may() {
        let seats = Seats::default();
        let limited = Role { connection_limit: 1, ..Role::new(RoleId(7), "ann") };
        let first = seats.take(&limited).expect("free");
        assert_eq!(seats.take(&limited).expect_err("full").state, SqlState::TooManyConnections);
        assert!(seats.take(&Role { superuser: true, ..limited.clone() }).is_ok());
        drop(first);
        assert!(seats.take(&limited).is_ok());
        assert!(seats.0.lock().is_empty());
    }
}
