//! One permutation of a spec, step by step.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::types::SqlState;
use parking_lot::Mutex;
use sql::{Database, ImplicitTransaction, Outcome, Session};
use tokio::sync::mpsc;

use super::output::table;
use super::spec::{Spec, Turn};
use crate::connection::given;

/// How often it is looked what has become of a step.
const LOOK: Duration = Duration::from_millis(1);
/// A session on a task of its own.
struct Actor {
    name: String,
    send: mpsc::UnboundedSender<String>,
    printed: Arc<Mutex<Option<String>>>,
    waits: Arc<AtomicBool>,
    /// A step that takes longer hangs.
    patience: Duration,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Actor {
    fn start(database: &Arc<Database>, name: &str, patience: Duration) -> Actor {
        let mut session = database.session("shareddb");
        let waits = session.limits().waits_for_lock.clone();
        let (send, mut receive) = mpsc::unbounded_channel::<String>();
        let printed = Arc::new(Mutex::new(None));
        let (own, called) = (printed.clone(), name.to_owned());
        let task = tokio::spawn(async move {
            while let Some(text) = receive.recv().await {
                let given = run(&mut session, &called, &text).await;
                *own.lock() = Some(given);
            }
        });
        Actor { name: name.to_owned(), send, printed, waits, patience, task }
    }

    /// What a text gives that does not wait.
    async fn ask(&self, text: &str) -> String {
        self.send.send(text.to_owned()).expect("the task lives");
        self.come_to_something(|| false).await.unwrap_or_default()
    }

    fn waits(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    /// What the step that runs has given; `None` where it waits, and goes on waiting.
    async fn come_to_something(&self, waits: impl Fn() -> bool) -> Option<String> {
        let began = Instant::now();
        loop {
            if let Some(printed) = self.printed.lock().take() {
                return Some(printed);
            }
            if waits() {
                return None;
            }
            if began.elapsed() > self.patience {
                return Some(format!("{} hangs\n", self.name));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// All that a text of statements prints.
async fn run(session: &mut Session, name: &str, text: &str) -> String {
    let mut printed = String::new();
    let outcome = statements(session, text, &mut printed).await;
    let ended = session.end_implicit(outcome.is_err()).await;
    // isolationtester asks for warnings only.
    let is_warning = |notice: &engine::types::Error| notice.state != SqlState::SuccessfulCompletion;
    for notice in session.take_notices().into_iter().filter(is_warning) {
        writeln!(printed, "{name}: WARNING:  {}", notice.message).expect("strings take all");
    }
    if let Err(error) = outcome.and(ended) {
        writeln!(printed, "ERROR:  {}", error.message).expect("strings take all");
    }
    printed
}

async fn statements(
    session: &mut Session,
    text: &str,
    printed: &mut String,
) -> engine::types::Result<()> {
    let parts = session.parse_script(text).await?;
    let alone = parts.len() == 1;
    for part in parts {
        let implicit = if alone { ImplicitTransaction::Alone } else { ImplicitTransaction::Script };
        let statement = session.prepare(&part, &[]).await?;
        let outcome = session.execute(&statement, Vec::new(), implicit).await?;
        let names: Option<Vec<String>> = match &outcome {
            Outcome::Rows(rows) => {
                Some(rows.columns.iter().map(|column| column.name.to_string()).collect())
            }
            _ => None,
        };
        let given = given(outcome).await?;
        if let Some(names) = names {
            printed.push_str(&table(&names, &given.rows));
        }
    }
    Ok(())
}

/// A permutation's run.
struct Run<'a> {
    database: &'a Database,
    spec: &'a Spec,
    actors: Vec<Actor>,
    /// What each session does.
    active: Vec<Option<&'a Turn>>,
    waiting: Vec<&'a Turn>,
    printed: String,
}

/// What a permutation prints, and whether it leaves nothing. A step that takes longer than `patience` hangs.
pub async fn permutation(
    database: &Arc<Database>,
    spec: &Spec,
    turns: &[Turn],
    patience: Duration,
) -> (String, bool) {
    let names: Vec<&str> = turns.iter().map(|turn| turn.step.as_str()).collect();
    let mut printed = format!("starting permutation: {}\n", names.join(" "));
    let control = Actor::start(database, "control", patience);
    for setup in &spec.setups {
        printed.push_str(&control.ask(setup).await);
    }
    let start = |name: &String| Actor::start(database, name, patience);
    let actors: Vec<Actor> = spec.sessions.iter().map(|session| start(&session.name)).collect();
    for (actor, session) in actors.iter().zip(&spec.sessions) {
        if let Some(setup) = &session.setup {
            printed.push_str(&actor.ask(setup).await);
        }
    }
    let active = vec![None; actors.len()];
    let mut run = Run { database, spec, actors, active, waiting: Vec::new(), printed };
    for turn in turns {
        run.turn(turn).await;
    }
    run.complete(true).await;
    let Run { actors, mut printed, .. } = run;
    for (actor, session) in actors.iter().zip(&spec.sessions) {
        if let Some(teardown) = &session.teardown {
            printed.push_str(&actor.ask(teardown).await);
        }
    }
    drop(actors);
    let torn_down = match &spec.teardown {
        Some(teardown) => control.ask(teardown).await,
        None => String::new(),
    };
    (printed, !torn_down.contains("ERROR:"))
}

impl<'a> Run<'a> {
    async fn turn(&mut self, turn: &'a Turn) {
        let Some((session, text)) = self.spec.steps.get(&turn.step) else {
            return writeln!(self.printed, "no step {}", turn.step).expect("strings take all");
        };
        if self.active[*session].is_some() {
            self.complete_session(*session).await;
        }
        self.actors[*session].send.send(text.clone()).expect("the task lives");
        self.active[*session] = Some(turn);
        let must_wait = !self.try_step(turn, false, false).await;
        self.complete(false).await;
        if must_wait {
            self.waiting.push(turn);
        }
    }

    /// Whether a session waits for a lock that it does not get as things stand. Who has got his lock and has not gone on yet
    /// seems to wait, too, but stands in line no longer: then fewer stand in line than seem to wait.
    fn waits(&self, session: usize) -> bool {
        let waiting = self.actors.iter().filter(|actor| actor.waits()).count();
        self.actors[session].waits() && self.database.engine().waiting_for_locks() == waiting
    }

    /// Waits until a session is free.
    async fn complete_session(&mut self, session: usize) {
        let began = Instant::now();
        while self.active[session].is_some() && began.elapsed() < self.actors[session].patience {
            self.complete(false).await;
        }
    }

    /// Tells which of those who waited have come to something.
    async fn complete(&mut self, to_the_end: bool) {
        loop {
            let (before, mut has_blocker) = (self.waiting.len(), false);
            for turn in std::mem::take(&mut self.waiting) {
                if !self.try_step(turn, true, to_the_end).await {
                    has_blocker |= !turn.after.is_empty();
                    self.waiting.push(turn);
                }
            }
            if self.waiting.len() == before || !has_blocker {
                return;
            }
        }
    }

    /// Whether a step is over and told.
    async fn try_step(&mut self, turn: &'a Turn, is_retry: bool, to_the_end: bool) -> bool {
        let (session, text) = &self.spec.steps[&turn.step];
        let is_held_back = |step: &String| {
            self.active
                .iter()
                .flatten()
                .any(|active| active.step == *step && active.step != turn.step)
        };
        let said =
            match turn.waits && !is_retry || turn.after.iter().any(is_held_back) && !to_the_end {
                true => None,
                false => {
                    let waits = || !to_the_end && self.waits(*session);
                    self.actors[*session].come_to_something(waits).await
                }
            };
        match said {
            Some(printed) => {
                let what = if is_retry { "<... completed>" } else { text.as_str() };
                writeln!(self.printed, "step {}: {what}", turn.step).expect("strings take all");
                self.printed.push_str(&printed);
                self.active[*session] = None;
                true
            }
            None if is_retry => false,
            None => {
                writeln!(self.printed, "step {}: {text} <waiting ...>", turn.step)
                    .expect("strings take all");
                false
            }
        }
    }
}
