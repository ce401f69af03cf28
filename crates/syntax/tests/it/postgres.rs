//! What PostgreSQL 15 itself says of a text's grammar: a server of our own, asked without executing anything.
//!
//! Within a transaction that has failed, PostgreSQL parses a text and then refuses it with 25P02: whatever else it says is its grammar's.

use std::io::{Read, Write};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::folder::Folder;

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
const PORT: u16 = 5432;

/// What takes longer hangs.
const HANG: Duration = Duration::from_secs(120);

/// Fields of an error message of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    pub sqlstate: String,
    pub message: String,
    pub hint: Option<String>,
    pub detail: Option<String>,
    pub position: Option<usize>,
}

/// A running server and a connection to it.
pub struct Postgres {
    server: Child,
    connection: UnixStream,
    _folder: Folder,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Postgres {
    /// Starts one; tells why not where PostgreSQL 15 is not installed.
    pub fn start() -> Result<Postgres, String> {
        if !Path::new(PROGRAMS).join("postgres").exists() {
            return Err("PostgreSQL 15 is not installed".to_owned());
        }
        let account = account()?;
        let folder = Folder::new();
        if let Some((user, group)) = account {
            chown(folder.path(), Some(user), Some(group)).expect("root may");
        }
        let data = folder.path().join("data");
        let run = |program: &str| {
            let mut command = Command::new(Path::new(PROGRAMS).join(program));
            command
                .arg("-D")
                .arg(&data)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .current_dir("/");
            if let Some((user, group)) = account {
                command.uid(user).gid(group);
            }
            command
        };
        let made = run("initdb")
            .args([
                "--no-sync",
                "--locale=C",
                "--encoding=UTF8",
                "--auth=trust",
                "--username=postgres",
            ])
            .status();
        assert!(made.expect("initdb is there").success(), "initdb failed");
        let server = run("postgres")
            .arg("-k")
            .arg(folder.path())
            .args(["-h", "", "-c", "fsync=off"])
            .spawn();
        let mut server = server.expect("postgres is there");
        let connection = connect(&folder.path().join(format!(".s.PGSQL.{PORT}")), &mut server);
        let mut postgres = Postgres { server, connection, _folder: folder };
        postgres.fail();
        Ok(postgres)
    }

    /// What its grammar says of a text; None where it takes it.
    pub fn refusal(&mut self, text: &str) -> Option<Refusal> {
        let (refusal, state) = self.ask(text);
        if state != b'E' {
            // It ended the transaction.
            self.fail();
        }
        // Going back to a savepoint is executed in such a transaction: there is none.
        refusal.filter(|refusal| !["25P02", "3B001"].contains(&refusal.sqlstate.as_str()))
    }

    /// Begins a transaction that fails.
    fn fail(&mut self) {
        self.ask("begin");
        let (_, state) = self.ask("select 1 / 0");
        assert_eq!(state, b'E', "the transaction fails");
    }

    /// Sends a text; gives its error, and the state of the transaction behind it.
    fn ask(&mut self, text: &str) -> (Option<Refusal>, u8) {
        let length = u32::try_from(text.len() + 5).expect("texts are short");
        let message = [b"Q", &length.to_be_bytes()[..], text.as_bytes(), b"\0"].concat();
        self.connection.write_all(&message).expect("the server listens");
        let mut refusal = None;
        loop {
            let (kind, body) = self.receive();
            match kind {
                b'E' => refusal = Some(fields(&body)),
                b'Z' => return (refusal, body[0]),
                b'G' => panic!("PostgreSQL waits for data of {text}"),
                _ => {}
            }
        }
    }

    fn receive(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.connection.read_exact(&mut head).expect("the server answers");
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) - 4;
        let mut body = vec![0; length.try_into().expect("it fits")];
        self.connection.read_exact(&mut body).expect("the server answers");
        (head[0], body)
    }
}

/// PostgreSQL refuses to run as root: the user and group that it runs as then.
fn account() -> Result<Option<(u32, u32)>, String> {
    let id = |options: &[&str]| {
        let output = Command::new("id").args(options).output().expect("id is there");
        String::from_utf8_lossy(&output.stdout).trim().parse::<u32>().ok()
    };
    if id(&["-u"]) != Some(0) {
        return Ok(None);
    }
    let account = id(&["-u", "postgres"]).zip(id(&["-g", "postgres"]));
    account
        .map(Some)
        .ok_or_else(|| "PostgreSQL does not run as root, and there is no user postgres".to_owned())
}

fn connect(socket: &Path, server: &mut Child) -> UnixStream {
    let began = Instant::now();
    let mut connection = loop {
        if let Ok(connection) = UnixStream::connect(socket)
            && let Some(connection) = greeted(connection)
        {
            break connection;
        }
        assert!(server.try_wait().expect("it can be asked").is_none(), "the server ended");
        assert!(began.elapsed() < HANG, "waited {HANG:?} in vain for the server");
        std::thread::sleep(Duration::from_millis(20));
    };
    connection.set_read_timeout(Some(HANG)).expect("a timeout can be set");
    let mut end = [0; 6];
    while !end.starts_with(b"Z\0\0\0\x05") {
        end.rotate_left(1);
        connection.read_exact(&mut end[5..]).expect("the server greets");
    }
    connection
}

/// Says hello; None while the server is starting, which it says with an error.
fn greeted(mut connection: UnixStream) -> Option<UnixStream> {
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    let length = u32::try_from(body.len() + 4).expect("it is short").to_be_bytes();
    connection.write_all(&[&length[..], body].concat()).ok()?;
    let mut kind = [0];
    connection.read_exact(&mut kind).ok()?;
    (kind[0] == b'R').then_some(connection)
}

fn fields(body: &[u8]) -> Refusal {
    let mut refusal = Refusal::default();
    for field in body.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
        let value = String::from_utf8_lossy(&field[1..]).into_owned();
        match field[0] {
            b'C' => refusal.sqlstate = value,
            b'M' => refusal.message = value,
            b'H' => refusal.hint = Some(value),
            b'D' => refusal.detail = Some(value),
            b'P' => refusal.position = value.parse().ok(),
            _ => {}
        }
    }
    refusal
}
