//! Every type, text and binary, in and out, through tokio-postgres and raw.

use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, NoTls};

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};
use crate::within::within;

async fn connect(fixture: &Fixture) -> Client {
    let text =
        format!("host=127.0.0.1 port={} user=shareddb dbname=shareddb", fixture.address.port());
    let connected = within("an answer", tokio_postgres::connect(&text, NoTls)).await;
    let (client, connection) = connected.expect("let in");
    tokio::spawn(connection);
    client
}

/// Stores a value and reads it back, both in binary.
async fn round_trip<T>(client: &Client, sql_type: &str, values: &[Option<T>])
where
    T: ToSql + Sync + for<'a> FromSql<'a> + PartialEq + std::fmt::Debug,
{
    within(sql_type, store_and_read(client, sql_type, values)).await;
}

async fn store_and_read<T>(client: &Client, sql_type: &str, values: &[Option<T>])
where
    T: ToSql + Sync + for<'a> FromSql<'a> + PartialEq + std::fmt::Debug,
{
    let table = format!("t_{}", sql_type.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let create = format!("CREATE TABLE {table} (i integer PRIMARY KEY, v {sql_type})");
    client.batch_execute(&create).await.expect("creates");
    let insert = format!("INSERT INTO {table} VALUES ($1, $2)");
    let insert = client.prepare(&insert).await.expect("prepares");
    let select = format!("SELECT v FROM {table} WHERE i = $1");
    let select = client.prepare(&select).await.expect("prepares");
    for (i, value) in values.iter().enumerate() {
        let i = i as i32;
        assert_eq!(client.execute(&insert, &[&i, value]).await.expect("stores"), 1);
        let row = client.query_one(&select, &[&i]).await.expect("one row");
        assert_eq!(&row.get::<_, Option<T>>(0), value, "{sql_type}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_come_back_in_binary() {
    let fixture = Fixture::new();
    let client = connect(&fixture).await;
    round_trip(&client, "boolean", &[Some(true), Some(false), None]).await;
    round_trip(&client, "smallint", &[Some(i16::MIN), Some(i16::MAX), None]).await;
    round_trip(&client, "integer", &[Some(i32::MIN), Some(0), None]).await;
    round_trip(&client, "bigint", &[Some(i64::MIN), Some(i64::MAX), None]).await;
    round_trip(&client, "real", &[Some(1.5f32), Some(f32::INFINITY), None]).await;
    round_trip(&client, "double precision", &[Some(-0.1f64), Some(f64::MAX), None]).await;
    let text = |text: &str| Some(text.to_string());
    round_trip(&client, "text", &[text("grüß"), text(""), None]).await;
    round_trip(&client, "varchar(10)", &[text("grüß"), None]).await;
    round_trip(&client, "char(4)", &[text("äb  "), None]).await;
    round_trip(&client, "bytea", &[Some(vec![0u8, 255]), Some(vec![]), None]).await;
}

#[test]
fn values_come_back_as_text() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    let values = [
        ("boolean", "t"),
        ("smallint", "-32768"),
        ("bigint", "9223372036854775807"),
        ("real", "0.1"),
        ("double precision", "1e+20"),
        ("numeric(20,4)", "-1234567890.1230"),
        ("text", "a'b\\"),
        ("char(5)", "ab   "),
        ("date", "2024-02-29"),
        ("date", "0044-03-15 BC"),
        ("timestamp", "1999-12-31 23:59:59.123456"),
        ("timestamptz", "2000-01-01 00:00:00+00"),
        ("bytea", "\\x00ff"),
    ];
    for (sql_type, value) in values {
        raw.run(&format!("CREATE TABLE v (v {sql_type})"));
        raw.parse("", "INSERT INTO v VALUES ($1)");
        raw.bind("", "", &[Some(value)]);
        raw.execute("", 0);
        raw.sync();
        assert_eq!(raw.until_ready().states(), [""; 0], "{sql_type}");
        assert_eq!(raw.column("SELECT v FROM v"), [value], "{sql_type}");
        raw.run("DROP TABLE v");
    }
}

/// Sends a value in binary and reads it in binary, without a client's own idea of the type.
fn echo(raw: &mut Raw, sql_type: &str, bytes: &[u8]) -> Vec<u8> {
    raw.parse("", &format!("SELECT $1::{sql_type}"));
    raw.bind_formats("", "", &[1], &[Some(bytes)], &[1]);
    raw.execute("", 0);
    raw.sync();
    let messages = raw.until_ready();
    assert_eq!(messages.states(), [""; 0], "{sql_type}");
    let row = messages.iter().find(|message| message.tag == b'D').expect("a row");
    row.body[6..].to_vec()
}

#[test]
fn times_and_numerics_have_postgresqls_bytes() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    for _ in 0..7 {
        let day = 8_826i32.to_be_bytes(); // 2024-03-01
        assert_eq!(echo(&mut raw, "date", &day), day);
        let instant = 762_523_200_123_456i64.to_be_bytes();
        assert_eq!(echo(&mut raw, "timestamp", &instant), instant);
        assert_eq!(echo(&mut raw, "timestamptz", &instant), instant);
    }
    // 1.10: two digits after the point stay two.
    let number = [0, 2, 0, 0, 0, 0, 0, 2, 0, 1, 3, 232];
    assert_eq!(echo(&mut raw, "numeric(10,2)", &number), number);
    let text = raw.column("SELECT DATE '2024-03-01'");
    assert_eq!(text, ["2024-03-01"]);
}

#[test]
fn descriptions_name_types_widths_and_modifiers() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.run("CREATE TABLE d (a smallint, b varchar(7), c numeric(9,3), d char(2), e timestamptz)");
    raw.parse("", "SELECT * FROM d WHERE a = $1 AND b = $2");
    raw.describe('S', "");
    raw.sync();
    let messages = raw.until_ready();
    let parameters = messages.iter().find(|m| m.tag == b't').expect("described");
    assert_eq!(parameters.body[..6], [0, 2, 0, 0, 0, 21]);
    let columns = messages.iter().find(|m| m.tag == b'T').expect("described");
    let described = describe(&columns.body);
    let expected =
        [(21, 2, -1), (1043, -1, 11), (1700, -1, (9 << 16 | 3) + 4), (1042, -1, 6), (1184, 8, -1)];
    assert_eq!(described, expected);
}

/// Type, size and modifier of each field.
fn describe(body: &[u8]) -> Vec<(u32, i16, i32)> {
    let mut rest = &body[2..];
    let mut fields = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let field = &rest[end + 1..];
        let bytes = |at: usize| [field[at], field[at + 1], field[at + 2], field[at + 3]];
        fields.push((
            u32::from_be_bytes(bytes(6)),
            i16::from_be_bytes([field[10], field[11]]),
            i32::from_be_bytes(bytes(12)),
        ));
        rest = &field[18..];
    }
    fields
}

#[test]
fn broken_parameters_are_named() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.run("CREATE TABLE b (i integer, s text)");
    let mut state = |formats: &[u16], value: &[u8], column: &str| {
        raw.parse("", &format!("INSERT INTO b ({column}) VALUES ($1)"));
        raw.bind_formats("", "", formats, &[Some(value)], &[]);
        raw.execute("", 0);
        raw.sync();
        raw.until_ready().states().join(",")
    };
    assert_eq!(state(&[], b"x", "i"), "22P02");
    assert_eq!(state(&[], b"99999999999", "i"), "22003");
    assert_eq!(state(&[1], b"\0\0\0", "i"), "08P01");
    assert_eq!(state(&[1], b"\0\0\0\0\0", "i"), "22P03");
    assert_eq!(state(&[1], b"a\0b", "s"), "22021");
    assert_eq!(state(&[0], b"\xc3\x28", "s"), "22021");
}
