//! Equal data must give equal answers: the same queries on every system, compared row by row with the first.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::order::sort_keys;
use crate::bench::Failure;
use crate::client::Client;
use crate::driver::Session;
use crate::peers::System;
use crate::query::{Query, QueryMix, Statement};

/// Relative difference of averages and quotients, which some systems compute as doubles: numbers of so many digits
/// after the point that no sum of prices has them. All other numbers must be equal.
const TOLERANCE: f64 = 1e-12;
const DIGITS_OF_A_QUOTIENT: i32 = 10;
/// Some systems round exact quotients, to no fewer digits after the point.
const DIGITS_OF_A_ROUNDED_QUOTIENT: i32 = 4;

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
                Ok(rows) => Ok(rows),
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
            let statement = &self.statements[query.statement];
            if let Some(difference) = difference(expected, answer, &sort_keys(&statement.text)) {
                let name = &statement.name;
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

/// What is not equal, in words. Sort keys come in the same order; rows with equal ones in any.
fn difference(expected: &Rows, answer: &Rows, keys: &[usize]) -> Option<String> {
    if expected.len() != answer.len() {
        return Some(format!("{} rows against {}", expected.len(), answer.len()));
    }
    let equal_keys = |one: &[String], other: &[String]| {
        keys.iter().all(|&key| match (one.get(key), other.get(key)) {
            (Some(one), Some(other)) => equal_values(one, other),
            _ => false,
        })
    };
    let mut pairs = expected.iter().zip(answer);
    if let Some((one, other)) = pairs.find(|(one, other)| !equal_keys(one, other)) {
        return Some(format!("in another order: {one:?} against {other:?}"));
    }
    let (expected, answer) = (sorted(expected.clone()), sorted(answer.clone()));
    let mut pairs = expected.iter().zip(&answer);
    let (one, other) = pairs.find(|(one, other)| !equal_rows(one, other))?;
    Some(format!("{one:?} against {other:?}"))
}

fn equal_rows(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| equal_values(a, b))
}

fn equal_values(one: &str, other: &str) -> bool {
    let numbers = one.parse::<f64>().ok().zip(other.parse::<f64>().ok());
    one == other
        || numbers
            .is_some_and(|(a, b)| equal_quotients(one, other, (a - b).abs(), a.abs().max(b.abs())))
}

/// Whether two numbers with a point are one quotient: nearly the same, or one of them the other rounded.
fn equal_quotients(one: &str, other: &str, difference: f64, size: f64) -> bool {
    let (one, other) = (digits_after_point(one), digits_after_point(other));
    let (fewer, more) = (one.min(other), one.max(other));
    let nearly = more >= DIGITS_OF_A_QUOTIENT && difference <= TOLERANCE * size;
    // Half of the last digit, and what parsing as a double adds to it.
    let rounded = fewer >= DIGITS_OF_A_ROUNDED_QUOTIENT
        && fewer < more
        && difference <= 0.5 * 0.1f64.powi(fewer) + TOLERANCE * size;
    nearly || rounded
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

    fn differ(one: &[&[&str]], other: &[&[&str]]) -> bool {
        difference(&rows(one), &rows(other), &[]).is_some()
    }

    #[test]
    fn numbers_are_compared_by_value_and_texts_exactly() {
        let one: &[&[&str]] = &[&["1992", "1.50", "MFGR#1"]];
        assert!(!differ(one, &[&["1992", "1.5", "MFGR#1"]]));
        assert!(differ(one, &[&["1992", "1.51", "MFGR#1"]]));
        assert!(differ(one, &[&["1992", "1.5", "MFGR#2"]]));
        assert!(differ(one, &[]));
        assert!(differ(one, &[&["1992", "1.5"]]));
        let unequal =
            [("5.12", "5.11"), ("100.90", "100.00"), ("7", "7.4"), ("10000000", "10000001")];
        for (right, wrong) in unequal {
            assert!(differ(&[&[right]], &[&[wrong]]), "{right} {wrong}");
        }
        assert_eq!(sorted(rows(&[&["2.50"], &["10.0"]])), rows(&[&["10"], &["2.5"]]));
    }

    #[test]
    fn quotients_may_be_doubles_or_rounded() {
        assert!(differ(&[&["55909065222.827692"]], &[&["55909065224.7041"]]));
        assert!(!differ(&[&["55909065222.827692"]], &[&["55909065222.8277"]]));
        assert!(!differ(&[&["25.5220058532573370"]], &[&["25.522005853257334"]]));
        assert!(differ(&[&["0.1234"]], &[&["0.1235"]]));
    }

    #[test]
    fn sort_keys_come_in_their_order_and_ties_in_any() {
        let one = rows(&[&["1", "a"], &["1", "b"], &["2", "c"]]);
        let tied = rows(&[&["1", "b"], &["1", "a"], &["2", "c"]]);
        let moved = rows(&[&["2", "c"], &["1", "a"], &["1", "b"]]);
        assert_eq!(difference(&one, &tied, &[0]), None);
        assert!(difference(&one, &tied, &[0, 1]).is_some());
        assert!(difference(&one, &moved, &[0]).is_some());
        assert_eq!(difference(&one, &moved, &[]), None);
    }
}
