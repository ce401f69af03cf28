//! Kept settings and `--response-time`, of a server that is killed and started again.

use workloads::client::{Client, PostgresClient};

use crate::server::Server;
use crate::turns;

/// What a new session begins with.
fn begun(server: &Server, role: &str, setting: &str) -> String {
    let client = PostgresClient::connect(server.address, role, "shareddb");
    let mut client = client.expect("it serves");
    let text = format!("SELECT current_setting('{setting}')");
    let statement = client.prepare(&text).expect("a setting");
    client.execute(statement, &[]).expect("its value").text(0, 0).to_owned()
}

#[test]
fn kept_settings_are_there_after_a_kill() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ["--response-time", "50min"];
    let mut server = Server::start_with(Some(folder.path()), &options);
    let mut client = server.connect().expect("it serves");
    for statement in [
        "CREATE ROLE ann LOGIN",
        "ALTER ROLE ann SET work_mem = '1MB'",
        "ALTER ROLE ann SET shareddb.late = finish",
        "CHECKPOINT",
        "ALTER ROLE ann RESET work_mem",
        "ALTER ROLE ann IN DATABASE shareddb SET shareddb.response_time = '90.5s'",
    ] {
        client.run(statement).unwrap_or_else(|failure| panic!("{statement}: {failure}"));
    }
    assert_eq!(begun(&server, "shareddb", "shareddb.response_time"), "50min");
    server.kill();
    let server = Server::start_with(Some(folder.path()), &options);
    for (role, setting, value) in [
        ("ann", "work_mem", "4MB"),
        ("ann", "shareddb.late", "finish"),
        ("ann", "shareddb.response_time", "90500ms"),
        ("shareddb", "shareddb.late", "drop"),
        ("shareddb", "shareddb.response_time", "50min"),
    ] {
        assert_eq!(begun(&server, role, setting), value, "{setting} of {role}");
    }
}
