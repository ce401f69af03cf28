//! One answer run again and compared: the verdict, in the ledger and, where it is a difference, in the log.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::heartbeat::{Answer, Difference, Engine};
use engine::types::{Error, Result, SqlState};
use futures::FutureExt;

use super::compare::{Comparison, compare, contains};
use super::executor::{Executor, Question};
use super::rows::Rows;
use super::shape::Shape;
use super::{Allowance, Given, show};
use crate::explain::Told;
use crate::session::PathSetting;

/// What running a statement again may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of an answer.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Both paths gave the same.
    Agreed,
    /// They did not.
    Differed(Arc<Difference>),
    /// It could not be told, and why.
    Skipped(&'static str),
}

/// What is found before it is entered.
enum Finding {
    Same,
    Different(String, Result<Answer>),
    Skipped(&'static str),
}

/// Runs answers again and compares.
#[derive(Debug)]
pub struct Judge {
    engine: Arc<Engine>,
    allowance: Arc<Allowance>,
    /// The database is being closed: nothing more is run.
    is_closing: Arc<AtomicBool>,
}

/// Why an error says nothing about the answer: somebody or something ended the statement.
pub fn excuse(error: &Error) -> Option<&'static str> {
    match error.state {
        SqlState::QueryCanceled => Some("cancelled"),
        SqlState::OutOfMemory => Some("memory"),
        SqlState::OutdatedPlan | SqlState::UndefinedTable => Some("definitions"),
        SqlState::ProgramLimit => Some("size"),
        SqlState::InsufficientResources => Some("queue"),
        SqlState::AdminShutdown => Some("shutdown"),
        _ => None,
    }
}

impl Judge {
    /// For one database.
    pub fn new(engine: Arc<Engine>, allowance: Arc<Allowance>) -> Judge {
        Judge { engine, allowance, is_closing: Arc::default() }
    }

    /// Counts and the last differences.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Ends what runs and skips what waits.
    pub fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// Verifies one answer.
    pub async fn verify(&self, given: &Given, executor: &dyn Executor) -> Verdict {
        if self.is_closing.load(Ordering::Relaxed) {
            return self.skip("shutdown");
        }
        let clock = &self.engine.environment().clock;
        let began = clock.now();
        let cancelled = Arc::new(AtomicBool::new(false));
        let found = tokio::select! {
            biased;
            found = self.find(given, executor, &cancelled) => found,
            reason = self.end() => {
                cancelled.store(true, Ordering::Relaxed);
                Finding::Skipped(reason)
            }
        };
        let took = clock.now().saturating_sub(began);
        self.allowance.spend(took);
        match found {
            Finding::Same => {
                self.engine.ledger().agree(took);
                Verdict::Agreed
            }
            Finding::Skipped(reason) => self.skip(reason),
            Finding::Different(what, second) => {
                let difference = describe(given, what, &second);
                let difference = self.engine.ledger().differ(took, difference);
                report(&difference);
                Verdict::Differed(difference)
            }
        }
    }

    fn skip(&self, reason: &'static str) -> Verdict {
        self.engine.ledger().skip(reason);
        Verdict::Skipped(reason)
    }

    /// When a run has to end, and why.
    async fn end(&self) -> &'static str {
        let looks = PATIENCE.as_millis() / 10;
        for _ in 0..looks {
            tokio::time::sleep(Duration::from_millis(10)).await;
            if self.is_closing.load(Ordering::Relaxed) {
                return "shutdown";
            }
        }
        "timeout"
    }

    async fn find(
        &self,
        given: &Given,
        executor: &dyn Executor,
        cancelled: &Arc<AtomicBool>,
    ) -> Finding {
        let Given { question, answer: first, .. } = given;
        let shape = Shape::of(&question.template, self.rows(question));
        let second = run(executor, question, cancelled).await;
        match (first, second) {
            (_, Err(error)) if excuse(&error).is_some() => {
                Finding::Skipped(excuse(&error).unwrap_or_default())
            }
            (Err(first), Err(second)) if first.state == second.state => Finding::Same,
            (Err(_), second) | (Ok(_), second @ Err(_)) => match shape.is_cut || shape.is_open {
                // Which rows are computed at all is left open.
                true => Finding::Skipped("open"),
                false => Finding::Different("an error".to_owned(), second),
            },
            (Ok(first), Ok(second)) => {
                match compare(&Rows::of(first), &Rows::of(&second), &shape) {
                    Comparison::Same => Finding::Same,
                    Comparison::Different(_) if shape.is_open => Finding::Skipped("open"),
                    Comparison::Different(what) => Finding::Different(what, Ok(second)),
                    Comparison::Cut(rows) => {
                        let whole = Question { is_uncut: true, ..question.clone() };
                        let whole = run(executor, &whole, cancelled).await;
                        among(whole, first, &rows, &shape)
                    }
                }
            }
        }
    }

    /// Rows of all tables that a statement reads.
    fn rows(&self, question: &Question) -> u64 {
        let store = self.engine.store();
        let tables = question.template.tables.iter().filter_map(|table| store.table(*table));
        tables.map(|table| table.live_rows()).sum()
    }
}

/// Runs it; a panic is its fault alone.
async fn run(
    executor: &dyn Executor,
    question: &Question,
    cancelled: &Arc<AtomicBool>,
) -> Result<Answer> {
    let ran = AssertUnwindSafe(executor.run(question, cancelled)).catch_unwind().await;
    ran.unwrap_or_else(|_| Err(Error::new(SqlState::InternalError, "the other path panicked")))
}

/// Whether these rows of the first answer are among all that the statement could have cut.
fn among(whole: Result<Answer>, first: &Answer, rows: &[usize], shape: &Shape) -> Finding {
    let whole = match whole {
        Ok(whole) => whole,
        Err(error) => return Finding::Skipped(excuse(&error).unwrap_or("open")),
    };
    let first = Rows::of(first);
    match contains(&Rows::of(&whole), &first, rows, shape) {
        None => Finding::Same,
        Some(_) if shape.is_open => Finding::Skipped("open"),
        Some(row) => {
            let what = format!("a row that is none of them: {}", show::row(&first, row));
            Finding::Different(what, Ok(whole))
        }
    }
}

fn describe(given: &Given, what: String, second: &Result<Answer>) -> Difference {
    let Given { question, answer, witness, taken } = given;
    let Question { template, values, .. } = question;
    let plan = Told::of_query(template, values, PathSetting::Global).lines().join("\n");
    Difference {
        number: 0,
        statement: show::text(&template.text),
        parameters: show::parameters(values),
        what,
        first: show::answer(answer),
        second: show::answer(second),
        members: show::members(witness.as_ref()),
        plan: format!("answered {taken:?}\n{}", show::text(&plan)),
    }
}

fn report(difference: &Difference) {
    let Difference { number, statement, parameters, what, first, second, members, plan } =
        difference;
    tracing::error!(
        number, %statement, %parameters, %what, answer = %first, other_answer = %second,
        batch = %members, %plan,
        "an answer differs from that of another path"
    );
}
