//! Threads that parse long texts on stacks of their own.

use std::any::Any;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use crate::parse::parse_here;
use crate::{Limits, SyntaxError, Tree};

/// Two: long texts are rare, and one hostile text leaves the other thread to the rest.
const THREADS: usize = 2;

/// Texts that wait; who brings one more waits to hand it over.
const QUEUE: usize = 32;

const STACK_BYTES: usize = 16 << 20;

/// What the library may take of it; the rest is for what is below and behind its own checks.
const LIBRARY_STACK: i32 = 8 << 10;

type Outcome = Result<Result<Tree, SyntaxError>, Box<dyn Any + Send>>;

struct Task {
    text: CString,
    limits: Limits,
    answer: SyncSender<Outcome>,
}

/// Parses on one of the threads and waits for it.
///
/// # Errors
/// As `parse`; 53000 where the threads cannot be started.
pub fn parse(text: CString, limits: Limits) -> Result<Tree, SyntaxError> {
    let tasks = tasks()?;
    let (answer, outcome) = sync_channel(1);
    tasks.send(Task { text, limits, answer }).expect("the threads go on for ever");
    let outcome = outcome.recv().expect("every task is answered");
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Where tasks go. The threads start with the first.
fn tasks() -> Result<&'static SyncSender<Task>, SyntaxError> {
    static TASKS: OnceLock<Result<SyncSender<Task>, SyntaxError>> = OnceLock::new();
    TASKS.get_or_init(start).as_ref().map_err(Clone::clone)
}

fn start() -> Result<SyncSender<Task>, SyntaxError> {
    let (sender, receiver) = sync_channel(QUEUE);
    let receiver = Arc::new(Mutex::new(receiver));
    for number in 1..=THREADS {
        let receiver = Arc::clone(&receiver);
        let thread = thread::Builder::new().name(format!("parser-{number}"));
        let started = thread.stack_size(STACK_BYTES).spawn(move || work(&receiver));
        started.map_err(|fault| {
            SyntaxError::new(b"53000", format!("could not start a parser thread: {fault}"))
        })?;
    }
    Ok(sender)
}

fn work(tasks: &Mutex<Receiver<Task>>) {
    // A statement of its own, so that the lock is held while waiting and not while parsing.
    let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(Task { text, limits, answer }) = next() {
        let parsed = AssertUnwindSafe(|| {
            let text_alone = text.to_str().expect("it comes from a str");
            parse_here(text_alone, &text, &limits, LIBRARY_STACK)
        });
        // Who asked may be gone.
        let _ = answer.send(catch_unwind(parsed));
    }
}
