//! NotificationResponse on the wire: when it comes, and what becomes of a client that does not read.

use crate::fixture::Fixture;
use crate::raw::{Message, Messages, Raw};
use crate::waiting::eventually;

/// Process, channel and payload.
fn said(message: &Message) -> (i32, String, String) {
    assert_eq!(message.tag, b'A', "{message:?}");
    let (process, texts) = message.body.split_first_chunk::<4>().expect("a number");
    let mut texts = texts.split(|byte| *byte == 0);
    let mut text = || String::from_utf8_lossy(texts.next().expect("a text")).into_owned();
    (i32::from_be_bytes(*process), text(), text())
}

fn payloads(messages: &[Message]) -> Vec<String> {
    messages.iter().filter(|message| message.tag == b'A').map(|message| said(message).2).collect()
}

#[test]
fn an_idle_client_is_told_at_once() {
    let fixture = Fixture::new();
    let (mut listener, mut speaker) = (fixture.connect(), fixture.connect());
    listener.run("LISTEN a");
    speaker.run("NOTIFY a, 'x'");
    assert_eq!(said(&listener.read()), (speaker.key.0, "a".into(), "x".into()));
    speaker.run("BEGIN; NOTIFY a, 'y'; NOTIFY a, 'z'; NOTIFY a, 'y'; COMMIT");
    assert_eq!(said(&listener.read()).2, "y");
    assert_eq!(said(&listener.read()).2, "z");
    listener.run("SELECT 1");
}

#[test]
fn ones_own_come_before_ready_for_query() {
    let fixture = Fixture::new();
    let mut client = fixture.connect();
    client.run("LISTEN a");
    let messages = client.run("NOTIFY a, 'x'");
    assert_eq!((messages.tags().as_str(), payloads(&messages)), ("CAZ", vec!["x".into()]));
    let messages = client.run("SELECT pg_notify('a', 'y')");
    assert_eq!((messages.tags().as_str(), payloads(&messages)), ("TDCAZ", vec!["y".into()]));
    let messages = client.run("NOTIFY a, '1'; SELECT 1; NOTIFY a, '2'");
    assert_eq!(messages.tags(), "CTDCCAAZ");
}

#[test]
fn nothing_comes_within_a_block() {
    let fixture = Fixture::new();
    let (mut listener, mut speaker) = (fixture.connect(), fixture.connect());
    listener.run("LISTEN a");
    listener.run("BEGIN");
    speaker.run("NOTIFY a, 'x'");
    assert_eq!(listener.run("SELECT 1").tags(), "TDCZ");
    assert_eq!(listener.fail("SELECT 1/0"), "22012");
    let messages = listener.run("ROLLBACK");
    assert_eq!((messages.tags().as_str(), payloads(&messages)), ("CAZ", vec!["x".into()]));
}

#[test]
fn nothing_comes_within_a_pipeline() {
    let fixture = Fixture::new();
    let (mut listener, mut speaker) = (fixture.connect(), fixture.connect());
    listener.run("LISTEN a");
    listener.parse("", "SELECT $1::integer");
    listener.message(b'H', b"");
    assert_eq!(listener.read().tag, b'1');
    speaker.run("NOTIFY a, 'x'");
    listener.bind("", "", &[Some("7")]);
    listener.execute("", 0);
    listener.sync();
    assert_eq!(listener.until_ready().tags(), "2DCAZ");
}

#[test]
fn the_extended_protocol_listens_and_notifies() {
    let fixture = Fixture::new();
    let mut client = fixture.connect();
    for text in ["LISTEN a", "SELECT pg_notify($1, $2)"] {
        client.parse("", text);
        let parameters = [Some("a"), Some("x")];
        client.bind("", "", &parameters[..if text.contains('$') { 2 } else { 0 }]);
        client.execute("", 0);
        client.sync();
        let messages = client.until_ready();
        assert_eq!(messages.states(), [""; 0]);
        assert_eq!(payloads(&messages).len(), usize::from(text.contains('$')));
    }
    client.run("DISCARD ALL");
    assert_eq!(client.run("NOTIFY a").tags(), "CZ");
}

#[test]
fn many_notifications_come_whole_and_in_order() {
    let fixture = Fixture::new();
    let (mut listener, mut speaker) = (fixture.connect(), fixture.connect());
    listener.run("LISTEN a");
    let count = 3_000;
    let script: String =
        (0..count).map(|i| format!("NOTIFY a, '{i} {}';", "x".repeat(500))).collect();
    speaker.run(&script);
    for i in 0..count {
        let (_, _, payload) = said(&listener.read());
        assert!(payload.starts_with(&format!("{i} ")), "{payload} instead of {i}");
    }
}

#[test]
fn who_does_not_read_goes_and_holds_up_nobody() {
    let fixture = Fixture::new();
    let (mut reader, mut slow) = (fixture.connect(), fixture.connect());
    reader.run("LISTEN a");
    slow.run("LISTEN a");
    slow.run("BEGIN");
    let mut speaker = fixture.connect();
    let payload = "x".repeat(7_900);
    let mut said_so_far = 0;
    let last = eventually("the slow one goes", || {
        for _ in 0..100 {
            said_so_far += 1;
            speaker.run(&format!("NOTIFY a, '{said_so_far} {payload}'"));
            said(&reader.read());
        }
        speaker.run("SELECT 1");
        is_closing(&mut slow, said_so_far)
    });
    assert_eq!(last.field(b'C').as_deref(), Some("53000"));
    assert_eq!(last.field(b'S').as_deref(), Some("FATAL"));
    assert_eq!(reader.run("NOTIFY a, 'still here'").tags(), "CAZ");
}

/// What a client in a block is told once more has been said than is kept for it.
fn is_closing(slow: &mut Raw, said: usize) -> Option<Message> {
    (said >= 1_200).then(|| slow.read())
}
