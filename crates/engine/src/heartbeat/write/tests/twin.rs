//! Writes that wait together do what they do one after the other: random batches against a model that runs them
//! one by one, and random blocks against the same statements run at once.

use std::collections::BTreeMap;
use std::sync::mpsc;

use super::fixture::*;
use crate::env::{Randomness, SeededRandomness};
use crate::transaction::Isolation;
use crate::types::*;

#[derive(Clone, Copy, Debug)]
enum Statement {
    Insert(i32, i32),
    AddById(i32, i32),
    DeleteById(i32),
    /// `UPDATE t SET v = $new WHERE v = old`
    SetWhere(i32, i32),
    /// `DELETE FROM t WHERE v >= least`
    DeleteWhere(i32),
}

type Model = BTreeMap<i32, i32>;

fn random(randomness: &SeededRandomness) -> Statement {
    let below = |limit: u64| (randomness.next() % limit) as i32;
    match below(8) {
        0 | 1 => Statement::Insert(below(30), below(20)),
        2 => Statement::AddById(below(30), below(5)),
        3 => Statement::DeleteById(below(30)),
        7 => Statement::DeleteWhere(15 + below(10)),
        _ => Statement::SetWhere(below(20), below(20)),
    }
}

/// What the statement says it did, and does.
fn model(model: &mut Model, statement: Statement) -> Result<u64, SqlState> {
    let before = model.len();
    match statement {
        Statement::Insert(id, _) if model.contains_key(&id) => Err(SqlState::UniqueViolation),
        Statement::Insert(id, v) => Ok(1 + model.insert(id, v).map_or(0, |_| 1)),
        Statement::AddById(id, by) => Ok(model.get_mut(&id).map_or(0, |v| {
            *v += by;
            1
        })),
        Statement::DeleteById(id) => Ok(u64::from(model.remove(&id).is_some())),
        Statement::SetWhere(old, new) => {
            let hit = model.values_mut().filter(|v| **v == old).map(|v| *v = new).count();
            Ok(hit as u64)
        }
        Statement::DeleteWhere(least) => {
            model.retain(|_, v| *v < least);
            Ok((before - model.len()) as u64)
        }
    }
}

fn plan(statement: Statement) -> (std::sync::Arc<crate::plan::WritePlan>, Box<[Value]>) {
    let equal = |v| vec![compare(1, Comparison::Equal, v)];
    match statement {
        Statement::Insert(id, v) => {
            (insert_into(T, None), Box::new([int(id), int(v), Value::Null]))
        }
        Statement::AddById(id, by) => (add_to(T, false), Box::new([int(id), int(by)])),
        Statement::DeleteById(id) => (delete_by_id(T), Box::new([int(id)])),
        Statement::SetWhere(old, new) => {
            (set_where(T, 1, equal(old)), Box::new([int(0), int(new)]))
        }
        Statement::DeleteWhere(least) => {
            let predicates = vec![compare(1, Comparison::GreaterOrEqual, least)];
            (delete_where(T, predicates), Box::new([]))
        }
    }
}

#[test]
fn a_batch_of_writes_equals_the_writes_one_by_one() {
    for seed in 0..60 {
        let randomness = SeededRandomness::new(seed);
        let (f, mut expected) = (Fixture::in_memory(), Model::new());
        for _ in 0..8 {
            let statements: Vec<Statement> =
                (0..1 + randomness.next() % 25).map(|_| random(&randomness)).collect();
            let (sender, receiver) = mpsc::channel();
            f.together(|writes| {
                for (i, statement) in statements.iter().enumerate() {
                    let ((plan, parameters), sender) = (plan(*statement), sender.clone());
                    let send = move |outcome: Result<crate::heartbeat::WriteOutcome>| {
                        let said = outcome.map(|o| o.rows).map_err(|error| error.state);
                        sender.send((i, said)).unwrap();
                    };
                    writes.write(plan, parameters, SESSION, Box::new(send));
                }
            });
            drop(sender);
            let said: BTreeMap<usize, Result<u64, SqlState>> = receiver.iter().collect();
            for (i, statement) in statements.iter().enumerate() {
                let expected = model(&mut expected, *statement);
                assert_eq!(said[&i], expected, "seed {seed}, {statement:?} of {statements:?}");
            }
            let rows: Vec<(i32, i32)> = expected.iter().map(|(id, v)| (*id, *v)).collect();
            assert_eq!(f.rows(), rows, "seed {seed}: {statements:?}");
        }
    }
}

#[test]
fn a_block_sees_and_commits_what_its_statements_do() {
    for seed in 0..60 {
        let randomness = SeededRandomness::new(seed + 1000);
        let (f, mut committed) = (Fixture::in_memory(), Model::new());
        for _ in 0..6 {
            let isolation = if randomness.next().is_multiple_of(2) {
                Isolation::ReadCommitted
            } else {
                Isolation::RepeatableRead
            };
            let (mut block, mut own) = (f.begin(isolation), committed.clone());
            let mut savepoint = (block.set.place(), own.clone());
            for _ in 0..randomness.next() % 20 {
                match randomness.next() % 8 {
                    0 => savepoint = (block.set.place(), own.clone()),
                    1 => {
                        block.set.return_to(savepoint.0);
                        own = savepoint.1.clone();
                    }
                    _ => {
                        let statement = random(&randomness);
                        let (plan, parameters) = plan(statement);
                        let said = state(block.write(&plan, &parameters).map(|o| o.rows));
                        assert_eq!(said, model(&mut own, statement), "seed {seed} {statement:?}");
                    }
                }
                let rows: Vec<(i32, i32)> = own.iter().map(|(id, v)| (*id, *v)).collect();
                assert_eq!(block.rows(), rows, "seed {seed}");
            }
            if !randomness.next().is_multiple_of(4) {
                block.commit().unwrap();
                committed = own;
            }
            let rows: Vec<(i32, i32)> = committed.iter().map(|(id, v)| (*id, *v)).collect();
            assert_eq!(f.rows(), rows, "seed {seed}");
        }
    }
}
