//! `shareddb load` with files as people have them, also with mistakes in them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use workloads::client::Client;

use crate::server::{self, Server};
use crate::turns;

fn load(server: &Server, file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shareddb"));
    command.args(["load", "--connect", &server.address.to_string(), "csv", "t"]);
    server::output(command.arg(file))
}

/// What it says on the standard error.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("a writable folder");
    path
}

#[test]
fn a_mistake_in_a_file_is_named_with_file_line_and_column() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Server::start(None);
    let mut client = server.connect().expect("it serves");
    client.run("CREATE TABLE t (a integer PRIMARY KEY, b integer CHECK (b < 100))").expect("new");
    for (content, place) in [
        ("a,b\n1,2\n2,x\n", "COPY t, line 3, column b: \"x\""),
        ("b,a\n1,2\n\n", "COPY t, line 3: \"\""),
        ("a,b\n1,2\n2,100\n", "COPY t, line 3"),
    ] {
        let path = file(folder.path(), "broken.csv", content);
        let output = load(&server, &path);
        let said = said(&output);
        assert!(!output.status.success(), "{content}: {said}");
        assert!(said.starts_with(&format!("shareddb: {}: ", path.display())), "{content}: {said}");
        assert!(said.contains(place), "{content}: {said}");
    }
    let whole = load(&server, &file(folder.path(), "whole.csv", "a,b\n1,2\n2,3\n"));
    assert!(whole.status.success(), "{}", said(&whole));
    assert!(said(&whole).contains(&format!("[{}]", "#".repeat(30))), "{}", said(&whole));
}
