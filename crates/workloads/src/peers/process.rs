//! A server process that ends with us.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::cpu::{tree_cpu_seconds, tree_resident_bytes};
use crate::client::{Failure, Result};

/// How long a server may take until it serves: an old log may have to be read, a large buffer to be cleared.
const START: Duration = Duration::from_secs(60);
/// How long a server may take to go down in order.
const STOP: Duration = Duration::from_secs(20);
/// How long a server may take to fall after it has lost its connections: it may write down its memory.
const CRASH: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// Ends the process when dropped, politely first.
pub struct Server {
    child: Mutex<Child>,
    pid: u32,
    log: PathBuf,
}

impl Server {
    /// Starts a command of `command` with its output going to `log`.
    pub fn start(command: &mut Command, log: &Path) -> Result<Server> {
        let file = std::fs::File::create(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command
            .spawn()
            .map_err(|error| Failure::without_state(format!("{command:?}: {error}")))?;
        let pid = child.id();
        Ok(Server { child: Mutex::new(child), pid, log: log.to_owned() })
    }

    /// What `find` finds in what the server says, as soon as it is there: the port that it has taken, say.
    pub fn says<T>(&self, find: impl Fn(&str) -> Option<T>) -> Result<T> {
        self.wait_for(|| {
            let said = std::fs::read_to_string(&self.log)?;
            find(&said).ok_or_else(|| Failure::without_state("it has not said where".to_owned()))
        })
    }

    /// Waits until what `connect` tries succeeds: a server that listens may still refuse.
    pub fn wait_for<T>(&self, connect: impl Fn() -> Result<T>) -> Result<T> {
        let deadline = Instant::now() + START;
        loop {
            let refused = match connect() {
                Ok(connection) => return Ok(connection),
                Err(refused) => refused,
            };
            if let Some(how) = self.ended() {
                return Err(Failure::without_state(how));
            }
            if Instant::now() > deadline {
                return Err(Failure::without_state(format!(
                    "the server does not serve: {refused}"
                )));
            }
            std::thread::sleep(POLL);
        }
    }

    /// How the server ended, in words; `None` while it runs.
    pub fn ended(&self) -> Option<String> {
        self.status().map(|status| format!("its server ended with {status}"))
    }

    /// An error that says how the server ended, if it did: after connections were lost, which a server that crashes
    /// loses a moment before it is gone.
    pub fn check(&self, connections_lost: bool) -> Result<()> {
        let deadline = Instant::now() + if connections_lost { CRASH } else { Duration::ZERO };
        loop {
            if let Some(how) = self.ended() {
                return Err(Failure::without_state(how));
            }
            if Instant::now() >= deadline {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
    }

    fn status(&self) -> Option<ExitStatus> {
        self.child.lock().try_wait().ok().flatten()
    }

    /// CPU seconds that the server's processes have used.
    pub fn cpu_seconds(&self) -> f64 {
        tree_cpu_seconds(self.pid)
    }

    /// Resident bytes of the server's processes.
    pub fn resident_bytes(&self) -> u64 {
        tree_resident_bytes(self.pid)
    }

    /// Ends it at once.
    pub fn kill(&self) {
        // An error means that it is gone already.
        let _ = self.child.lock().kill();
    }
}

impl Server {
    /// A panic that the server has survived makes it slow at worst: whoever measures it must know.
    fn warn_of_panics(&self) {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let panics = log.lines().filter(|line| line.contains(" panicked at ")).count();
        if panics > 0 {
            eprintln!("warning: {panics} panics in {}", self.log.display());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.warn_of_panics();
        if self.status().is_some() {
            return;
        }
        let asked = Command::new("kill").args(["-INT", &self.pid.to_string()]).status();
        let deadline = Instant::now() + STOP;
        while asked.is_ok() && Instant::now() < deadline {
            if self.status().is_some() {
                return;
            }
            std::thread::sleep(POLL);
        }
        // It has had its time.
        self.kill();
        let _ = self.child.lock().wait();
    }
}

/// A command whose process is interrupted when the thread that starts it ends, however that comes about: a driver
/// that is killed leaves no server behind. SIGINT ends a process that has no handler yet even where the driver runs
/// in the background, which ignores it. Runs as `user` when we are root: database servers refuse to be root.
pub fn command(program: impl AsRef<OsStr>, user: Option<&str>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if let Some(user) = user.filter(|_| is_root()) {
        command.args(["--reuid", user, "--regid", user, "--init-groups"]);
    }
    command.args(["--", "env", "--default-signal=INT", "--"]).arg(program);
    command
}

/// Whether we may become somebody else.
pub fn is_root() -> bool {
    run(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// The command kept to the first `cores` cores, which it then takes for all there are; `None` for no limit.
pub fn on_cores(command: Command, cores: Option<usize>) -> Command {
    let Some(cores) = cores else { return command };
    let mut pinned = Command::new("taskset");
    pinned.arg("--cpu-list").arg(format!("0-{}", cores.max(1) - 1));
    pinned.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        pinned.current_dir(folder);
    }
    pinned
}

/// A port that was free a moment ago.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Runs a program to its end; its output becomes the error where it fails.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|error| Failure::without_state(format!("{command:?}: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(Failure::without_state(format!("{command:?} failed: {text}{errors}")))
}
