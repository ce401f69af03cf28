//! Passwords.

use server::{Server, ServerOptions};
use tokio_postgres::{Config, NoTls};

use crate::fixture::{Fixture, database};
use crate::raw::{Messages, Raw};
use crate::within::within;

fn guarded() -> Fixture {
    let password = Some("gr\u{fc}n\u{a0}42".to_string()); // a blank that SASLprep maps
    Fixture::with(ServerOptions { trust_loopback: false, password, ..ServerOptions::default() })
}

/// The SQLSTATE of the refusal, or an empty string.
fn log_in(fixture: &Fixture, user: &str, password: &str) -> String {
    let mut config = Config::new();
    config.host("127.0.0.1").port(fixture.address.port());
    config.user(user).password(password).dbname("shareddb");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.expect("a runtime").block_on(within("an answer", config.connect(NoTls)));
    match result {
        Ok(_) => String::new(),
        Err(error) => error.code().expect("the server's refusal").code().to_string(),
    }
}

#[test]
fn only_the_right_password_opens() {
    let fixture = guarded();
    assert_eq!(log_in(&fixture, "shareddb", "grün 42"), "");
    for password in ["grün 43", "x", " "] {
        assert_eq!(log_in(&fixture, "shareddb", password), "28P01", "{password}");
    }
}

#[test]
fn an_unknown_user_looks_like_a_wrong_password() {
    let fixture = guarded();
    assert_eq!(log_in(&fixture, "nobody", "grün 42"), "28P01");
    let challenge = |user: &str| {
        let mut raw = Raw::open(fixture.address);
        raw.startup(&[("user", user)]);
        assert_eq!(raw.read().body, b"\0\0\0\x0aSCRAM-SHA-256\0\0");
        let first = b"n,,n=,r=abcdefghijkl";
        let mut body = b"SCRAM-SHA-256\0\0\0\0\x14".to_vec();
        body.extend(first);
        raw.message(b'p', &body);
        let text = raw.read().text();
        let salt = text.split(',').find_map(|part| part.strip_prefix("s="));
        salt.expect("a salt").to_string()
    };
    assert_eq!(challenge("nobody"), challenge("nobody"), "the salt does not change");
    assert_ne!(challenge("nobody"), challenge("somebody"));
    assert_eq!(challenge("shareddb").len(), challenge("nobody").len());
}

#[test]
fn broken_exchanges_are_refused() {
    let fixture = guarded();
    let messages: [(u8, &[u8]); 8] = [
        (b'Q', b"SELECT 1\0"),
        (b'p', b"SCRAM-SHA-256-PLUS\0\0\0\0\x05n,,n="),
        (b'p', b"MD5\0\0\0\0\0"),
        (b'p', b"SCRAM-SHA-256\0\xff\xff\xff\xff"),
        (b'p', b"SCRAM-SHA-256\0\x7f\xff\xff\xff"),
        (b'p', b"SCRAM-SHA-256\0\0\0\0\x0cp=x,,n=,r=ab"),
        (b'p', b"SCRAM-SHA-256\0\0\0\0\x02\xff\xff"),
        (b'p', b""),
    ];
    for (tag, body) in messages {
        let mut raw = Raw::open(fixture.address);
        raw.startup(&[("user", "shareddb")]);
        assert_eq!(raw.read().tag, b'R');
        raw.message(tag, body);
        assert_eq!(raw.until_closed().states(), ["08P01"], "{tag} {body:?}");
    }
}

#[test]
fn nobody_listens_to_strangers_without_a_password() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let options =
            || ServerOptions { listen: "0.0.0.0:0".to_string(), ..ServerOptions::default() };
        let refused = Server::bind(options(), database()).await.expect_err("no password");
        assert!(refused.message.contains("need a password"), "{refused}");
        assert!(refused.hint.is_some());
        let with = ServerOptions { password: Some("x".to_string()), ..options() };
        assert!(Server::bind(with, database()).await.is_ok());
    });
}
