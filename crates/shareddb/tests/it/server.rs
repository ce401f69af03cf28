//! The program under test, as a process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use workloads::client::{PostgresClient, Result};

use crate::waiting::{HANG, eventually};

/// What a run of the program may take that ends by itself.
const LONGEST_RUN: Duration = Duration::from_secs(600);

/// `shareddb serve`, which may not serve yet; killed without mercy when dropped.
pub struct Process {
    child: Child,
    /// What it says on its standard output, line by line.
    said: Receiver<String>,
}

impl Process {
    /// Starts one, on a port that it finds itself.
    pub fn spawn(data: Option<&Path>, options: &[&str]) -> Process {
        Process::of(env!("CARGO_BIN_EXE_shareddb"), data, options)
    }

    fn of(program: &str, data: Option<&Path>, options: &[&str]) -> Process {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(options);
        if let Some(data) = data {
            command.arg("--data").arg(data);
        }
        let log =
            std::env::var("SHAREDDB_TEST_LOG").map_or_else(|_| Stdio::null(), |_| Stdio::inherit());
        let mut child =
            command.stdout(Stdio::piped()).stderr(log).spawn().expect("the program runs");
        let said = lines(child.stdout.take().expect("it is piped"));
        Process { child, said }
    }

    /// Where it listens, as soon as it does.
    fn address(&self) -> SocketAddr {
        loop {
            let line = self.said.recv_timeout(HANG).expect("the server says where it listens");
            if let Some((_, address)) = line.split_once(" listens on ") {
                return address.parse().expect("an address");
            }
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        ended(&mut self.child, "a killed server ends");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What comes on an output, which is read to its end: nobody waits for room in the pipe.
fn lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(std::io::Result::ok) {
            // After the first lines nobody listens.
            let _ = sender.send(line);
        }
    });
    receiver
}

/// A server that answers.
pub struct Server {
    process: Process,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts one and waits until it serves.
    pub fn start(data: Option<&Path>) -> Server {
        Server::start_with(data, &[])
    }

    /// Starts one with more options and waits until it serves.
    pub fn start_with(data: Option<&Path>, options: &[&str]) -> Server {
        Server::serving(Process::spawn(data, options))
    }

    /// Starts another program and waits until it serves.
    pub fn of(program: &str, data: &Path) -> Server {
        Server::serving(Process::of(program, Some(data), &[]))
    }

    fn serving(process: Process) -> Server {
        let address = process.address();
        Server { process, address }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// `kill`, and waits until it has ended.
    pub fn terminate(&mut self) {
        terminate(self.id());
        ended(&mut self.process.child, "a server that is asked to stop ends");
    }

    /// A connection; what is not answered in time has failed.
    pub fn connect(&self) -> Result<PostgresClient> {
        let mut client = PostgresClient::connect(self.address, "shareddb", "shareddb")?;
        client.give_up_after(HANG)?;
        Ok(client)
    }
}

/// `kill`.
pub fn terminate(process: u32) {
    let asked = Command::new("kill").arg(process.to_string()).status();
    assert!(asked.is_ok_and(|status| status.success()), "it is our child");
}

/// How a child has ended, once it has.
pub fn ended(child: &mut Child, what: &str) -> ExitStatus {
    eventually(what, || child.try_wait().expect("it is our child"))
}

/// Runs a program to its end.
pub fn output(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let id = child.id();
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(LONGEST_RUN) else {
        terminate(id);
        panic!("it has not ended after {LONGEST_RUN:?}: {command:?}");
    };
    output.expect("it is our child")
}
