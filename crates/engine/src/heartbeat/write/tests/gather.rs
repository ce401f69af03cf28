//! Whom a turn waits for while queries keep the cores busy.

use std::collections::VecDeque;

use std::time::Duration;

use super::super::queue::{Queue, Request, Work};
use super::fixture::*;
use crate::env::SimulatedDirectory;
use crate::transaction::Definition;
use crate::types::{SessionId, Value};

/// Longer than any test may take: who waits so long hangs.
const LONG: Duration = Duration::from_secs(3600);

fn request(session: Option<u32>) -> Request {
    let (session, receiver) = (session.map(SessionId), Box::new(|_| {}));
    Request { work: Work::Reserve, session, receiver, owner: None, limit: None }
}

fn push(queue: &Queue, session: Option<u32>) {
    assert!(queue.push(request(session), true).is_none(), "there is room");
}

fn taken(queue: &Queue) -> Vec<Option<u32>> {
    let mut requests = VecDeque::new();
    queue.take(&mut requests);
    requests.iter().map(|request| request.session.map(|session| session.0)).collect()
}

/// A queue whose last turn has just answered these sessions.
fn answered(limit: usize, sessions: &[u32]) -> Queue {
    let queue = Queue::new(limit);
    sessions.iter().for_each(|session| push(&queue, Some(*session)));
    assert_eq!(taken(&queue).len(), sessions.len());
    queue.note_answered();
    queue
}

#[test]
fn those_answered_last_are_waited_for() {
    let queue = answered(10, &[1, 2]);
    push(&queue, Some(3));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            push(&queue, Some(2));
            push(&queue, Some(1));
        });
        queue.gather(LONG);
    });
    assert_eq!(taken(&queue), [Some(3), Some(2), Some(1)]);
}

#[test]
fn who_writes_alone_never_waits() {
    let queue = answered(10, &[1]);
    push(&queue, Some(1));
    queue.gather(LONG);
    assert_eq!(taken(&queue), [Some(1)]);
}

#[test]
fn nobody_is_waited_for_longer_than_patience_lasts() {
    let queue = answered(10, &[1]);
    push(&queue, Some(2));
    queue.gather(Duration::from_millis(1));
    assert_eq!(taken(&queue), [Some(2)]);
}

#[test]
fn a_load_or_a_definition_waits_for_nobody() {
    let queue = answered(10, &[1]);
    push(&queue, Some(2));
    std::thread::scope(|scope| {
        scope.spawn(|| push(&queue, None));
        queue.gather(LONG);
    });
    assert_eq!(taken(&queue), [Some(2), None]);
}

#[test]
fn a_full_queue_and_a_stop_end_the_wait() {
    let queue = answered(2, &[1]);
    push(&queue, Some(2));
    push(&queue, Some(3));
    queue.gather(LONG);
    assert_eq!(taken(&queue), [Some(2), Some(3)]);
    queue.note_answered();
    push(&queue, Some(1));
    std::thread::scope(|scope| {
        scope.spawn(|| queue.stop());
        queue.gather(LONG);
    });
    assert_eq!(taken(&queue), [Some(1)]);
}

#[test]
fn beside_heavy_work_every_write_is_answered() {
    let f = Fixture::on(&SimulatedDirectory::new(), TUNING).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    f.writes.heavy_work().enter();
    std::thread::scope(|scope| {
        for client in 0..4 {
            let f = &f;
            scope.spawn(move || {
                for row in 0..25 {
                    let row = [int(client * 25 + row), int(client), Value::Null];
                    let insert = insert_into(T, None);
                    let session = SessionId(client.cast_unsigned());
                    let write = |r| f.writes.write(insert, row.into(), session, r);
                    assert_eq!(f.wait(write).unwrap().rows, 1);
                }
            });
        }
    });
    f.writes.heavy_work().leave();
    let expected: Vec<(i32, i32)> = (0..100).map(|id| (id, id / 25)).collect();
    assert_eq!(f.rows(), expected);
}
