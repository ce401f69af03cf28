//! A server process that ends with us.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::{Failure, Result};

/// Ends the process when dropped, politely first.
pub struct Server(Child);

impl Server {
    /// Starts a program with its output going to `log`.
    pub fn start(command: &mut Command, log: &std::path::Path) -> Result<Server> {
        let file = std::fs::File::create(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().map_err(|error| failure(format!("{command:?}: {error}")))?;
        Ok(Server(child))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Waits until it accepts connections.
    pub fn wait_for(&mut self, address: SocketAddr) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            if let Some(status) = self.0.try_wait()? {
                return Err(failure(format!("the server ended with {status}")));
            }
            if Instant::now() > deadline {
                return Err(failure(format!("nobody answers at {address}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = self.0.id().to_string();
        let asked = Command::new("kill").args(["-INT", &pid]).status();
        let deadline = Instant::now() + Duration::from_secs(20);
        while asked.is_ok() && Instant::now() < deadline {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // It has had its time; both errors mean that it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
    let output = command.output().map_err(|error| failure(format!("{command:?}: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(failure(format!("{command:?} failed: {text}{errors}")))
}

/// A command that runs as `user` when we are root: database servers refuse to be root.
pub fn as_user(user: &str, program: &str) -> Command {
    let root = run(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", user, "--init-groups", program]);
    command
}

/// An error without SQLSTATE.
pub fn failure(message: String) -> Failure {
    Failure { state: String::new(), message }
}
