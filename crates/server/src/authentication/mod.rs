//! Who may come in: passwords as SCRAM-SHA-256 verifiers, and the exchange that proves one.
//!
//! The engine keeps an entry `role/NAME` per role, whose value is the verifier or empty. A cleartext password is never
//! stored. The exchange itself is pgwire's. Called by `connection::startup` and by the program.

mod exchange;
mod verifier;

use std::sync::Arc;

use engine::heartbeat::Engine;
use engine::transaction::Definition;
use engine::types::{Error, Result, SqlState};
use tokio::sync::oneshot;

pub use exchange::{Exchange, can_bind};
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

    /// Sets a role's password.
    pub async fn set(&self, role: &str, password: &str) -> Result<()> {
        let verifier = password_verifier(password);
        put(&self.engine, role_key(role), verifier.into_bytes()).await
    }

    /// Whether a role of that name exists.
    pub fn is_role(&self, role: &str) -> bool {
        role == crate::USER || self.engine.entry(&role_key(role)).is_some()
    }

    /// The verifier of a role's password.
    pub fn verifier(&self, role: &str) -> Option<Verifier> {
        let entry = self.engine.entry(&role_key(role))?;
        Verifier::parse(std::str::from_utf8(&entry).ok()?)
    }

    /// What an unknown user is measured against: it looks like a verifier, and no password fits it.
    pub fn mock_verifier(&self, role: &str) -> Verifier {
        Verifier::mock(role, &self.mock_secret)
    }
}

fn role_key(role: &str) -> String {
    format!("role/{role}")
}

async fn put(engine: &Engine, key: String, value: Vec<u8>) -> Result<()> {
    let (sender, receiver) = oneshot::channel();
    let receive = move |outcome: Result<_>| drop(sender.send(outcome.map(drop)));
    engine.define(Definition::PutEntry { key, value: Some(value) }, Box::new(receive));
    receiver.await.unwrap_or_else(|_| {
        Err(Error::new(SqlState::InternalError, "the engine stopped before the entry was stored"))
    })
}
