//! Timestamps' computations by name. What does not depend on a zone serves timestamps with zones, too.

use std::cmp::Ordering;

use crate::arguments::{boolean, date, float8, int4, interval, text, time, timestamp, typmod};
use crate::datum::Datum;
use crate::error::Result;
use crate::kernel::{Context, Kernel, entry, or_null};
use crate::overlaps::overlaps;
use crate::relations::relations;

fn compared(_: &Context, a: &[Datum]) -> Ordering {
    timestamp(a, 0).cmp(&timestamp(a, 1))
}

static TIMESTAMPS: [Kernel; 7] = relations!(compared;
    "timestamp_eq" "timestamp_ne" "timestamp_lt" "timestamp_le" "timestamp_gt" "timestamp_ge"
    "timestamp_cmp");

/// The later of two.
fn larger(_: &Context, a: &[Datum]) -> Result<Datum> {
    Ok(if timestamp(a, 0) > timestamp(a, 1) { a[0].clone() } else { a[1].clone() })
}

/// The earlier of two.
fn smaller(_: &Context, a: &[Datum]) -> Result<Datum> {
    Ok(if timestamp(a, 0) < timestamp(a, 1) { a[0].clone() } else { a[1].clone() })
}

/// How far apart two timestamps are, as indexes on ranges ask.
fn subtracted_in_seconds(_: &Context, a: &[Datum]) -> Result<Datum> {
    let micros = timestamp(a, 0) as f64 - timestamp(a, 1) as f64;
    Ok(Datum::Float8(micros / crate::calendar::SECOND as f64))
}

fn in_range(_: &Context, a: &[Datum]) -> Result<Datum> {
    let span = interval(a, 2);
    if span.key() < 0 {
        return Err(super::negative_frame());
    }
    let (value, base) = (timestamp(a, 0), timestamp(a, 1));
    let end = if boolean(a, 3) {
        super::minus_interval(base, &span)?
    } else {
        super::plus_interval(base, &span)?
    };
    Ok(Datum::Bool(if boolean(a, 4) { value <= end } else { value >= end }))
}

static OTHERS: &[Kernel] = &[
    entry("timestamp_in", |c, a| {
        super::from_text(c, text(a, 0), typmod(a, 2)).map(Datum::Timestamp)
    }),
    entry("timestamp_out", |c, a| Ok(Datum::text(super::to_text(c, timestamp(a, 0))))),
    entry("timestamp_send", |_, a| Ok(Datum::Bytea(super::to_binary(timestamp(a, 0)).into()))),
    entry("timestamp_scale", |_, a| {
        super::scale(timestamp(a, 0), int4(a, 1)).map(Datum::Timestamp)
    }),
    entry("timestamp_larger", larger),
    entry("timestamp_smaller", smaller),
    entry("timestamp_finite", |_, a| Ok(Datum::Bool(super::is_finite(timestamp(a, 0))))),
    entry("timestamp_pl_interval", |_, a| {
        super::plus_interval(timestamp(a, 0), &interval(a, 1)).map(Datum::Timestamp)
    }),
    entry("timestamp_mi_interval", |_, a| {
        super::minus_interval(timestamp(a, 0), &interval(a, 1)).map(Datum::Timestamp)
    }),
    entry("timestamp_mi", |_, a| {
        super::between(timestamp(a, 0), timestamp(a, 1)).map(Datum::Interval)
    }),
    entry("timestamp_age", |_, a| {
        super::age(timestamp(a, 0), timestamp(a, 1)).map(Datum::Interval)
    }),
    entry("timestamp_date", |_, a| Ok(Datum::Date(super::to_date(timestamp(a, 0))))),
    entry("datetime_timestamp", |_, a| {
        super::on_date(date(a, 0), time(a, 1)).map(Datum::Timestamp)
    }),
    entry("timestamp_zone", |_, a| {
        super::at_zone(text(a, 0), timestamp(a, 1)).map(Datum::TimestampTz)
    }),
    entry("timestamp_izone", |c, a| {
        super::at_offset(c, &interval(a, 0), timestamp(a, 1)).map(Datum::TimestampTz)
    }),
    entry("timestamp_trunc", |_, a| {
        super::truncate(text(a, 0), timestamp(a, 1)).map(Datum::Timestamp)
    }),
    entry("timestamp_bin", |_, a| {
        super::bin(&interval(a, 0), timestamp(a, 1), timestamp(a, 2)).map(Datum::Timestamp)
    }),
    entry("extract_timestamp", |_, a| {
        Ok(or_null(super::extract(text(a, 0), timestamp(a, 1))?, Datum::from))
    }),
    entry("timestamp_part", |_, a| {
        Ok(or_null(super::date_part(text(a, 0), timestamp(a, 1))?, Datum::Float8))
    }),
    entry("make_timestamp", |_, a| {
        let ymd = [int4(a, 0), int4(a, 1), int4(a, 2)];
        super::make(ymd, int4(a, 3), int4(a, 4), float8(a, 5)).map(Datum::Timestamp)
    }),
    entry("tsrange_subdiff", subtracted_in_seconds),
    entry("tstzrange_subdiff", subtracted_in_seconds),
    entry("overlaps_timestamp", |_, a| Ok(or_null(overlaps(a, timestamp), Datum::Bool))),
    entry("in_range_timestamp_interval", in_range),
    entry("in_range_date_interval", |c, a| {
        let as_timestamp = |at| crate::date::to_timestamp(date(a, at)).map(Datum::Timestamp);
        let arguments =
            [as_timestamp(0)?, as_timestamp(1)?, a[2].clone(), a[3].clone(), a[4].clone()];
        in_range(c, &arguments)
    }),
];

pub(crate) static KERNELS: [&[Kernel]; 2] = [&TIMESTAMPS, OTHERS];
