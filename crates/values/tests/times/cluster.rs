//! A PostgreSQL 15 of the test's own, in a temporary folder, reached by a socket there.

use std::io::Write;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
const START: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(20);

/// A running PostgreSQL; it ends with this.
pub struct Cluster {
    server: Child,
    folder: tempfile::TempDir,
}

/// User and group of `postgres`, which PostgreSQL runs as where we are root.
fn owner() -> Option<(u32, u32)> {
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let account = accounts.lines().find(|line| line.starts_with("postgres:"))?;
    let fields: Vec<&str> = account.split(':').collect();
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| {
        use std::os::unix::fs::MetadataExt;
        process.uid() == 0
    })
}

fn program(name: &str) -> Command {
    let mut command = Command::new(Path::new(PROGRAMS).join(name));
    if is_root()
        && let Some((user, group)) = owner()
    {
        command.uid(user).gid(group);
    }
    command.current_dir("/");
    command
}

impl Cluster {
    /// Starts one; `Err` says why there is none here.
    pub fn start() -> Result<Cluster, String> {
        if !Path::new(PROGRAMS).join("initdb").exists() {
            return Err("PostgreSQL 15 is not installed".to_owned());
        }
        if is_root() && owner().is_none() {
            return Err("PostgreSQL does not run as root, and there is no user postgres".to_owned());
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        if is_root()
            && let Some((user, group)) = owner()
        {
            chown(folder.path(), Some(user), Some(group)).expect("the folder is given away");
        }
        let data: PathBuf = folder.path().join("data");
        let options = ["--locale=C", "--encoding=UTF8", "--auth=trust", "--username=postgres"];
        let made = program("initdb").arg("-D").arg(&data).args(options).arg("--no-sync").output();
        let made = made.expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let server = program("postgres")
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-c", "listen_addresses=", "-c", "fsync=off"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("postgres runs");
        let mut cluster = Cluster { server, folder };
        cluster.wait_until_it_serves();
        Ok(cluster)
    }

    fn wait_until_it_serves(&mut self) {
        let deadline = Instant::now() + START;
        loop {
            let asked = self.psql().args(["-c", "SELECT 1"]).output().expect("psql runs");
            if asked.status.success() {
                return;
            }
            let ended = self.server.try_wait().expect("the server's state");
            assert!(ended.is_none(), "PostgreSQL ended: {ended:?}");
            assert!(Instant::now() < deadline, "PostgreSQL does not serve");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn psql(&self) -> Command {
        let mut command = program("psql");
        let options = ["-X", "-q", "-A", "-t", "-U", "postgres", "-v", "ON_ERROR_STOP=1"];
        command.arg("-h").arg(self.folder.path()).args(options);
        command
    }

    /// What a script prints.
    pub fn run(&self, script: &str) -> String {
        let mut client = self
            .psql()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("psql runs");
        let mut input = client.stdin.take().expect("psql reads");
        let script = script.to_owned();
        let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
        let answered = client.wait_with_output().expect("psql ends");
        writer.join().expect("the writer ends").expect("psql reads all");
        let errors = String::from_utf8_lossy(&answered.stderr).into_owned();
        assert!(answered.status.success(), "{errors}");
        // PostgreSQL may cut a text within a character when it tells a failure.
        String::from_utf8_lossy(&answered.stdout).into_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let id = self.server.id().to_string();
        // A fast shutdown; what does not follow is killed.
        let _ = Command::new("kill").args(["-INT", &id]).status();
        let deadline = Instant::now() + STOP;
        while Instant::now() < deadline {
            if matches!(self.server.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
