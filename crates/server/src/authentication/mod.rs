//! Who may come in: passwords as SCRAM-SHA-256 verifiers, and the exchange that proves one.
//!
//! Rules in a file say who comes in from where and how ([`hba`]); who guesses passwords waits ([`attempts`]). The roles are
//! those of the `sql` crate's rights, with verifiers: a cleartext password is never stored. The exchange itself is pgwire's.
//! Called by `connection::startup` and by the program.

mod attempts;
mod exchange;
mod hba;
mod host_rules;
mod verifier;

use std::sync::Arc;

use engine::heartbeat::Engine;
use engine::transaction::Definition;
use engine::types::{Error, Result, SqlState};
use sql::rights::{ROLE_KEYS, Rights, Role};
use tokio::sync::oneshot;

pub use attempts::Attempts;
pub use exchange::{Exchange, can_bind};
pub use hba::{Method, Rules, Visitor};
pub use host_rules::HostRules;
pub use verifier::{Verifier, password_verifier};

/// The key of the secret from which the salts of unknown users are derived.
const MOCK_SECRET: &str = "authentication/mock";

/// The passwords that the engine keeps.
#[derive(Debug)]
pub struct Passwords {
    engine: Arc<Engine>,
    mock_secret: Vec<u8>,
}

impl Passwords {
    /// Reads the secret for unknown users, or makes it: it must stay the same over restarts, since a salt that
    /// changes tells that the user does not exist.
    pub async fn open(engine: Arc<Engine>) -> Result<Passwords> {
        let mock_secret = match engine.entry(MOCK_SECRET) {
            Some(secret) => secret.to_vec(),
            None => {
                let secret = rand::random::<[u8; 32]>().to_vec();
                put(&engine, MOCK_SECRET.to_string(), secret.clone()).await?;
                secret
            }
        };
        Ok(Passwords { engine, mock_secret })
    }

    /// Sets the password of the role that is there from the start.
    pub async fn set(&self, password: &str) -> Result<()> {
        let rights = self.rights();
        let first = rights.role(crate::USER)?;
        let role = Role { verifier: Some(password_verifier(password)), ..first.clone() };
        put(&self.engine, Role::key(&role.name), role.encode()).await
    }

    fn rights(&self) -> Rights {
        let entries = self.engine.entries(ROLE_KEYS);
        Rights::read(entries.iter().map(|(key, value)| (key.as_str(), Some(&value[..]))))
    }

    /// The verifier of a role's password, as long as it holds.
    pub fn verifier(&self, role: &str) -> Option<Verifier> {
        let key = Role::key(role);
        let entry = self.engine.entry(&key)?;
        let rights = Rights::read([(key.as_str(), Some(&entry[..]))]);
        let role = rights.find(role)?;
        match role.valid_until {
            Some(until) if until <= sql::now() => None,
            _ => Verifier::parse(role.verifier.as_deref()?),
        }
    }

    /// What an unknown user is measured against: it looks like a verifier, and no password fits it.
    pub fn mock_verifier(&self, role: &str) -> Verifier {
        Verifier::mock(role, &self.mock_secret)
    }
}

async fn put(engine: &Engine, key: String, value: Vec<u8>) -> Result<()> {
    let (sender, receiver) = oneshot::channel();
    let receive = move |outcome: Result<_>| drop(sender.send(outcome.map(drop)));
    engine.define(Definition::PutEntry { key, value: Some(value) }, Box::new(receive));
    receiver.await.unwrap_or_else(|_| {
        Err(Error::new(SqlState::InternalError, "the engine stopped before the entry was stored"))
    })
}
