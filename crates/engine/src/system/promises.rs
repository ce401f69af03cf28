//! `shareddb.promises`: what became of promised response times (`shareddb.response_time`), by role and statement.

use std::sync::Arc;

use super::{SystemTable, micros, number, text};
use crate::heartbeat::{Engine, Promised};
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
