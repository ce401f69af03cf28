//! The SCRAM-SHA-256 exchange: two messages of the client, two of ours.

use engine::types::{Error, Result, SqlState};
use pgwire::api::auth::sasl::scram::{ScramServerAuth, ScramServerAuthWaitingForClientFinal};
use pgwire::error::PgWireError;

use super::Passwords;
use crate::message::frontend::{Fields, violation};

/// An exchange that waits for the client's proof.
#[derive(Debug)]
pub struct Exchange {
    user: String,
    waiting: ScramServerAuthWaitingForClientFinal,
}

impl Exchange {
    /// Reads SASLInitialResponse; gives the challenge. `certificate` is that of an encrypted connection, as PEM.
    pub fn begin(
        passwords: &Passwords,
        user: &str,
        body: &[u8],
        certificate: Option<&[u8]>,
    ) -> Result<(Exchange, String)> {
        let mut fields = Fields::new(body);
        match fields.string()? {
            "SCRAM-SHA-256" => {}
            "SCRAM-SHA-256-PLUS" if certificate.is_some() => {}
            _ => {
                return Err(violation("client selected an invalid SASL authentication mechanism"));
            }
        }
        let first = fields.value()?.ok_or_else(|| violation("malformed SCRAM message"))?;
        fields.end()?;
        let verifier = passwords.verifier(user).unwrap_or_else(|| passwords.mock_verifier(user));
        let mut server = ScramServerAuth::new();
        if let Some(certificate) = certificate {
            server.configure_certificate(certificate).map_err(|error| refused(user, error))?;
        }
        let (challenge, waiting) = server
            .on_client_first_message_with_secret(first, verifier.secret())
            .map_err(|error| refused(user, error))?;
        Ok((Exchange { user: user.to_string(), waiting }, challenge))
    }

    /// Reads SASLResponse; gives our own proof, or 28P01.
    pub fn finish(self, body: &[u8]) -> Result<String> {
        self.waiting.on_client_final_message(body).map_err(|error| refused(&self.user, error))
    }
}

/// Whether an exchange can be bound to a certificate.
pub fn can_bind(certificate: &[u8]) -> bool {
    ScramServerAuth::new().configure_certificate(certificate).is_ok()
}

fn refused(user: &str, error: PgWireError) -> Error {
    match error {
        PgWireError::InvalidPassword(_) => {
            let message = format!("password authentication failed for user \"{user}\"");
            Error::new(SqlState::InvalidPassword, message)
        }
        _ => violation("malformed SCRAM message").detail(error.to_string()),
    }
}
