//! Random batches of random statements over random tables, with changes in between: each answer inside a batch equals what
//! the statement gives without sharing and what the interpreter gives, whatever else is in the batch.
//!
//! `ENGINE_BATCHES_SEED` runs one seed, `ENGINE_BATCHES_SECONDS` explores (`seeds`). A case is a list of records of choices, of
//! which a failing one is shrunk.
//!
//! Left out, since it is known to be wrong or has no one answer: -0 among floats (equal to 0, printed otherwise), `char(n)`
//! (its blanks are `sql`'s business), a cut inside a statement whose order leaves ties.

mod compared;
mod expressions;
mod plans;
mod tables;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use engine::heartbeat::{Activation, Answer, Engine, EngineOptions, Packing, Sharing, Template};
use engine::storage::Snapshot;
use engine::system::TABLES;
use engine::types::{Error, Result, SqlState, Value};

use self::plans::Statement;
use self::tables::Tables;
use crate::bookstore;
use crate::choices::{Choices, Record, record, shrink};
use crate::reference::Row;
use crate::seeds::seeds;

/// Answers that come later than this never come.
const PATIENCE: Duration = Duration::from_secs(120);
/// Members of a batch that the interpreter answers too, and that run without sharing.
const INTERPRETED: usize = 12;
const ALONE: usize = 60;
/// Records before those of members: the tables, the batches and changes, the statements.
const STATEMENTS: usize = 6;
const FIRST_MEMBER: usize = 2 + STATEMENTS;

/// One member of a batch.
struct Member {
    /// The batch that it is in.
    step: usize,
    statement: usize,
    parameters: Vec<Value>,
    /// How many changes ago its snapshot is from; `None`: it brings none.
    age: Option<usize>,
    cancelled: bool,
    sharing: Sharing,
}

/// What the choices of a case say.
struct Case {
    tables: Tables,
    options: EngineOptions,
    /// What is changed before each batch but the first, sometimes nothing.
    changes: Vec<Option<u64>>,
    /// So many of the statements are asked: fewer meet more often.
    asked: usize,
    statements: Vec<Statement>,
    members: Vec<Member>,
}

/// The records of a case.
fn records(seed: u64) -> Vec<Record> {
    let mut records = vec![record(seed, |c| drop(Tables::choose(c)))];
    let tables = Tables::choose(&mut Choices::of(&records[0]));
    records.push(record(seed ^ 1, |c| drop(batches(c))));
    for number in 0..STATEMENTS {
        records.push(record(seed ^ (2 + number as u64), |c| {
            drop(plans::statement(c, &tables, number));
        }));
    }
    let case = case(&records);
    let mut own = Choices::random(seed ^ 77);
    // Many small batches, or few large ones.
    let count = *own.pick(&[2, 3, 5, 12, 60, 90, 300]);
    let count = if count < 20 { count * (case.changes.len() + 1) } else { count };
    for number in 0..count as u64 {
        records.push(record(seed ^ (100 + number), |c| drop(member(c, &case))));
    }
    records
}

/// The engine's options, what is changed between batches, and how many statements are asked.
fn batches(choices: &mut Choices) -> (EngineOptions, Vec<Option<u64>>, usize) {
    let workers = choices.below(4);
    let packing = *choices.pick(&[Packing::Automatic, Packing::Never, Packing::Always]);
    let boarding = choices.chance(50);
    let options = bookstore::options(Sharing::Always, workers);
    let options = EngineOptions { packing, boarding, ..options };
    let count = *choices.pick(&[0, 1, 3, 11]);
    let changes = (0..count).map(|_| choices.chance(40).then(|| choices.below(1 << 20) as u64));
    let changes = changes.collect();
    (options, changes, *choices.pick(&[1, 2, STATEMENTS]))
}

fn member(choices: &mut Choices, case: &Case) -> Member {
    let step = choices.below(case.changes.len() + 1);
    let statement = choices.below(case.asked);
    let cancelled = choices.chance(4);
    let age = choices.chance(15).then(|| choices.below(step + 1));
    let sharing = match choices.below(12) {
        11 => Sharing::Never,
        9 | 10 => Sharing::Automatic,
        _ => Sharing::Always,
    };
    let parameters = case.statements[statement].parameters(&case.tables, choices);
    Member { step, statement, parameters, age, cancelled, sharing }
}

fn case(records: &[Record]) -> Case {
    let tables = Tables::choose(&mut Choices::of(&records[0]));
    let (options, changes, asked) = batches(&mut Choices::of(&records[1]));
    let statements = records[2..FIRST_MEMBER].iter().enumerate();
    let statements = statements
        .map(|(number, own)| plans::statement(&mut Choices::of(own), &tables, number))
        .collect();
    let mut case = Case { tables, options, changes, asked, statements, members: Vec::new() };
    let members = records[FIRST_MEMBER..].iter();
    case.members = members.map(|own| member(&mut Choices::of(own), &case)).collect();
    case
}

/// Runs a case: what is wrong with it.
fn fault(records: &[Record]) -> Option<String> {
    let run = AssertUnwindSafe(|| Run::new(case(records)).fault());
    catch_unwind(run).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Some(format!("panicked: {}", text.unwrap_or_default()))
    })
}

/// A case on its way.
struct Run {
    case: Case,
    engine: Arc<Engine>,
    templates: Vec<Arc<Template>>,
    /// The state that each batch sees.
    snapshots: Vec<Snapshot>,
}

impl Run {
    fn new(case: Case) -> Run {
        let engine =
            Engine::open(case.options.clone()).expect("an engine without a directory opens");
        case.tables.fill(engine.store());
        let register =
            |own: &Statement| engine.register(own.plan.clone()).expect("it is shareable");
        let templates = case.statements.iter().map(register).collect();
        let snapshots = vec![engine.store().snapshot()];
        Run { case, engine, templates, snapshots }
    }

    fn fault(mut self) -> Option<String> {
        let mut added = vec![0; self.case.tables.plans.len()];
        for step in 0..=self.case.changes.len() {
            if step > 0 {
                if let Some(seed) = self.case.changes[step - 1] {
                    let mut choices = Choices::random(seed);
                    self.case.tables.change(self.engine.store(), &mut choices, &mut added);
                }
                self.snapshots.push(self.engine.store().snapshot());
            }
            if let Some(fault) = self.fault_of(step) {
                return Some(format!("batch {step}: {fault}"));
            }
        }
        self.panics()
    }

    fn fault_of(&self, step: usize) -> Option<String> {
        let members: Vec<&Member> =
            self.case.members.iter().filter(|member| member.step == step).collect();
        let answers = self.answers(&members, |member| member.sharing);
        let members = members.into_iter().zip(answers).enumerate();
        for (number, (member, answer)) in members {
            if let Some(fault) = self.fault_of_member(number, member, answer) {
                return Some(self.described(member, &fault));
            }
        }
        None
    }

    /// What is wrong with the answer of the member of a number in its batch.
    fn fault_of_member(
        &self,
        number: usize,
        member: &Member,
        answer: Result<Vec<Row>>,
    ) -> Option<String> {
        let statement = &self.case.statements[member.statement];
        let zero = |own: &&usize| member.parameters[**own] == Value::Integer(0);
        let may_fail = statement.fails.iter().find(zero).is_some();
        let answer = match answer.map_err(|error| error.state) {
            Err(SqlState::QueryCanceled) if member.cancelled => return None,
            // Whether a division by zero is met depends on the rows that get there: if it is, only this one fails.
            Err(SqlState::DivisionByZero) if may_fail => return None,
            Err(state) => return Some(format!("it failed with {}", state.code())),
            Ok(_) if member.cancelled => return Some("it was cancelled".to_owned()),
            Ok(rows) => rows,
        };
        if may_fail {
            return None;
        }
        if number < INTERPRETED {
            let version = self.snapshot(member).version();
            let whole =
                compared::whole(statement, self.engine.store(), version, &member.parameters);
            let fault = compared::fault(statement, &member.parameters, &answer, &whole);
            if let Some(fault) = fault {
                return Some(format!("not what the interpreter gives: {fault}"));
            }
        }
        if number < ALONE {
            let alone = self.answers(&[member], |_| Sharing::Never).remove(0);
            let alone = alone.map_err(|error| error.to_string());
            let fault = match alone {
                Ok(alone) => compared::difference(statement, &answer, &alone),
                Err(error) => Some(error),
            };
            return fault.map(|fault| format!("not what it gives without sharing: {fault}"));
        }
        None
    }

    fn snapshot(&self, member: &Member) -> &Snapshot {
        &self.snapshots[member.step - member.age.unwrap_or(0)]
    }

    /// Runs members as one heartbeat per lane.
    fn answers(
        &self,
        members: &[&Member],
        sharing: impl Fn(&Member) -> Sharing,
    ) -> Vec<Result<Vec<Row>>> {
        let (sender, receiver) = channel();
        for (position, member) in members.iter().enumerate() {
            let sender = sender.clone();
            self.engine.submit(Activation {
                template: self.templates[member.statement].clone(),
                parameters: member.parameters.clone().into(),
                snapshot: member.age.map(|_| self.snapshot(member).clone()),
                sharing: sharing(member),
                deadline: None,
                cancelled: Arc::new(member.cancelled.into()),
                figures: None,
                receiver: Box::new(move |answer: Result<Answer>| {
                    let rows = answer.map(|answer| bookstore::rows(&answer));
                    // After a time-out nobody waits.
                    let _ = sender.send((position, rows));
                }),
            });
        }
        let mut lanes: Vec<_> =
            members.iter().map(|own| self.templates[own.statement].lane()).collect();
        lanes.sort_unstable();
        lanes.dedup();
        lanes.into_iter().for_each(|lane| self.engine.lead(lane));
        let lost = || Err(Error::new(SqlState::InternalError, "lost"));
        let mut answers: Vec<Result<Vec<Row>>> = members.iter().map(|_| lost()).collect();
        for _ in members {
            let (position, answer) = receiver.recv_timeout(PATIENCE).expect("every one answers");
            answers[position] = answer;
        }
        answers
    }

    /// Batches in which something panicked ran again, request by request: their answers are right.
    fn panics(&self) -> Option<String> {
        let lanes = TABLES.iter().find(|table| table.name == "lanes").expect("there is one");
        let panics = lanes.columns.iter().position(|(name, _)| *name == "panics")?;
        let rows = (lanes.rows)(&self.engine);
        let panicked = rows.iter().any(|row| row[panics] != Value::BigInt(0));
        panicked.then(|| "a batch panicked, and ran again".to_owned())
    }

    fn described(&self, member: &Member, fault: &str) -> String {
        let template = &self.templates[member.statement];
        let statement = &self.case.statements[member.statement];
        let explained = self.engine.explain(template, &[], None);
        format!(
            "{fault}\nparameters {:?}, age {:?}, {:?}, ordered {:?}\n{explained}\n{:#?}",
            member.parameters, member.age, member.sharing, statement.order, statement.plan.root
        )
    }
}

/// A case's tables and its first members.
fn shown(case: &Case) -> String {
    let members = case.members.iter().take(20);
    let members = members.map(|own| format!("{}: {:?}", own.statement, own.parameters));
    let members = members.collect::<Vec<_>>().join("\n");
    format!("{:#?}\n{} members\n{members}", case.tables.plans, case.members.len())
}

/// Runs the case of a seed; gives the number of its members.
fn run_seed(seed: u64) -> usize {
    let records = records(seed);
    let members = records.len() - FIRST_MEMBER;
    if let Some(found) = fault(&records) {
        eprintln!("seed {seed} fails, and is shrunk: {found}");
        let until = Instant::now() + Duration::from_secs(120);
        let small = shrink(records, FIRST_MEMBER, until, &mut |own| fault(own).is_some());
        let smallest = fault(&small).unwrap_or_else(|| "it fails no more".to_owned());
        panic!("ENGINE_BATCHES_SEED={seed}: {smallest}\n{}", shown(&case(&small)));
    }
    members
}

#[test]
fn shared_equals_alone_in_random_batches() {
    let members: Vec<usize> = seeds("engine-batches").map(run_seed).collect();
    println!("seeds {}: {} members", members.len(), members.iter().sum::<usize>());
}
