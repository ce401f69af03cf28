//! SCRAM-SHA-256 verifiers, in PostgreSQL's spelling.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pgwire::api::auth::sasl::scram::{SCRAM_ITERATIONS, ScramSecret, gen_salted_password};

const PREFIX: &str = "SCRAM-SHA-256$";

/// Bytes of a salt, as PostgreSQL has it.
const SALT_BYTES: usize = 16;

/// Bytes of a SHA-256.
const KEY_BYTES: usize = 32;

/// What proves that a client knows a password, without knowing it.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: usize,
    salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl std::fmt::Debug for Verifier {
    /// Keys are not for logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

impl Verifier {
    /// The verifier of a password with a fresh salt.
    pub fn new(password: &str) -> Verifier {
        Verifier::with_salt(password, rand::random::<[u8; SALT_BYTES]>().to_vec())
    }

    fn with_salt(password: &str, salt: Vec<u8>) -> Verifier {
        let salted = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
        let secret = ScramSecret::verifier_from_salted_password(salt, salted, SCRAM_ITERATIONS);
        match secret {
            ScramSecret::Verifier { salt, iterations, stored_key, server_key } => {
                Verifier { iterations, salt, stored_key, server_key }
            }
            ScramSecret::SaltedPassword { .. } => {
                unreachable!("verifier_from_salted_password gives a verifier")
            }
        }
    }

    /// A verifier that no password fits: the salt depends on the role and a secret only, the keys are random.
    pub fn mock(role: &str, secret: &[u8]) -> Verifier {
        let mut salt = gen_salted_password(role, secret, 1);
        salt.truncate(SALT_BYTES);
        let key = || rand::random::<[u8; KEY_BYTES]>().to_vec();
        Verifier { iterations: SCRAM_ITERATIONS, salt, stored_key: key(), server_key: key() }
    }

    /// Reads `SCRAM-SHA-256$iterations:salt$stored key:server key`.
    pub fn parse(text: &str) -> Option<Verifier> {
        let (head, keys) = text.strip_prefix(PREFIX)?.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored_key, server_key) = keys.split_once(':')?;
        let key = |text| STANDARD.decode(text).ok().filter(|key| key.len() == KEY_BYTES);
        Some(Verifier {
            iterations: iterations.parse().ok().filter(|iterations| *iterations > 0)?,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: key(stored_key)?,
            server_key: key(server_key)?,
        })
    }

    /// As pgwire wants it.
    pub fn secret(self) -> ScramSecret {
        let Verifier { iterations, salt, stored_key, server_key } = self;
        ScramSecret::Verifier { salt, iterations, stored_key, server_key }
    }
}

impl std::fmt::Display for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [salt, stored, server] =
            [&self.salt, &self.stored_key, &self.server_key].map(|bytes| STANDARD.encode(bytes));
        write!(f, "{PREFIX}{}:{salt}${stored}:{server}", self.iterations)
    }
}

/// What is stored for a password: its verifier, or the password itself where it already is one.
pub fn password_verifier(password: &str) -> String {
    match Verifier::parse(password) {
        Some(verifier) => verifier.to_string(),
        None => Verifier::new(password).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_spelled_as_postgresql_does_and_read_back() {
        let verifier = Verifier::new("secret");
        let text = verifier.to_string();
        assert!(text.starts_with("SCRAM-SHA-256$4096:"));
        assert_eq!(Verifier::parse(&text), Some(verifier));
        assert_eq!(password_verifier(&text), text);
    }

    #[test]
    fn what_postgresql_15_stores_for_pencil_is_what_we_store() {
        // The salt of RFC 7677's example; its proof is checked in `exchange`.
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64");
        let verifier = Verifier::with_salt("pencil", salt);
        let text = verifier.to_string();
        assert_eq!(
            text,
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
             WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
    }

    #[test]
    fn broken_verifiers_are_none() {
        for text in ["", "md5abc", "SCRAM-SHA-256$4096:!!$a:b", "SCRAM-SHA-256$0:AA==$AA==:AA=="] {
            assert_eq!(Verifier::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_mock_has_the_same_salt_every_time() {
        let (a, b) = (Verifier::mock("ann", b"secret"), Verifier::mock("ann", b"secret"));
        assert_eq!(a.salt, b.salt);
        assert_ne!(a.stored_key, b.stored_key);
        assert_ne!(a.salt, Verifier::mock("bob", b"secret").salt);
    }
}
