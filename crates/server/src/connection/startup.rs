//! Letting a client in: encryption requests, the start-up packet, authentication, settings.

use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;

use engine::types::{Error, Result, SqlState};
use sql::rights::Refusal;
use sql::{ImplicitTransaction, Session};

use super::Stop;
use super::socket::{Socket, guarded};
use crate::authentication::{Exchange, Method, Visitor};
use crate::listener::Shared;
use crate::message::frontend::{Fields, utf8, violation};
use crate::message::{SMALL_MESSAGE_LIMIT, backend};
use crate::tls::Tls;

/// How long a client may take to say who it is (PostgreSQL's authentication_timeout).
const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(60);

const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;

/// Authentication requests.
const AUTHENTICATION_OK: i32 = 0;
const AUTHENTICATION_SASL: i32 = 10;
const AUTHENTICATION_CONTINUE: i32 = 11;
const AUTHENTICATION_FINAL: i32 = 12;

/// The settings that PostgreSQL 15 reports, with what they are unless the session says otherwise.
const REPORTED: [(&str, &str); 13] = [
    ("server_version", concat!("15.0 (SharedDB ", env!("CARGO_PKG_VERSION"), ")")),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("application_name", ""),
    ("default_transaction_read_only", "off"),
    ("in_hot_standby", "off"),
    ("is_superuser", "on"),
    ("session_authorization", ""),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "postgres"),
    ("TimeZone", "UTC"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
];

/// What a start-up packet says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Greeting {
    user: String,
    database: Option<String>,
    /// Settings, in the order in which they apply.
    settings: Vec<(String, String)>,
    /// Protocol options that nobody here knows.
    unknown: Vec<String>,
    /// The client speaks a newer minor version.
    is_newer: bool,
}

/// Lets a client in and gives its session; `Gone` after a cancel request.
pub async fn greet(socket: &mut Socket, shared: &Shared) -> Result<Session, Stop> {
    let mut guest = shared.door.enter();
    tokio::select! {
        greeted = greet_in_time(socket, shared) => greeted,
        full = guest.sent_away() => Err(Stop::Fatal(full)),
        () = tokio::time::sleep(AUTHENTICATION_TIMEOUT) => Err(Stop::Gone),
    }
}

async fn greet_in_time(socket: &mut Socket, shared: &Shared) -> Result<Session, Stop> {
    let greeting = startup_packet(socket, shared).await?;
    if greeting.is_newer || !greeting.unknown.is_empty() {
        let unknown: Vec<&str> = greeting.unknown.iter().map(String::as_str).collect();
        backend::negotiate_version(&mut socket.output, &unknown);
    }
    let seat = shared.clients.seat().map_err(Stop::Fatal)?;
    authenticate(socket, shared, &greeting).await?;
    check_database(&greeting).map_err(Stop::Fatal)?;
    let address = socket.peer();
    let session = guarded(|| Ok(shared.database.log_in(&greeting.user, address)))?;
    let mut session = session.map_err(|fault| {
        refused(socket, shared, &greeting.user, &fault);
        Stop::Fatal(fault)
    })?;
    let (flag, usage) = (session.cancelled(), session.usage().clone());
    let client = shared.clients.enter(seat, session.process(), flag, usage);
    session.set_bell(client.clone());
    socket.client = Some(client);
    let settled = settle(socket, &mut session, &greeting).await;
    if settled.is_err() {
        socket.client.iter().for_each(|client| shared.clients.leave(client));
    }
    settled.map(|()| session)
}

/// Reads packets until one says who is there. A packet begins with its length, and what comes first is no message.
async fn startup_packet(socket: &mut Socket, shared: &Shared) -> Result<Greeting, Stop> {
    let (mut ssl_asked, mut gss_asked) = (false, false);
    loop {
        let packet = packet(socket).await?;
        let mut fields = Fields::new(&packet);
        match fields.uint32().map_err(Stop::Fatal)? {
            CANCEL_REQUEST => {
                if let (Ok(process), Ok(secret)) = (fields.int32(), fields.uint32()) {
                    shared.clients.cancel(process, secret);
                }
                return Err(Stop::Gone);
            }
            SSL_REQUEST if !std::mem::replace(&mut ssl_asked, true) => match &shared.tls {
                Some(tls) if !socket.is_encrypted() => encrypt(socket, tls).await?,
                _ => refuse(socket).await?,
            },
            GSS_REQUEST if !std::mem::replace(&mut gss_asked, true) => refuse(socket).await?,
            version => return greeting(version, fields).map_err(Stop::Fatal),
        }
    }
}

/// One byte says that the handshake may begin.
async fn encrypt(socket: &mut Socket, tls: &Tls) -> Result<(), Stop> {
    socket.output.push(b'S');
    socket.flush().await?;
    socket.encrypt(tls).await
}

/// No encryption here: one byte says so.
async fn refuse(socket: &mut Socket) -> Result<(), Stop> {
    socket.output.push(b'N');
    socket.flush().await
}

async fn packet(socket: &mut Socket) -> Result<Vec<u8>, Stop> {
    loop {
        let pending = socket.input.pending();
        if let Some(head) = pending.first_chunk::<4>() {
            let length = u32::from_be_bytes(*head) as usize;
            if !(8..=SMALL_MESSAGE_LIMIT).contains(&length) {
                return Err(Stop::Fatal(violation("invalid length of startup packet")));
            }
            if let Some(packet) = pending.get(4..length) {
                let packet = packet.to_vec();
                socket.input.consume(length);
                return Ok(packet);
            }
        }
        socket.fill().await?;
    }
}

fn greeting(version: u32, mut fields: Fields<'_>) -> Result<Greeting> {
    let (major, minor) = (version >> 16, version & 0xffff);
    if major != 3 {
        let message =
            format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let mut greeting = Greeting { is_newer: minor > 0, ..Greeting::default() };
    loop {
        match fields.string().map_err(|_| broken_packet())? {
            "" => break,
            name => {
                let value = fields.string().map_err(|_| broken_packet())?;
                greeting.take(name, value)?;
            }
        }
    }
    fields.end().map_err(|_| broken_packet())?;
    if greeting.user.is_empty() {
        let message = "no PostgreSQL user name specified in startup packet";
        return Err(Error::new(SqlState::InvalidAuthorization, message));
    }
    Ok(greeting)
}

fn broken_packet() -> Error {
    violation("invalid startup packet layout: expected terminator as last byte")
}

impl Greeting {
    fn take(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "user" => self.user = value.to_string(),
            "database" => self.database = Some(value.to_string()),
            "options" => self.take_options(value)?,
            "replication" if !matches!(value, "false" | "off" | "no" | "0") => {
                let message = "replication connections are not supported";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            "replication" => {}
            _ if name.starts_with("_pq_.") => self.unknown.push(name.to_string()),
            _ => self.settings.push((name.to_string(), value.to_string())),
        }
        Ok(())
    }

    /// `-c name=value` and `--name=value`, as libpq's `options` carries them.
    fn take_options(&mut self, options: &str) -> Result<()> {
        let mut words = split_options(options).into_iter();
        while let Some(word) = words.next() {
            let setting = match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
                Some("") => words.next(),
                Some(setting) => Some(setting.to_string()),
                None => None,
            };
            match setting.as_deref().and_then(|setting| setting.split_once('=')) {
                Some((name, value)) => {
                    self.settings.push((name.replace('-', "_"), value.to_string()))
                }
                None => {
                    let message = format!("invalid command-line argument for server: {word}");
                    return Err(Error::new(SqlState::SyntaxError, message));
                }
            }
        }
        Ok(())
    }
}

/// Words between blanks; a backslash takes the next character as it is.
fn split_options(options: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.extend(characters.next()),
            blank if blank.is_ascii_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            other => word.push(other),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Lets the client in as the rules for hosts say, and tells the log of one that is refused.
async fn authenticate(
    socket: &mut Socket,
    shared: &Shared,
    greeting: &Greeting,
) -> Result<(), Stop> {
    let outcome = prove(socket, shared, greeting).await;
    if let Err(Stop::Fatal(fault)) = &outcome {
        refused(socket, shared, &greeting.user, fault);
    }
    outcome?;
    backend::authentication(&mut socket.output, AUTHENTICATION_OK, &[]);
    Ok(())
}

fn refused(socket: &Socket, shared: &Shared, role: &str, fault: &Error) {
    let (address, why) = (socket.peer(), fault.message.as_str());
    shared.database.audit().refused(Refusal { role, address, what: "LOG IN", why });
}

async fn prove(socket: &mut Socket, shared: &Shared, greeting: &Greeting) -> Result<(), Stop> {
    let visitor = Visitor {
        peer: socket.peer(),
        is_encrypted: socket.is_encrypted(),
        user: &greeting.user,
        database: greeting.database.as_deref().unwrap_or(&greeting.user),
    };
    let is_member = |role: &str| shared.database.is_member(&greeting.user, role);
    match shared.host_rules.decide(visitor, &is_member).map_err(Stop::Fatal)? {
        Method::Trust | Method::Reject => Ok(()),
        Method::Scram => attempt(socket, shared, &greeting.user).await,
    }
}

/// A proof of a password, after a wait for who has failed before.
async fn attempt(socket: &mut Socket, shared: &Shared, user: &str) -> Result<(), Stop> {
    let address = socket.peer().unwrap_or(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED));
    let begun = shared.attempts.begin(address, user, std::time::Instant::now());
    let Some((attempt, wait)) = begun else {
        let message = format!("password authentication failed for user \"{user}\"");
        return Err(Stop::Fatal(Error::new(SqlState::InvalidPassword, message)));
    };
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    exchange(socket, shared, user).await?;
    attempt.succeeded();
    Ok(())
}

/// SCRAM-SHA-256, over TLS also bound to the certificate (`-PLUS`). A user that does not exist goes through all of it and
/// fails as a wrong password does.
async fn exchange(socket: &mut Socket, shared: &Shared, user: &str) -> Result<(), Stop> {
    let tls = shared.tls.as_ref().filter(|_| socket.is_encrypted());
    let certificate = tls.and_then(Tls::certificate);
    let mechanisms: &[u8] = match certificate {
        Some(_) => b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0",
        None => b"SCRAM-SHA-256\0\0",
    };
    backend::authentication(&mut socket.output, AUTHENTICATION_SASL, mechanisms);
    socket.flush().await?;
    let first = password_message(socket).await?;
    let begun = Exchange::begin(&shared.passwords, user, &first, certificate);
    let (exchange, challenge) = begun.map_err(Stop::Fatal)?;
    let out = &mut socket.output;
    backend::authentication(out, AUTHENTICATION_CONTINUE, challenge.as_bytes());
    socket.flush().await?;
    let last = password_message(socket).await?;
    let proof = exchange.finish(&last).map_err(Stop::Fatal)?;
    backend::authentication(&mut socket.output, AUTHENTICATION_FINAL, proof.as_bytes());
    Ok(())
}

async fn password_message(socket: &mut Socket) -> Result<Vec<u8>, Stop> {
    loop {
        // Anything but a password is refused by its first byte, before its length can matter.
        if socket.input.pending().first().is_some_and(|tag| *tag != b'p') {
            return Err(Stop::Fatal(violation("expected SASL response")));
        }
        match socket.frame()? {
            Some(frame) => {
                let body = socket.input.body(frame).to_vec();
                socket.input.consume(frame.bytes());
                return Ok(body);
            }
            None => socket.fill().await?,
        }
    }
}

fn check_database(greeting: &Greeting) -> Result<()> {
    let database = greeting.database.as_deref().unwrap_or(&greeting.user);
    match database {
        crate::DATABASE => Ok(()),
        _ => {
            let message = format!("database \"{database}\" does not exist");
            Err(Error::new(SqlState::InvalidDatabase, message))
        }
    }
}

/// Applies the client's settings and tells it what it must know.
async fn settle(
    socket: &mut Socket,
    session: &mut Session,
    greeting: &Greeting,
) -> Result<(), Stop> {
    for (name, value) in &greeting.settings {
        apply(socket, session, name, value).await?;
    }
    session.settle_settings();
    let changes = session.take_parameter_changes();
    for (name, usual) in REPORTED {
        let changed = changes.iter().rfind(|(changed, _)| changed.eq_ignore_ascii_case(name));
        let value = match (changed, name) {
            (Some((_, value)), _) => value,
            (None, "session_authorization") => greeting.user.as_str(),
            (None, _) => usual,
        };
        backend::parameter_status(&mut socket.output, name, value);
    }
    let client = socket.client.as_ref().expect("entered before");
    backend::backend_key(&mut socket.output, client.process, client.secret);
    backend::ready_for_query(&mut socket.output, session.transaction_status());
    socket.flush_due = true;
    Ok(())
}

async fn apply(
    socket: &mut Socket,
    session: &mut Session,
    name: &str,
    value: &str,
) -> Result<(), Stop> {
    let text = set_statement(name, value).map_err(Stop::Fatal)?;
    let statement = socket.attend(pin!(session.prepare(&text, &[]))).await?.map_err(Stop::Fatal)?;
    let run = session.execute(&statement, Vec::new(), ImplicitTransaction::Alone);
    socket.attend(pin!(run)).await?.map(drop).map_err(Stop::Fatal)
}

/// SET with the name checked and the value quoted: both come from a stranger.
fn set_statement(name: &str, value: &str) -> Result<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    if name.is_empty() || !name.chars().all(is_name) || name.starts_with(|c: char| c.is_numeric()) {
        let message = format!("unrecognized configuration parameter \"{name}\"");
        return Err(Error::new(SqlState::UndefinedObject, message));
    }
    utf8(value.as_bytes())?;
    Ok(format!("SET {name} = '{}'", value.replace('\'', "''")))
}

/// Whether an address is this machine's own.
pub fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greet(body: &[u8]) -> Result<Greeting> {
        greeting(3 << 16, Fields::new(body))
    }

    #[test]
    fn a_packet_names_user_database_and_settings() {
        let packet =
            b"user\0ann\0database\0shareddb\0options\0-c a=b --c-d=e\\ f\0TimeZone\0UTC\0\0";
        let greeting = greet(packet).expect("well formed");
        assert_eq!(
            (greeting.user.as_str(), greeting.database.as_deref()),
            ("ann", Some("shareddb"))
        );
        let settings: Vec<_> =
            greeting.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(settings, [("a", "b"), ("c_d", "e f"), ("TimeZone", "UTC")]);
    }

    #[test]
    fn broken_packets_are_refused() {
        let cases: [&[u8]; 5] = [b"", b"user", b"user\0ann\0", b"user\0ann\0\0x", b"user\0\0\0"];
        for packet in cases {
            assert!(greet(packet).is_err(), "{packet:?}");
        }
        assert_eq!(greet(b"\0").expect_err("no user").state, SqlState::InvalidAuthorization);
        let old = greeting(2 << 16, Fields::new(b"\0")).expect_err("too old");
        assert_eq!(old.state, SqlState::FeatureNotSupported);
    }

    #[test]
    fn unknown_protocol_options_are_negotiated_not_refused() {
        let packet = b"user\0ann\0_pq_.compression\0on\0\0";
        let greeting = greeting((3 << 16) | 2, Fields::new(packet)).expect("well formed");
        assert!(greeting.is_newer);
        assert_eq!(greeting.unknown, ["_pq_.compression"]);
    }

    #[test]
    fn settings_cannot_smuggle_statements() {
        assert!(set_statement("a; DROP TABLE t", "").is_err());
        assert!(set_statement("", "").is_err());
        let text = set_statement("application_name", "it's").expect("a name");
        assert_eq!(text, "SET application_name = 'it''s'");
    }
}
