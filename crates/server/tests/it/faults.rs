//! What bad input gets, as PostgreSQL says it: the files under `tests/faults`, over the wire.
//!
//! A file is a list of requests, each with the answer that PostgreSQL 15 gave. Where ours is another one, the entry
//! says why (`differs:`) and what ours is, so that neither changes unseen.
//!
//! ```text
//! > SELECT nothing                       a statement; `|` lines after a COPY are its data
//! ERROR 42703 at 8: column "nothing" does not exist
//! > SELECT NULL, 1, 'a'
//! row NULL, 1, a                         sorted, where the statement says no order
//! ok SELECT 1
//! >> bind s: text(abc) binary(0001)      a message of the extended protocol
//! ```
//!
//! `SHAREDDB_FAULTS=record` with `SHAREDDB_FAULTS_ORACLE=address:port` asks PostgreSQL again (user and database
//! `shareddb`); `SHAREDDB_FAULTS=differ` writes down our answers where they differ, for somebody to give reasons.
//! `SHAREDDB_FAULTS_FILE` names one file.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::fixture::Fixture;
use crate::raw::{Message, Raw};

/// Rows of an answer that a file holds at most.
const ROWS_SHOWN: usize = 20;

/// One request and its answers.
#[derive(Default)]
struct Entry {
    /// Comments and blank lines before it.
    before: Vec<String>,
    request: Vec<String>,
    data: Vec<String>,
    expected: Vec<String>,
    reason: Option<String>,
    ours: Vec<String>,
}

/// A file's entries, and the lines after the last one.
fn entries(text: &str) -> (Vec<Entry>, Vec<String>) {
    let mut entries: Vec<Entry> = Vec::new();
    let mut before = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if line.starts_with('>') {
            let before = std::mem::take(&mut before);
            entries.push(Entry { before, request: vec![line.to_owned()], ..Entry::default() });
            open = true;
        } else if line.is_empty() || line.starts_with('#') || !open {
            before.push(line.to_owned());
            open = false;
        } else {
            entries.last_mut().expect("an entry is open").add(line);
        }
    }
    (entries, before)
}

impl Entry {
    fn add(&mut self, line: &str) {
        if let Some(data) = line.strip_prefix('|') {
            self.data.push(data.strip_prefix(' ').unwrap_or(data).to_owned());
        } else if let Some(reason) = line.strip_prefix("differs: ") {
            self.reason = Some(reason.to_owned());
        } else if let Some(ours) = line.strip_prefix("ours: ") {
            self.ours.push(ours.to_owned());
        } else if line.starts_with("  ") {
            self.request.push(line.to_owned());
        } else {
            self.expected.push(line.to_owned());
        }
    }

    /// What our server has to say.
    fn wanted(&self) -> &[String] {
        if self.reason.is_some() { &self.ours } else { &self.expected }
    }

    fn show(&self, file: &mut String) {
        let mut line = |prefix: &str, text: &str| writeln!(file, "{prefix}{text}").expect("memory");
        self.before.iter().for_each(|text| line("", text));
        self.request.iter().for_each(|text| line("", text));
        self.data.iter().for_each(|text| line("| ", text));
        self.expected.iter().for_each(|text| line("", text));
        if let Some(reason) = &self.reason {
            line("differs: ", reason);
            self.ours.iter().for_each(|text| line("ours: ", text));
        }
    }

    /// Sends the request and gives the answer in the file's words.
    fn ask(&self, raw: &mut Raw) -> Vec<String> {
        let text = self.request.join("\n");
        match text.strip_prefix(">> ") {
            Some(messages) => messages.lines().for_each(|line| send(raw, line.trim())),
            None => raw.query(text.strip_prefix("> ").expect("a request")),
        }
        if text.starts_with(">>") && !text.starts_with(">> query") {
            raw.sync();
        }
        let is_ordered = text.to_lowercase().contains("order by");
        let (mut said, mut rows) = (Vec::new(), Vec::new());
        loop {
            let Some(message) = raw.try_read().filter(|_| rows.len() < 10_000) else {
                said.push("(no answer)".to_owned());
                break;
            };
            if message.tag == b'D' {
                rows.push(row(&message));
                continue;
            }
            // How many rows come before an error is nobody's promise.
            let rows = std::mem::take(&mut rows);
            if message.tag != b'E' {
                said.extend(shown(rows, is_ordered));
            }
            match message.tag {
                b'Z' => break,
                b'G' => self.give_data(raw),
                _ => said.extend(told(&message)),
            }
        }
        said
    }

    /// `\.` as the last line would end the data as the protocol once did.
    fn give_data(&self, raw: &mut Raw) {
        for line in &self.data {
            raw.message(b'd', &[unescaped(line), b"\n".to_vec()].concat());
        }
        raw.message(b'c', b"");
    }
}

/// Bytes that a text file cannot hold, as `{ff}`.
fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find('{') {
        bytes.extend(rest[..start].bytes());
        let end = start + rest[start..].find('}').expect("a closed brace");
        bytes.extend(hex(&rest[start + 1..end]));
        rest = &rest[end + 1..];
    }
    bytes.extend(rest.bytes());
    bytes
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits.chars().collect();
    let byte = |pair: &[char]| pair.iter().fold(0, |n, c| n * 16 + c.to_digit(16).expect("hex"));
    digits.chunks(2).map(|pair| byte(pair) as u8).collect()
}

/// `parse s (23 25): text`, `run s: values` (Bind, Execute), `bind p s: values`, `execute p`, `describe S s`,
/// `query: bytes`.
fn send(raw: &mut Raw, line: &str) {
    let (head, tail) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
    let words: Vec<&str> = head.split([' ', '(', ')']).filter(|word| !word.is_empty()).collect();
    match words[0] {
        "parse" => {
            let types: Vec<u32> = words[2..].iter().map(|w| w.parse().expect("an oid")).collect();
            let mut body = format!("{}\0", name(words[1])).into_bytes();
            body.extend(unescaped(tail));
            body.push(0);
            body.extend((types.len() as u16).to_be_bytes());
            types.iter().for_each(|oid| body.extend(oid.to_be_bytes()));
            raw.message(b'P', &body);
        }
        "bind" => bind(raw, name(words[1]), name(words[2]), tail),
        "run" => {
            bind(raw, "", name(words[1]), tail);
            raw.execute("", 0);
        }
        "execute" => raw.execute(name(words[1]), 0),
        "describe" => raw.describe(words[1].chars().next().expect("a kind"), name(words[2])),
        "close" => raw.close(words[1].chars().next().expect("a kind"), name(words[2])),
        "query" => raw.message(b'Q', &[unescaped(tail), vec![0]].concat()),
        other => panic!("no message {other}"),
    }
}

/// `-` is the empty name.
fn name(word: &str) -> &str {
    if word == "-" { "" } else { word }
}

/// Values: `text(...)`, `binary(hex)`, `null`, one `results(format ...)`.
fn bind(raw: &mut Raw, portal: &str, statement: &str, values: &str) {
    let (mut formats, mut bytes, mut results) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = values.trim();
    while !rest.is_empty() {
        let (kind, tail) = rest.split_once('(').unwrap_or((rest, ""));
        let (value, tail) = tail.split_once(')').unwrap_or(("", ""));
        match kind {
            "text" => bytes.push(Some(unescaped(value))),
            "binary" => bytes.push(Some(hex(value))),
            "results" => {
                results.extend(value.split(' ').map(|w| w.parse::<u16>().expect("a format")))
            }
            _ => bytes.push(None),
        }
        if kind != "results" {
            formats.push(u16::from(kind == "binary"));
        }
        rest = tail.trim();
    }
    let bytes: Vec<Option<&[u8]>> = bytes.iter().map(Option::as_deref).collect();
    raw.bind_formats(portal, statement, &formats, &bytes, &results);
}

/// A row in the file's words; bytes that are no text as `{ff}`.
fn row(message: &Message) -> String {
    let value = |value: Option<&[u8]>| match value.map(|bytes| (bytes, str::from_utf8(bytes))) {
        None => "NULL".to_owned(),
        Some((_, Ok(text))) if !text.contains('\0') => text.replace('\n', "\\n"),
        Some((bytes, _)) => format!("{{{}}}", in_hex(bytes)),
    };
    let values: Vec<String> = message.values().into_iter().map(value).collect();
    format!("row {}", values.join(", "))
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first rows of an answer, and how many more there are.
fn shown(mut rows: Vec<String>, is_ordered: bool) -> Vec<String> {
    if !is_ordered {
        rows.sort();
    }
    let more = rows.len().saturating_sub(ROWS_SHOWN);
    rows.truncate(ROWS_SHOWN);
    rows.extend((more > 0).then(|| format!("rows: {more} more")));
    rows
}

/// A message in the file's words: errors, notices and command tags; nothing for others.
fn told(message: &Message) -> Vec<String> {
    match message.tag {
        b'E' | b'N' => fault(message),
        b'C' => vec![format!("ok {}", message.text())],
        b'I' => vec!["ok empty".to_owned()],
        b's' => vec!["ok suspended".to_owned()],
        b'1' => vec!["ok parsed".to_owned()],
        b'3' => vec!["ok closed".to_owned()],
        b't' | b'n' => vec!["ok described".to_owned()],
        _ => Vec::new(),
    }
}

fn fault(message: &Message) -> Vec<String> {
    let field = |code| message.field(code).unwrap_or_default();
    let position = message.field(b'P').map(|at| format!(" at {at}")).unwrap_or_default();
    let (severity, state) = (field(b'S'), field(b'C'));
    let mut lines = vec![format!("{severity} {state}{position}: {}", field(b'M'))];
    for (code, word) in [(b'D', "DETAIL"), (b'H', "HINT"), (b'W', "CONTEXT"), (b'q', "QUERY")] {
        lines.extend(message.field(code).map(|text| format!("{word}: {text}")));
    }
    let objects = [(b's', "schema"), (b't', "table"), (b'c', "column"), (b'd', "type")];
    let objects = objects.iter().chain(&[(b'n', "constraint")]);
    let named =
        objects.filter_map(|(code, word)| Some(format!("{word} {}", message.field(*code)?)));
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        lines.push(format!("NAMES: {}", named.join(", ")));
    }
    lines.iter().map(|line| line.replace('\n', "\\n")).collect()
}

fn files() -> Vec<PathBuf> {
    let only = std::env::var("SHAREDDB_FAULTS_FILE").ok();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let entries = std::fs::read_dir(folder).expect("the folder is part of the crate");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| only.as_ref().is_none_or(|only| file.ends_with(only)));
    files.sort();
    files
}

/// PostgreSQL's answers in place of the file's.
fn record(file: &Path) {
    let address =
        std::env::var("SHAREDDB_FAULTS_ORACLE").expect("SHAREDDB_FAULTS_ORACLE=address:port");
    let address = address.parse().expect("an address");
    Raw::connect(address).run("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    rewrite(file, &mut Raw::connect(address), |entry, said| entry.expected = said);
}

/// Our answers beside the file's, where they differ.
fn differ(file: &Path) {
    let server = Fixture::new();
    rewrite(file, &mut server.connect(), |entry, said| {
        let equal = said == entry.expected;
        let reason = entry.reason.take().unwrap_or_else(|| "(nobody has said why)".to_owned());
        entry.reason = (!equal).then_some(reason);
        entry.ours = if equal { Vec::new() } else { said };
    });
}

fn rewrite(file: &Path, raw: &mut Raw, change: impl Fn(&mut Entry, Vec<String>)) {
    let text = std::fs::read_to_string(file).expect("readable");
    let (entries, after) = entries(&text);
    let mut written = String::new();
    for mut entry in entries {
        let said = entry.ask(raw);
        if said.iter().any(|line| line == "(no answer)") {
            *raw = Raw::connect(raw.address());
        }
        change(&mut entry, said);
        entry.show(&mut written);
    }
    after.iter().for_each(|line| writeln!(written, "{line}").expect("memory"));
    std::fs::write(file, written).expect("writable");
}

/// The entries of a file that our server answers otherwise than the file says.
fn check(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("readable");
    let server = Fixture::new();
    let mut raw = server.connect();
    let mut faults = Vec::new();
    for entry in entries(&text).0 {
        let said = entry.ask(&mut raw);
        if said != entry.wanted() {
            let (request, wanted) = (entry.request.join("\n"), entry.wanted().join("\n  "));
            faults.push(format!("{request}\n  {wanted}\nours:\n  {}", said.join("\n  ")));
        }
    }
    faults
}

#[test]
fn bad_input_gets_what_postgresql_gives() {
    match std::env::var("SHAREDDB_FAULTS").as_deref() {
        Ok("record") => files().iter().for_each(|file| record(file)),
        Ok("differ") => files().iter().for_each(|file| differ(file)),
        _ => {
            let faults: Vec<String> = files().iter().flat_map(|file| check(file)).collect();
            assert!(faults.is_empty(), "{} differ\n{}", faults.len(), faults.join("\n\n"));
        }
    }
}
