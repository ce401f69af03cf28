//! Those who ask: several at once, so that equal questions meet and late ones follow; some cancel, some vanish.

use std::collections::HashSet;
use std::time::Duration;

use super::questions::{QUESTIONS, Rows, with};
use super::{BRANCHES, Scene, fault};
use crate::cancel::cancel;
use crate::fuzz::Random;
use crate::raw::{Message, Messages, Raw};

/// Connections of one thread.
const SEATS: usize = 8;
/// How a session may want its queries to run; most say nothing.
const SETTINGS: [&str; 5] = [
    "SET shareddb.path = 'automatic'",
    "SET shareddb.path = 'global'",
    "SET shareddb.path = 'alone'",
    "SET shareddb.path = 'global'; SET shareddb.sharing = 'always'",
    "SET shareddb.path = 'global'; SET shareddb.sharing = 'never'",
];

/// How a question is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Query.
    Simple,
    /// Bind and Execute of a statement that the connection keeps, whatever happens to its tables.
    Prepared,
    /// By a portal, in portions.
    Portions,
    /// By a cursor.
    Cursor,
    /// COPY ... TO STDOUT.
    Copy,
    /// Twice in a REPEATABLE READ block.
    Twice,
}

const WAYS: [Way; 8] = [
    Way::Simple,
    Way::Simple,
    Way::Prepared,
    Way::Prepared,
    Way::Portions,
    Way::Cursor,
    Way::Copy,
    Way::Twice,
];

/// A connection, and what it asks.
struct Seat {
    raw: Raw,
    prepared: HashSet<usize>,
    question: usize,
    branch: usize,
    way: Way,
    is_cancelled: bool,
}

impl Seat {
    fn new(scene: Scene<'_>, random: &mut Random) -> Seat {
        let mut raw = scene.fixture.connect();
        raw.run(SETTINGS[random.below(SETTINGS.len())]);
        let prepared = HashSet::new();
        Seat { raw, prepared, question: 0, branch: 0, way: Way::Simple, is_cancelled: false }
    }

    fn ask(&mut self, question: usize, random: &mut Random) {
        self.question = question;
        self.branch = random.below(BRANCHES);
        self.way = WAYS[random.below(WAYS.len())];
        self.is_cancelled = false;
        let text = with(QUESTIONS[question].text, self.branch);
        match self.way {
            Way::Simple => self.raw.query(&text),
            Way::Prepared => self.execute_prepared(),
            Way::Portions => self.execute_in_portions(&text),
            Way::Cursor => self.raw.query(&format!(
                "BEGIN; DECLARE c CURSOR FOR {text}; FETCH 1 FROM c; FETCH 500 FROM c; \
                 FETCH ALL FROM c; COMMIT"
            )),
            Way::Copy => self.raw.query(&format!("COPY ({text}) TO STDOUT")),
            Way::Twice => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ";
                [begin, &text, &text, "COMMIT"].iter().for_each(|text| self.raw.query(text));
            }
        }
        self.raw.send();
    }

    fn execute_prepared(&mut self) {
        let (text, name) = (QUESTIONS[self.question].text, format!("q{}", self.question));
        if self.prepared.insert(self.question) {
            self.raw.parse(&name, text);
        }
        let branch = self.branch.to_string();
        let parameters = [Some(branch.as_str())];
        let count = usize::from(text.contains("$1"));
        self.raw.bind("", &name, &parameters[..count]);
        self.raw.execute("", 0);
        self.raw.sync();
    }

    fn execute_in_portions(&mut self, text: &str) {
        self.raw.parse("", text);
        self.raw.bind("", "", &[]);
        for limit in [1, 700, 0] {
            self.raw.execute("", limit);
        }
        self.raw.sync();
    }

    /// Everything that the question is answered with.
    fn answer(&mut self) -> Vec<Message> {
        let messages = if self.way == Way::Twice { 4 } else { 1 };
        (0..messages).flat_map(|_| self.raw.until_ready()).collect()
    }

    /// Reads the answer and leaves the connection outside any block.
    fn check(&mut self, scene: Scene<'_>) {
        let answer = self.answer();
        let states = answer.states();
        let text = with(QUESTIONS[self.question].text, self.branch);
        let asked = format!("{text} ({:?})", self.way);
        if let Some(state) = states.first() {
            let mut known = Vec::new();
            known.extend(self.is_cancelled.then_some("57014"));
            // A table that was stored anew has no rows for older snapshots.
            known.extend((self.way == Way::Twice).then_some("40001"));
            scene.expect(state, &known, &fault(&answer), &asked);
            // What it prepared may be lost with the error.
            self.prepared.remove(&self.question);
            self.raw.close('S', &format!("q{}", self.question));
            self.raw.sync();
            self.raw.until_ready();
            self.raw.run("ROLLBACK");
            return;
        }
        let (holds, commands) = (QUESTIONS[self.question].holds, answer.commands());
        let mut answers = self.rows(&answer);
        for rows in &mut answers {
            assert!(holds(rows), "seed {}: {asked}: {commands:?} {rows:?}", scene.seed);
            rows.sort();
        }
        let is_equal = answers.iter().all(|rows| *rows == answers[0]);
        assert!(is_equal, "seed {}: {asked} gives {answers:?}", scene.seed);
    }

    /// The rows of the question, of each time that it was asked.
    fn rows(&self, answer: &[Message]) -> Vec<Rows> {
        match self.way {
            Way::Copy => vec![copied(answer)],
            Way::Twice => {
                let rows = answer.rows();
                let (first, second) = rows.split_at(rows.len() / 2);
                vec![first.to_vec(), second.to_vec()]
            }
            _ => vec![answer.rows()],
        }
    }
}

/// The rows of COPY ... TO STDOUT in text format.
fn copied(answer: &[Message]) -> Rows {
    let data = answer.iter().filter(|message| message.tag == b'd');
    let text: String = data.map(|message| String::from_utf8_lossy(&message.body)).collect();
    let cell = |cell: &str| (cell != "\\N").then(|| cell.to_owned());
    text.lines().map(|line| line.split('\t').map(cell).collect()).collect()
}

/// As long as there are rounds, all seats ask, most of them one of two questions; then some leave and the others read.
pub fn run(scene: Scene<'_>, mut random: Random) {
    let mut seats: Vec<Seat> = Vec::new();
    while scene.takes_round() {
        while seats.len() < SEATS {
            seats.push(Seat::new(scene, &mut random));
        }
        let common = [random.below(QUESTIONS.len()), random.below(QUESTIONS.len())];
        for seat in &mut seats {
            let question = match random.below(4) {
                0 => random.below(QUESTIONS.len()),
                other => common[other % 2],
            };
            seat.ask(question, &mut random);
            std::thread::sleep(Duration::from_micros(random.below(3_000) as u64));
        }
        for _ in 0..random.below(3) {
            let seat = &mut seats[random.below(SEATS)];
            seat.is_cancelled = true;
            cancel(scene.fixture, seat.raw.key);
        }
        if random.below(4) == 0 {
            drop(seats.swap_remove(random.below(SEATS)));
        }
        seats.iter_mut().for_each(|seat| seat.check(scene));
    }
}
