//! Crashes, damage and failing disks, on a simulated directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fixture::*;
use crate::env::{Fault, FaultKind, Image, Randomness, SeededRandomness, SimulatedDirectory};
use crate::heartbeat::write::Tuning;
use crate::transaction::{Definition, Isolation, WriteSet};
use crate::types::*;

type Rows = Vec<(i32, i32)>;

/// The script's states after every acknowledged step, and how many operations the directory had done by then.
struct Run {
    states: Vec<Rows>,
    acknowledged_at: Vec<usize>,
    history: Vec<Image>,
}

fn state_of(f: &Fixture) -> Rows {
    match f.writes.store().table(T) {
        None => vec![(-1, -1)],
        Some(_) => f.rows(),
    }
}

/// One step of the script; whether it was acknowledged.
fn step(f: &Fixture, number: i32) -> Result<()> {
    match number {
        0 => f.define(Definition::CreateTable(table(T, "t"))).map(drop),
        n if n % 7 == 3 => {
            let mut block = f.begin(Isolation::ReadCommitted);
            block.write(&insert_into(T, None), &[int(n * 100), int(n), Value::Null])?;
            block.write(&insert_into(T, None), &[int(n * 100 + 1), int(n), Value::Null])?;
            block.write(&add_to(T, false), &[int(1), int(1000)])?;
            block.commit().map(drop)
        }
        n if n % 7 == 6 => {
            let rows = (0..30).map(|row| (n * 100 + row, n));
            f.load(T, rows).map(drop)
        }
        n if n % 11 == 10 => f.write(&delete_by_id(T), &[int(n / 2)]).map(drop),
        n if n % 5 == 4 => f.write(&add_to(T, false), &[int(n - 1), int(7)]).map(drop),
        25 | 40 => f.checkpoint().map(drop),
        33 => f.define(Definition::PutEntry { key: "k".into(), value: None }).map(drop),
        n => {
            let name = Value::Text("x".repeat(n as usize % 5).into());
            f.write(&insert_into(T, None), &[int(n), int(n), name]).map(drop)
        }
    }
}

const STEPS: i32 = 45;

fn run() -> Run {
    let directory = SimulatedDirectory::new();
    directory.record();
    let f = Fixture::on(&directory, TUNING).unwrap();
    let (mut states, mut acknowledged_at) = (vec![state_of(&f)], vec![0]);
    for number in 0..STEPS {
        step(&f, number).unwrap();
        states.push(state_of(&f));
        acknowledged_at.push(directory.recorded());
    }
    drop(f);
    states.push(states.last().unwrap().clone());
    let history = directory.take_history();
    Run { states, acknowledged_at, history }
}

/// Steps that were acknowledged before operation `operations` was over.
fn acknowledged(run: &Run, operations: usize) -> usize {
    run.acknowledged_at.iter().filter(|at| **at <= operations).count() - 1
}

fn check_prefix(run: &Run, image: Image, at_least: usize, what: &str) -> usize {
    let directory = SimulatedDirectory::from_image(image);
    let f = Fixture::on(&directory, TUNING).unwrap_or_else(|e| panic!("{what}: {e:?}"));
    let state = state_of(&f);
    let found = run.states.iter().enumerate().position(|(i, s)| i >= at_least && *s == state);
    found.unwrap_or_else(|| panic!("{what}: {state:?} is no state after step {at_least}"))
}

#[test]
fn every_crash_point_recovers_a_prefix_with_all_that_was_acknowledged() {
    let run = run();
    assert!(run.history.len() > 100, "the script does enough: {}", run.history.len());
    for (operation, image) in run.history.iter().enumerate() {
        let at_least = acknowledged(&run, operation + 1);
        for seed in 0..4 {
            let randomness = SeededRandomness::new(operation as u64 * 100 + seed);
            let what = format!("crash after operation {operation}, seed {seed}");
            let found = check_prefix(&run, image.crash(&randomness), at_least, &what);
            assert!(found <= at_least + 1, "{what}: nothing was submitted beyond the next step");
        }
    }
}

#[test]
fn crashes_during_recovery_change_nothing() {
    let run = run();
    for (operation, image) in run.history.iter().enumerate().step_by(9) {
        let at_least = acknowledged(&run, operation + 1);
        let randomness = SeededRandomness::new(operation as u64);
        let directory = SimulatedDirectory::from_image(image.crash(&randomness));
        directory.record();
        let f = Fixture::on(&directory, TUNING).unwrap();
        let first = state_of(&f);
        let recovering = directory.take_history();
        drop(f);
        for (again, image) in recovering.iter().enumerate() {
            let what = format!("operation {operation}, recovery's operation {again}");
            let directory = SimulatedDirectory::from_image(image.crash(&randomness));
            let f = Fixture::on(&directory, TUNING).unwrap_or_else(|e| panic!("{what}: {e:?}"));
            assert_eq!(state_of(&f), first, "{what}");
        }
        assert!(run.states[at_least..].contains(&first));
    }
}

/// A log without checkpoints, in one segment.
fn small_log() -> (Vec<Rows>, Image, String) {
    let tuning = Tuning { segment_size: 8192, checkpoint_bytes: u64::MAX };
    let directory = SimulatedDirectory::new();
    let f = Fixture::on(&directory, tuning).unwrap();
    let mut states = vec![state_of(&f)];
    for number in 0..20 {
        step(&f, number).unwrap();
        states.push(state_of(&f));
    }
    drop(f);
    let image = directory.image();
    let name = image.names().find(|name| name.starts_with("log-")).unwrap().to_owned();
    (states, image, name)
}

/// The same where nobody wrote down how far the log was acknowledged: as a crash of the machine may leave it.
fn forgetful(image: &Image) -> Image {
    let directory = SimulatedDirectory::new();
    let tuning = Tuning { segment_size: 8192, checkpoint_bytes: u64::MAX };
    drop(Fixture::on(&directory, tuning).unwrap());
    let mut forgetful = image.clone();
    let fresh = directory.image().bytes("acknowledged").unwrap().to_vec();
    forgetful.replace("acknowledged", fresh);
    forgetful
}

#[test]
fn a_log_cut_anywhere_gives_a_prefix_of_what_nobody_noted() {
    let (states, image, name) = small_log();
    let bytes = image.bytes(&name).unwrap().to_vec();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut reached = 0;
    for length in (64..used + 16).rev() {
        let mut cut = forgetful(&image);
        cut.replace(&name, bytes[..length].to_vec());
        let directory = SimulatedDirectory::from_image(cut);
        let f =
            Fixture::on(&directory, TUNING).unwrap_or_else(|e| panic!("cut at {length}: {e:?}"));
        let state = state_of(&f);
        let found = states.iter().position(|s| *s == state).expect("a prefix");
        reached = reached.max(found);
        assert!(f.write(&set_by_id(T, 1), &[int(1), int(0)]).is_ok() || found == 0);
    }
    assert_eq!(reached, states.len() - 1, "the whole log gives the last state");
}

#[test]
fn a_log_cut_before_its_acknowledged_end_is_refused() {
    let (states, image, name) = small_log();
    let bytes = image.bytes(&name).unwrap().to_vec();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for length in 64..used + 16 {
        let mut cut = image.clone();
        cut.replace(&name, bytes[..length].to_vec());
        match Fixture::on(&SimulatedDirectory::from_image(cut), TUNING) {
            Ok(f) => assert_eq!(state_of(&f), *states.last().unwrap(), "cut at {length}"),
            Err(error) => {
                assert!(length < used, "cut at {length}: {error:?}");
                assert_eq!(error.state, SqlState::DataCorrupted, "{error:?}");
                assert!(error.message.contains(&name), "{error:?}");
            }
        }
    }
}

#[test]
fn a_missing_segment_is_refused_also_the_last_and_the_only_one() {
    let run = run();
    for image in [small_log().1, run.history.last().unwrap().clone()] {
        let segments: Vec<String> =
            image.names().filter(|name| name.starts_with("log-")).map(str::to_owned).collect();
        let last = segments.last().unwrap();
        for gone in [vec![last], segments.iter().collect()] {
            let directory = SimulatedDirectory::from_image(image.clone());
            for name in &gone {
                crate::env::Directory::remove(&*directory, name).unwrap();
            }
            let error = Fixture::on(&directory, TUNING).err().expect("commits are missing");
            assert_eq!(error.state, SqlState::DataCorrupted, "{error:?}");
            let named = gone.iter().any(|name| error.message.contains(name.as_str()));
            assert!(named, "{error:?}");
        }
    }
}

#[test]
fn every_flipped_bit_is_refused_by_the_name_of_the_file() {
    let (states, image, name) = small_log();
    let bytes = image.bytes(&name).unwrap().to_vec();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut refused = 0;
    for position in 0..used {
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << (position % 8);
        let mut flipped = image.clone();
        flipped.replace(&name, damaged);
        match Fixture::on(&SimulatedDirectory::from_image(flipped), TUNING) {
            // What pads a record means nothing.
            Ok(f) => assert_eq!(state_of(&f), *states.last().unwrap(), "byte {position}"),
            Err(error) => {
                assert_eq!(error.state, SqlState::DataCorrupted, "{error:?}");
                assert!(error.message.contains(&name), "{error:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > used * 3 / 4, "{refused} of {used}");
}

#[test]
fn a_last_record_that_nobody_noted_may_be_torn() {
    let (states, image, name) = small_log();
    let image = forgetful(&image);
    let bytes = image.bytes(&name).unwrap().to_vec();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let (mut refused, mut shortened) = (0, 0);
    for position in 0..used {
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << (position % 8);
        let mut flipped = image.clone();
        flipped.replace(&name, damaged);
        match Fixture::on(&SimulatedDirectory::from_image(flipped), TUNING) {
            Ok(f) => {
                let state = state_of(&f);
                let found = states.iter().position(|s| *s == state).expect("a prefix");
                assert!(found + 2 >= states.len(), "only the last record may be cut: {position}");
                shortened += usize::from(found + 1 < states.len());
            }
            Err(error) => {
                assert_eq!(error.state, SqlState::DataCorrupted, "{error:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > used / 2, "damage before other records is refused");
    assert!(shortened > 0, "damage in the last record is a torn write");
}

#[test]
fn stale_duplicated_and_misplaced_records_never_count() {
    let (states, image, name) = small_log();
    let bytes = image.bytes(&name).unwrap().to_vec();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let end = used.next_multiple_of(8);
    for from in (64..used).step_by(8) {
        // Whatever stands at `from` is repeated behind the end.
        let mut repeated = bytes.clone();
        let length = 256.min(used - from).min(repeated.len() - end);
        repeated.copy_within(from..from + length, end);
        let mut copy = image.clone();
        copy.replace(&name, repeated);
        let directory = SimulatedDirectory::from_image(copy);
        match Fixture::on(&directory, TUNING) {
            Ok(f) => assert_eq!(state_of(&f), *states.last().unwrap(), "from {from}"),
            Err(error) => assert_eq!(error.state, SqlState::DataCorrupted),
        }
    }
}

#[test]
fn a_damaged_checkpoint_falls_back_to_the_one_before() {
    let run = run();
    let image = run.history.last().unwrap();
    let manifests: Vec<&str> = image.names().filter(|n| n.starts_with("manifest-")).collect();
    assert_eq!(manifests.len(), 2, "two checkpoints are kept");
    let newest = manifests.iter().max().unwrap();
    let sequence = newest.trim_start_matches("manifest-");
    let of_newest: Vec<&str> = image
        .names()
        .filter(|n| n == newest || n.starts_with("data-") && n.contains(sequence))
        .collect();
    assert!(of_newest.len() > 1);
    for name in of_newest {
        let bytes = image.bytes(name).unwrap();
        for position in (0..bytes.len()).step_by(13) {
            let (mut damaged, mut bytes) = (image.clone(), bytes.to_vec());
            bytes[position] ^= 0x10;
            damaged.replace(name, bytes);
            check_prefix(&run, damaged, run.states.len() - 2, &format!("{name}:{position}"));
        }
    }
}

/// Runs the script with a fault; gives the states that were acknowledged. Nothing may be acknowledged that is
/// not there after a crash.
fn run_with_fault(fault: Fault) -> (Arc<SimulatedDirectory>, BTreeMap<i32, Rows>) {
    let directory = SimulatedDirectory::new();
    directory.set_fault(Some(fault));
    let mut states = BTreeMap::new();
    if let Ok(f) = Fixture::on(&directory, TUNING) {
        for number in 0..STEPS {
            if step(&f, number).is_ok() && f.writes.store().table(T).is_some() {
                states.insert(number, state_of(&f));
            }
        }
    }
    (directory, states)
}

#[test]
fn whichever_operation_fails_nothing_acknowledged_is_lost() {
    let kinds = [FaultKind::InputOutput, FaultKind::NoSpace, FaultKind::ShortWrite];
    let operations = run().history.len() as u64;
    for kind in kinds {
        for forever in [false, true] {
            for operation in (0..operations).step_by(3) {
                let fault = Fault { operation, kind, forever };
                let (directory, states) = run_with_fault(fault);
                directory.set_fault(None);
                let randomness = SeededRandomness::new(operation);
                let crashed = SimulatedDirectory::from_image(directory.image().crash(&randomness));
                let f =
                    Fixture::on(&crashed, TUNING).unwrap_or_else(|e| panic!("{fault:?}: {e:?}"));
                let Some((_, last)) = states.iter().next_back() else { continue };
                let after: BTreeMap<i32, i32> = state_of(&f).into_iter().collect();
                for (id, v) in last {
                    // A step that was not acknowledged may have happened behind the last acknowledged one.
                    let found = after.get(id);
                    let unchanged = found == Some(v);
                    // What steps do to rows that are there: +1000 to row 1, +7 to some, or their end.
                    let later =
                        found.is_none_or(|found| *found == v + 7 || *id == 1 && *found > *v);
                    assert!(unchanged || later, "{fault:?}: {id} is {found:?}, was {v}");
                }
            }
        }
    }
}

#[test]
fn a_full_disk_fails_commits_and_nothing_else() {
    let directory = SimulatedDirectory::new();
    let tuning = Tuning { segment_size: 1024, checkpoint_bytes: u64::MAX };
    let f = Fixture::on(&directory, tuning).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let operation = directory.operations();
        directory.set_fault(Some(Fault { operation, kind: FaultKind::NoSpace, forever: true }));
        for id in round * 1000..round * 1000 + 200 {
            match f.insert(id, 0) {
                Ok(_) => acknowledged.push((id, 0)),
                Err(error) => {
                    assert_eq!(error.state, SqlState::DiskFull, "{error:?}");
                    break;
                }
            }
        }
        assert_eq!(f.rows(), acknowledged, "reads go on");
        assert_eq!(state(f.insert(-1, 0)).unwrap_err(), SqlState::DiskFull);
        // Somebody makes room.
        directory.set_fault(None);
        f.insert(round * 1000 + 500, 0).unwrap();
        acknowledged.push((round * 1000 + 500, 0));
    }
    drop(f);
    assert_eq!(Fixture::on(&directory, tuning).unwrap().rows(), acknowledged);
}

#[test]
fn a_second_server_a_newer_format_and_foreign_files_are_refused() {
    let directory = SimulatedDirectory::new();
    let f = Fixture::on(&directory, TUNING).unwrap();
    let error = Fixture::on(&directory, TUNING).err().unwrap();
    assert_eq!(error.state, SqlState::ObjectInUse);
    assert!(error.message.contains("in use by another server"), "{error}");
    drop(f);
    let mut image = directory.image();
    let format = String::from_utf8(image.bytes("format").unwrap().to_vec()).unwrap();
    image.replace("format", format.replace("format 3", "format 4").into_bytes());
    let error = Fixture::on(&SimulatedDirectory::from_image(image), TUNING).err().unwrap();
    assert_eq!(error.message, "the data directory has format 4, this server reads format 3");
    let foreign = SimulatedDirectory::new();
    crate::env::Directory::create(&*foreign, "thesis.txt").unwrap();
    let error = Fixture::on(&foreign, TUNING).err().unwrap();
    assert!(error.message.contains("thesis.txt"), "{error}");
}

#[test]
fn sequences_never_hand_out_a_value_twice() {
    let id = SequenceId(5);
    let schema = SequenceSchema {
        id,
        name: "s".into(),
        start: 1,
        increment: 2,
        min: 1,
        max: i64::MAX,
        cycle: false,
        owner: None,
    };
    let directory = SimulatedDirectory::new();
    let f = Fixture::on(&directory, TUNING).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    f.define(Definition::CreateSequence(schema)).unwrap();
    let next = |f: &Fixture| f.writes.store().sequence(id).unwrap().next_value().unwrap();
    assert_eq!((next(&f), next(&f)), (1, 3));
    f.insert(1, 1).unwrap();
    let image = directory.image();
    drop(f);
    // A clean stop leaves no gap, a crash leaves one.
    let f = Fixture::on(&directory, TUNING).unwrap();
    assert_eq!(next(&f), 5);
    f.checkpoint().unwrap();
    drop(f);
    let crashed = SimulatedDirectory::from_image(image.crash(&SeededRandomness::new(1)));
    let f = Fixture::on(&crashed, TUNING).unwrap();
    let value = next(&f);
    assert!(value > 3 && value % 2 == 1, "{value}");
    let f = Fixture::on(&directory, TUNING).unwrap();
    assert!(next(&f) > 5);
}

#[test]
fn random_histories_survive_random_crashes() {
    for seed in 0..30 {
        let randomness = SeededRandomness::new(seed);
        let mut directory = SimulatedDirectory::new();
        let mut model = BTreeMap::new();
        let f = Fixture::on(&directory, TUNING).unwrap();
        f.define(Definition::CreateTable(table(T, "t"))).unwrap();
        drop(f);
        for _ in 0..4 {
            let f = Fixture::on(&directory, TUNING).unwrap();
            for _ in 0..randomness.next() % 30 {
                let (id, v) = ((randomness.next() % 20) as i32, (randomness.next() % 100) as i32);
                let outcome = match randomness.next() % 3 {
                    0 => f.insert(id, v).map(|_| _ = model.insert(id, v)),
                    1 => f.write(&set_by_id(T, 1), &[int(id), int(v)]).map(|_| {
                        model.entry(id).and_modify(|old| *old = v);
                    }),
                    _ => f.write(&delete_by_id(T), &[int(id)]).map(|_| _ = model.remove(&id)),
                };
                let duplicate = state(outcome).err();
                assert!(duplicate.is_none_or(|state| state == SqlState::UniqueViolation));
            }
            let image = directory.image().crash(&randomness);
            drop(f);
            directory = SimulatedDirectory::from_image(image);
        }
        let f = Fixture::on(&directory, TUNING).unwrap();
        let expected: Rows = model.into_iter().collect();
        assert_eq!(f.rows_at(T, &f.snapshot(), &WriteSet::new()), expected, "seed {seed}");
    }
}

#[test]
fn recovery_that_fails_anywhere_can_be_repeated() {
    let run = run();
    let last = run.states.last().unwrap();
    let image = run.history.last().unwrap();
    for operation in 0..12 {
        for kind in [FaultKind::InputOutput, FaultKind::NoSpace, FaultKind::ShortWrite] {
            let directory = SimulatedDirectory::from_image(image.clone());
            directory.set_fault(Some(Fault { operation, kind, forever: true }));
            if let Ok(f) = Fixture::on(&directory, TUNING) {
                assert_eq!(state_of(&f), *last, "{kind:?} at {operation}");
            }
            directory.set_fault(None);
            let randomness = SeededRandomness::new(operation);
            let crashed = SimulatedDirectory::from_image(directory.image().crash(&randomness));
            let f = Fixture::on(&crashed, TUNING).unwrap();
            assert_eq!(state_of(&f), *last, "{kind:?} at {operation}");
        }
    }
}

#[test]
fn definitions_survive_in_the_log_and_in_checkpoints() {
    let directory = SimulatedDirectory::new();
    let f = Fixture::on(&directory, TUNING).unwrap();
    let (mut schema, other) = (table(T, "t"), table(TableId(2), "gone"));
    f.define(Definition::CreateTable(schema.clone())).unwrap();
    f.define(Definition::CreateTable(other)).unwrap();
    f.insert(1, 10).unwrap();
    f.insert(2, 20).unwrap();
    let added = ColumnSchema { missing: int(7), ..column("later", DataType::Integer, true) };
    schema.columns.push(added);
    schema.columns[2].dropped = true;
    schema.name = "renamed".into();
    f.define(Definition::AlterTable(schema)).unwrap();
    let index = unique(77, "renamed_v_key", &[1], false);
    f.define(Definition::CreateIndex { table: T, index }).unwrap();
    f.define(Definition::DropTable(TableId(2))).unwrap();
    f.define(Definition::PutEntry { key: "view/a".into(), value: Some(b"x".to_vec()) }).unwrap();
    f.define(Definition::PutEntry { key: "view/b".into(), value: Some(b"y".to_vec()) }).unwrap();
    f.define(Definition::PutEntry { key: "view/b".into(), value: None }).unwrap();
    f.write(&add_to(T, false), &[int(2), int(5)]).unwrap();
    let rows = |f: &Fixture| {
        let view = f.writes.store().table(T).unwrap().view(f.snapshot().version());
        let mut rows = Vec::new();
        crate::transaction::every_row(&view, |location| rows.push(view.row(location)));
        rows.sort_by_key(|row| format!("{row:?}"));
        rows
    };
    let (schema, stored) = (f.writes.store().table(T).unwrap().schema(), rows(&f));
    assert_eq!(stored[0].last(), Some(&int(7)));
    let check = |f: &Fixture| {
        assert_eq!(f.writes.store().table(T).unwrap().schema(), schema);
        assert_eq!(rows(f), stored);
        assert!(f.writes.store().table(TableId(2)).is_none());
        let entries = f.writes.entries("view/");
        assert_eq!(entries, [("view/a".to_string(), b"x"[..].into())]);
        let duplicate = f.write(&set_by_id(T, 1), &[int(1), int(25)]);
        assert_eq!(state(duplicate).unwrap_err(), SqlState::UniqueViolation);
    };
    drop(f);
    let f = Fixture::on(&directory, TUNING).unwrap();
    check(&f);
    f.checkpoint().unwrap();
    f.define(Definition::PutEntry { key: "other".into(), value: Some(Vec::new()) }).unwrap();
    f.checkpoint().unwrap();
    drop(f);
    let names: Vec<String> = directory.image().names().map(str::to_owned).collect();
    assert!(names.iter().any(|name| name.starts_with("data-")), "{names:?}");
    let f = Fixture::on(&directory, TUNING).unwrap();
    check(&f);
    f.define(Definition::Truncate { tables: vec![T], restart_identity: true }).unwrap();
    drop(f);
    assert_eq!(rows(&Fixture::on(&directory, TUNING).unwrap()), Vec::<Vec<Value>>::new());
}
