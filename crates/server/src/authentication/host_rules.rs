//! The rules that hold now: those of a file, read at the start and when somebody asks for it, or the usual ones.

use std::path::PathBuf;
use std::sync::Arc;

use engine::types::{Error, Result, SqlState};
use parking_lot::RwLock;

use super::{Method, Rules, Visitor};
use crate::connection::is_loopback;

/// What decides how a connection comes in.
#[derive(Debug)]
pub struct HostRules {
    file: Option<PathBuf>,
    rules: RwLock<Option<Arc<Rules>>>,
    trust_loopback: bool,
}

impl HostRules {
    /// The rules of a file; without one, clients on this machine are trusted, if anybody is, and all others prove a password.
    pub fn open(file: Option<PathBuf>, trust_loopback: bool) -> Result<HostRules> {
        let rules = HostRules { file, rules: RwLock::new(None), trust_loopback };
        rules.reload()?;
        Ok(rules)
    }

    /// Reads the file again. Where it is wrong, what held before holds on.
    pub fn reload(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let text = std::fs::read_to_string(file).map_err(|error| {
            let message = format!("cannot read {}: {error}", file.display());
            Error::new(SqlState::ConfigurationFile, message)
        })?;
        let rules = Rules::parse(&text)?;
        *self.rules.write() = Some(Arc::new(rules));
        Ok(())
    }

    /// Whether the file says all.
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// How somebody comes in; 28000 for whom no rule fits or one rejects. `is_member` says whether the user is a member of
    /// a role.
    pub fn decide(&self, visitor: Visitor<'_>, is_member: &dyn Fn(&str) -> bool) -> Result<Method> {
        let rules = self.rules.read().clone();
        let Some(rules) = rules else {
            let trusted = self.trust_loopback && visitor.peer.is_some_and(is_loopback);
            return Ok(if trusted { Method::Trust } else { Method::Scram });
        };
        match rules.decide(visitor, is_member) {
            None => Err(refused("no pg_hba.conf entry for", visitor)),
            Some(Method::Reject) => Err(refused("pg_hba.conf rejects connection for", visitor)),
            Some(method) => Ok(method),
        }
    }
}

fn refused(what: &str, visitor: Visitor<'_>) -> Error {
    let Visitor { peer, is_encrypted, user, database } = visitor;
    let host = peer.map_or_else(|| "[local]".to_owned(), |peer| peer.to_canonical().to_string());
    let encryption = if is_encrypted { "SSL encryption" } else { "no encryption" };
    let message =
        format!("{what} host \"{host}\", user \"{user}\", database \"{database}\", {encryption}");
    Error::new(SqlState::InvalidAuthorization, message)
}
