//! Equal statements at once: they run as one, and their rows are encoded once.

use crate::cancel::cancel;
use crate::fixture::Fixture;
use crate::raw::{Message, Messages, Raw};

/// Clients that ask at once.
const CLIENTS: usize = 10;
/// How often all pipeline the same statements.
const BURSTS: usize = 5;

/// How a statement is asked.
#[derive(Clone, Copy, Debug)]
enum Form {
    Simple,
    Text,
    Binary,
    /// The first column as text, the second in binary format, no more than so many rows at a time.
    Portal(u32),
}

fn ask(raw: &mut Raw, text: &str, form: Form) {
    let formats: &[u16] = match form {
        Form::Simple => return raw.query(text),
        Form::Text => &[0],
        Form::Binary => &[1],
        Form::Portal(_) => &[0, 1],
    };
    raw.parse("", text);
    raw.bind_formats("", "", &[], &[], formats);
    raw.execute("", if let Form::Portal(limit) = form { limit } else { 0 });
    raw.sync();
}

fn answer(raw: &mut Raw, text: &str, form: Form) -> Vec<Message> {
    ask(raw, text, form);
    raw.until_ready()
}

/// Those who ask at once, in one heartbeat.
fn clients(fixture: &Fixture) -> Vec<Raw> {
    let clients = (0..CLIENTS).map(|_| {
        let mut client = fixture.connect();
        client.run("SET shareddb.path = global");
        client
    });
    clients.collect()
}

/// Rows that some heartbeat gave to more than one of them.
fn have_met(raw: &mut Raw) -> bool {
    let counts =
        raw.column("SELECT count(*) FROM shareddb.heartbeats WHERE activations > requests");
    counts != ["0"]
}

/// A few rows; several pages; more than is shared.
const ROWS: [u32; 3] = [10, 12_000, 50_000];

fn text(rows: u32) -> String {
    format!("SELECT i, s FROM t WHERE i < {rows} AND s LIKE '%row%' ORDER BY s")
}

#[test]
fn everybody_gets_the_bytes_that_he_gets_alone() {
    let fixture = Fixture::new();
    let mut first = fixture.with_rows(60_000);
    let forms = [Form::Simple, Form::Text, Form::Binary, Form::Portal(7), Form::Portal(0)];
    let mut clients = clients(&fixture);
    for rows in ROWS {
        let text = text(rows);
        let alone = forms.map(|form| answer(&mut first, &text, form));
        assert_eq!(alone[0].rows().len(), rows as usize);
        drop(fixture.held_back(CLIENTS, || {
            for (number, client) in clients.iter_mut().enumerate() {
                ask(client, &text, forms[number % forms.len()]);
                client.send();
            }
        }));
        for (number, client) in clients.iter_mut().enumerate() {
            let form = number % forms.len();
            assert!(client.until_ready() == alone[form], "{rows} rows, {:?}", forms[form]);
        }
    }
    assert!(have_met(&mut first), "equal statements are one request");
}

#[test]
fn pipelined_answers_keep_their_order() {
    let fixture = Fixture::new();
    let mut first = fixture.with_rows(1_000);
    // Shared: both leave in one write, with the messages of a row that nobody shares between them.
    let texts = [text(200), "SELECT 1".to_owned(), text(300), text(200)];
    let alone = texts.each_ref().map(|text| answer(&mut first, text, Form::Text));
    let mut clients = clients(&fixture);
    for _ in 0..BURSTS {
        drop(fixture.held_back(CLIENTS, || {
            for client in &mut clients {
                texts.iter().for_each(|text| ask(client, text, Form::Text));
                client.send();
            }
        }));
        for client in &mut clients {
            for alone in &alone {
                assert!(client.until_ready() == *alone);
            }
        }
    }
    assert!(have_met(&mut first), "equal statements are one request");
}

#[test]
fn a_cancelled_and_a_vanished_receiver_disturb_nobody() {
    let fixture = Fixture::new();
    let mut first = fixture.with_rows(40_000);
    let text = text(25_000);
    let alone = answer(&mut first, &text, Form::Simple);
    for _ in 0..3 {
        let mut clients: Vec<Raw> = (0..CLIENTS).map(|_| fixture.connect()).collect();
        clients.iter_mut().for_each(|client| ask(client, &text, Form::Simple));
        clients.iter_mut().for_each(Raw::send);
        drop(clients.pop());
        let mut cancelled = clients.pop().expect("there are more");
        cancel(&fixture, cancelled.key);
        for client in &mut clients {
            let answer = client.until_ready();
            let (states, rows) = (answer.states(), answer.rows().len());
            assert!(answer == alone, "beside a cancelled one: {states:?}, {rows} rows");
        }
        let answer = cancelled.until_ready();
        let whole = answer == alone;
        assert!(whole || answer.states() == ["57014"], "{:?}", answer.tags());
        cancelled.run("SELECT 1");
    }
}
