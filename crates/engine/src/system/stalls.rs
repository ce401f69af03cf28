//! `shareddb.stalls`: threads that answer somebody and did not get on for 10 ms or more.

use super::{SystemTable, micros, number, text};
use crate::env::stalls::{Stall, process};
use crate::heartbeat::Engine;
use crate::types::{DataType, Value};

pub(super) const TABLE: SystemTable = SystemTable {
    name: "stalls",
    columns: &[
        ("thread", DataType::Text),
        // How long ago it ended.
        ("ago_us", DataType::Double),
        // At least: it is looked every 5 ms.
        ("took_us", DataType::Double),
        // work, page faults, other threads, lock, sync, disk, sleep: what took most of it.
        ("cause", DataType::Text),
        // On a processor.
        ("ran_us", DataType::Double),
        // Ready to run, while other threads had the processors.
        ("waited_us", DataType::Double),
        ("page_faults", DataType::BigInt),
        // The watcher came late meanwhile, too: the machine stood still, or was busy with others.
        ("watcher_late", DataType::Boolean),
    ],
    rows,
};

fn rows(engine: &Engine) -> Vec<Vec<Value>> {
    let now = engine.environment().clock.now();
    let row = |stall: Stall| {
        vec![
            text(&*stall.thread),
            micros(now.saturating_sub(stall.ended)),
            micros(stall.took),
            text(stall.cause.name()),
            micros(stall.ran),
            micros(stall.waited),
            number(stall.faults),
            Value::Boolean(stall.watcher_late),
        ]
    };
    process().stalls().into_iter().map(row).collect()
}
