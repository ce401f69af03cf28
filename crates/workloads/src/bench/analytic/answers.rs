//! Equal data must give equal answers: the same queries on every system, compared row by row with the first.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::bench::Failure;
use crate::client::Client;
use crate::driver::Session;
use crate::peers::System;
use crate::query::{Query, QueryMix, Statement};

/// Relative difference of numbers with a point: some systems compute averages and quotients of decimals as doubles.
/// Beyond it the digits that both print must agree but for the last. Integers must be equal.
const TOLERANCE: f64 = 1e-12;

type Rows = Vec<Vec<String>>;
/// Rows, or what the system said instead.
type Answer = Result<Rows, String>;

/// The queries, and what the first system answered.
pub struct Answers {
    statements: Vec<Statement>,
    queries: Vec<Query>,
    first: Option<(String, Vec<Answer>)>,
}

impl Answers {
    /// Draws `draws` queries of each statement.
    pub fn draw(mix: &dyn QueryMix, draws: usize, seed: u64) -> Answers {
        let mut rng = SmallRng::seed_from_u64(seed);
        let statements = mix.statements().to_vec();
        let numbers = (0..statements.len()).flat_map(|number| (0..draws).map(move |_| number));
        let queries = numbers.map(|number| mix.draw_from(number, &mut rng)).collect();
        Answers { statements, queries, first: None }
    }

    /// Asks a system over so many connections at once. The first one's answers are kept; of every other one the
    /// differences are printed and returned, and so are failures of any.
    pub fn compare(&mut self, system: &dyn System, at_once: usize) -> Result<Vec<String>, Failure> {
        if self.queries.is_empty() {
            return Ok(Vec::new());
        }
        let answers = self.ask(system, at_once.clamp(1, self.queries.len()))?;
        let mut found = self.failures(&answers);
        match &self.first {
            None => self.first = Some((system.name().to_owned(), answers)),
            Some((first, expected)) => {
                found.extend(self.differences(expected, &answers));
                // Whoever fails is told of, and compared with nobody.
                let both = expected.iter().zip(&answers).filter(|(a, b)| a.is_ok() && b.is_ok());
                let count = both.count();
                println!("answers compared with {first}: {count}, differences: {}", found.len());
            }
        }
        found.iter().take(20).for_each(|difference| println!("  {difference}"));
        Ok(found)
    }

    /// All answers in the order of the queries; neighbours are asked together.
    fn ask(&self, system: &dyn System, at_once: usize) -> Result<Vec<Answer>, Failure> {
        let open = |_| Ok(Session::open(system.connect()?, &self.statements));
        let sessions: Vec<_> = (0..at_once).map(open).collect::<crate::client::Result<_>>()?;
        let next = AtomicUsize::new(0);
        let answers: Vec<OnceLock<Answer>> = self.queries.iter().map(|_| OnceLock::new()).collect();
        std::thread::scope(|scope| -> crate::client::Result<()> {
            let (next, answers) = (&next, &answers);
            let start = |session| scope.spawn(move || self.ask_in_turn(session, next, answers));
            let threads: Vec<_> = sessions.into_iter().map(start).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("a worker panicked"))
        })?;
        let taken = |answer: OnceLock<Answer>| answer.into_inner().expect("all were asked");
        Ok(answers.into_iter().map(taken).collect())
    }

    /// Asks what nobody has asked yet, until all is asked or the connection is lost.
    fn ask_in_turn(
        &self,
        mut session: Session<dyn Client>,
        next: &AtomicUsize,
        answers: &[OnceLock<Answer>],
    ) -> crate::client::Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(query) = self.queries.get(number) else { return Ok(()) };
            let answer = match session.answer(query) {
                Ok(rows) => Ok(sorted(rows)),
                Err(failure) if failure.state.is_empty() => return Err(failure),
                Err(failure) => Err(failure.to_string()),
            };
            answers[number].set(answer).expect("each number is taken once");
        }
    }

    fn failures(&self, answers: &[Answer]) -> Vec<String> {
        let failed = self.queries.iter().zip(answers);
        failed
            .filter_map(|(query, answer)| {
                let name = &self.statements[query.statement].name;
                let failure = answer.as_ref().err()?;
                Some(format!("{name} {:?} fails: {failure}", query.parameters))
            })
            .collect()
    }

    fn differences(&self, expected: &[Answer], answers: &[Answer]) -> Vec<String> {
        let mut found = Vec::new();
        for (query, (expected, answer)) in self.queries.iter().zip(expected.iter().zip(answers)) {
            let (Ok(expected), Ok(answer)) = (expected, answer) else { continue };
            if let Some(difference) = difference(expected, answer) {
                let name = &self.statements[query.statement].name;
                found.push(format!("{name} {:?}: {difference}", query.parameters));
            }
        }
        found
    }
}

/// In an order that does not depend on how a system prints numbers: ties in ORDER BY are nobody's fault.
fn sorted(mut rows: Rows) -> Rows {
    for cell in rows.iter_mut().flatten() {
        if cell.contains('.') && cell.parse::<f64>().is_ok() {
            let kept = cell.trim_end_matches('0').trim_end_matches('.').len();
            cell.truncate(kept);
        }
    }
    rows.sort();
    rows
}

/// What is not equal, in words.
fn difference(expected: &Rows, answer: &Rows) -> Option<String> {
    if expected.len() != answer.len() {
        return Some(format!("{} rows against {}", expected.len(), answer.len()));
    }
    let mut pairs = expected.iter().zip(answer);
    let (one, other) = pairs.find(|(one, other)| !equal_rows(one, other))?;
    Some(format!("{one:?} against {other:?}"))
}

fn equal_rows(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| equal_values(a, b))
}

fn equal_values(one: &str, other: &str) -> bool {
    let whole = one.parse::<i64>().is_ok() && other.parse::<i64>().is_ok();
    one == other
        || match (one.parse::<f64>(), other.parse::<f64>()) {
            _ if whole => false,
            (Ok(a), Ok(b)) => {
                let last_digit =
                    0.1f64.powi(digits_after_point(one).min(digits_after_point(other)));
                (a - b).abs() <= last_digit.max(TOLERANCE * a.abs().max(b.abs()))
            }
            _ => false,
        }
}

fn digits_after_point(number: &str) -> i32 {
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
    // A number with an exponent is a double that a tolerance is for.
    if plain { number.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32) } else { 17 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[&[&str]]) -> Rows {
        cells.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect()
    }

    #[test]
    fn numbers_are_compared_by_value_and_texts_exactly() {
        let one = rows(&[&["1992", "1.50", "MFGR#1"]]);
        assert_eq!(difference(&one, &rows(&[&["1992", "1.5", "MFGR#1"]])), None);
        assert!(difference(&one, &rows(&[&["1992", "1.51", "MFGR#1"]])).is_some());
        assert!(difference(&one, &rows(&[&["1992", "1.5", "MFGR#2"]])).is_some());
        let sum = rows(&[&["55909065222.827692"]]);
        assert!(difference(&sum, &rows(&[&["55909065224.7041"]])).is_some());
        assert_eq!(difference(&sum, &rows(&[&["55909065222.8277"]])), None);
        let average = rows(&[&["25.5220058532573370"]]);
        assert_eq!(difference(&average, &rows(&[&["25.522005853257334"]])), None);
        assert!(difference(&rows(&[&["10000000"]]), &rows(&[&["10000001"]])).is_some());
        assert_eq!(sorted(rows(&[&["2.50"], &["10.0"]])), rows(&[&["10"], &["2.5"]]));
        assert!(difference(&one, &rows(&[])).is_some());
        assert!(difference(&one, &rows(&[&["1992", "1.5"]])).is_some());
    }
}
