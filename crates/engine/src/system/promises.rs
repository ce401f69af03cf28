//! `shareddb.promises`: what became of promised response times (`shareddb.response_time`), by role and statement.
//! `shareddb.capacity`: how much more could be promised.

use std::sync::Arc;

use super::{SystemTable, micros, number, text};
use crate::heartbeat::Engine;
use crate::heartbeat::promises::{Capacity, Place, Promised};
use crate::types::{DataType, Value};

pub(super) const TABLE: SystemTable = SystemTable {
    name: "promises",
    columns: &[
        ("role", DataType::Text),
        ("statement", DataType::Text),
        // The last one.
        ("promised_us", DataType::Double),
        ("admitted", DataType::BigInt),
        ("kept", DataType::BigInt),
        ("late", DataType::BigInt),
        ("refused", DataType::BigInt),
        // From the whole message to the answer's last byte.
        ("p50_us", DataType::Double),
        ("p99_us", DataType::Double),
        ("p999_us", DataType::Double),
        // The last one.
        ("forecast_us", DataType::Double),
        // Share of answers that took what was forecast, within a factor of 1.5 or 1 ms.
        ("forecast_near", DataType::Double),
    ],
    rows,
};

pub(super) const CAPACITY: SystemTable = SystemTable {
    name: "capacity",
    columns: &[
        // all, lane, alone, writes
        ("place", DataType::Text),
        ("lane", DataType::BigInt),
        // The shortest promise of what runs there now.
        ("promised_us", DataType::Double),
        // Answers of statements with a promise, in the last second.
        ("running_per_s", DataType::Double),
        // So many more of them in a second would still be kept.
        ("more_per_s", DataType::Double),
    ],
    rows: capacity,
};

fn capacity(engine: &Engine) -> Vec<Vec<Value>> {
    engine.promises().capacity().into_iter().map(capacity_row).collect()
}

fn capacity_row(own: Capacity) -> Vec<Value> {
    let (place, lane) = match own.place {
        None => ("all", Value::Null),
        Some(Place::Lane(lane)) => ("lane", number(lane.0)),
        Some(Place::Alone) => ("alone", Value::Null),
        Some(Place::Writes) => ("writes", Value::Null),
    };
    let rates = [own.per_second, own.more].map(Value::Double);
    [text(place), lane, micros(own.promise)].into_iter().chain(rates).collect()
}

fn rows(engine: &Engine) -> Vec<Vec<Value>> {
    engine.promises().all().into_iter().map(row).collect()
}

fn row((role, statement, own): (Arc<str>, Arc<str>, Promised)) -> Vec<Value> {
    let quantile = |share| own.times.quantile(share).map_or(Value::Null, micros);
    let near = match own.forecasts {
        0 => Value::Null,
        all => Value::Double(own.near as f64 / all as f64),
    };
    let forecast = Some(own.forecast).filter(|forecast| !forecast.is_zero());
    vec![
        text(&*role),
        text(&*statement),
        micros(own.promise),
        number(own.admitted),
        number(own.kept),
        number(own.late),
        number(own.refused),
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        forecast.map_or(Value::Null, micros),
        near,
    ]
}
