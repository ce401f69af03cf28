//! A PostgreSQL of our own, on a socket in a temporary folder, for as long as somebody needs it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running server.
pub struct Cluster {
    server: Child,
    folder: TempDir,
}

impl Cluster {
    /// Initializes and starts one, as an unprivileged user.
    ///
    /// # Errors
    /// Why there is none to start.
    pub fn start() -> Result<Self, String> {
        let programs = PathBuf::from("/usr/lib/postgresql/15/bin");
        if !programs.join("initdb").exists() {
            return Err("PostgreSQL 15 is not installed".to_owned());
        }
        let owner = owner()?;
        let folder = tempfile::tempdir().expect("a folder");
        if let Some((user, group)) = owner {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).expect("a folder");
        }
        let program = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
            if let Some((user, group)) = owner {
                command.uid(user).gid(group);
            }
            command
        };
        let mut initialize = program("initdb");
        initialize.args(["-D", "data", "-U", "postgres", "--auth=trust", "--no-sync"]);
        initialize.args(["--locale=C", "--encoding=UTF8"]);
        assert!(initialize.status().expect("initdb").success(), "the cluster is not initialized");
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let mut server = program("postgres");
        server.args(["-D", "data", "-h", "", "-c", "fsync=off", "-c", "timezone=UTC", "-k"]);
        let server = server.arg(folder.path()).stderr(log).spawn().expect("postgres");
        let cluster = Self { server, folder };
        cluster.wait();
        Ok(cluster)
    }

    fn wait(&self) {
        let socket = self.folder.path().join(".s.PGSQL.5432");
        let end = Instant::now() + Duration::from_secs(120);
        while !(socket.exists()
            && self
                .psql()
                .args(["-c", "select 1"])
                .output()
                .is_ok_and(|output| output.status.success()))
        {
            let log = || std::fs::read_to_string(self.folder.path().join("log"));
            assert!(Instant::now() < end, "PostgreSQL does not start: {:?}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The socket that it listens on.
    #[allow(dead_code, reason = "tests of other crates share this file and connect to it")]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(".s.PGSQL.5432")
    }

    fn psql(&self) -> Command {
        let mut psql = Command::new("psql");
        psql.env_clear().envs(std::env::vars().filter(|(name, _)| name == "PATH"));
        psql.env("PGCLIENTENCODING", "UTF8").arg("-h").arg(self.folder.path());
        psql.args(["-U", "postgres", "-d", "postgres", "-XqAt", "-v", "ON_ERROR_STOP=1"]);
        psql
    }

    /// What a script prints, line by line.
    pub fn lines(&self, script: &str) -> Vec<String> {
        let path = self.folder.path().join("script.sql");
        let mut file = std::fs::File::create(&path).expect("a script");
        file.write_all(script.as_bytes()).expect("a script");
        let output = self.psql().arg("-f").arg(&path).output().expect("psql");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "PostgreSQL refuses a script: {errors}");
        let text = String::from_utf8(output.stdout).expect("psql prints UTF-8");
        text.lines().map(str::to_owned).collect()
    }
}

/// As whom a server runs: PostgreSQL refuses to run as root.
fn owner() -> Result<Option<(u32, u32)>, String> {
    let own = std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own));
    if own.is_ok_and(|user| user != 0) {
        return Ok(None);
    }
    let accounts = std::fs::read_to_string(Path::new("/etc/passwd")).unwrap_or_default();
    let account = accounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.strip_prefix("postgres:")?.split(':').collect();
        Some((fields.get(1)?.parse().ok()?, fields.get(2)?.parse().ok()?))
    });
    account.map(Some).ok_or_else(|| "there is no user postgres".to_owned())
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let stop = Command::new("kill").arg("-INT").arg(self.server.id().to_string()).status();
        if stop.is_ok_and(|status| status.success()) {
            let _ = self.server.wait();
        }
    }
}
