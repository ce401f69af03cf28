//! Times' computations by name.

use std::cmp::Ordering;

use crate::arguments::{boolean, float8, int4, interval, text, time, timestamp, typmod};
use crate::datum::Datum;
use crate::kernel::{Context, Kernel, entry, or_null};
use crate::relations::relations;
use crate::unit::as_double;
use crate::{overlaps, precision, timestamp, timestamptz};

fn compared(_: &Context, a: &[Datum]) -> Ordering {
    time(a, 0).cmp(&time(a, 1))
}

static TIMES: [Kernel; 7] = relations!(compared;
    "time_eq" "time_ne" "time_lt" "time_le" "time_gt" "time_ge" "time_cmp");

static OTHERS: &[Kernel] = &[
    entry("time_in", |c, a| super::from_text(c, text(a, 0), typmod(a, 2)).map(Datum::Time)),
    entry("time_out", |_, a| Ok(Datum::text(super::to_text(time(a, 0))))),
    entry("time_send", |_, a| Ok(Datum::Bytea(super::to_binary(time(a, 0)).into()))),
    entry("time_scale", |_, a| Ok(Datum::Time(precision::round(time(a, 0), int4(a, 1))))),
    entry("time_larger", |_, a| Ok(Datum::Time(time(a, 0).max(time(a, 1))))),
    entry("time_smaller", |_, a| Ok(Datum::Time(time(a, 0).min(time(a, 1))))),
    entry("time_pl_interval", |_, a| {
        Ok(Datum::Time(super::plus_interval(time(a, 0), &interval(a, 1))))
    }),
    entry("time_mi_interval", |_, a| {
        Ok(Datum::Time(super::minus_interval(time(a, 0), &interval(a, 1))))
    }),
    entry("time_mi_time", |_, a| Ok(Datum::Interval(super::between(time(a, 0), time(a, 1))))),
    entry("interval_time", |_, a| Ok(Datum::Time(super::of_interval(&interval(a, 0))))),
    entry("timestamp_time", |_, a| {
        Ok(or_null(timestamp::time_of_day(timestamp(a, 0)), Datum::Time))
    }),
    entry("timestamptz_time", |c, a| {
        let (local, _) = timestamptz::local_or_infinite(timestamp(a, 0), &c.zone);
        Ok(or_null(timestamp::time_of_day(local), Datum::Time))
    }),
    entry("extract_time", |_, a| super::extract(text(a, 0), time(a, 1)).map(Datum::from)),
    entry("time_part", |_, a| {
        let part = super::extract(text(a, 0), time(a, 1))?;
        Ok(Datum::Float8(as_double(text(a, 0), part)))
    }),
    entry("make_time", |_, a| super::make(int4(a, 0), int4(a, 1), float8(a, 2)).map(Datum::Time)),
    entry("overlaps_time", |_, a| Ok(or_null(overlaps::overlaps(a, time), Datum::Bool))),
    entry("in_range_time_interval", |_, a| {
        let span = interval(a, 2);
        if span.micros < 0 {
            return Err(timestamp::negative_frame());
        }
        // PostgreSQL's sum wraps beyond 64 bits.
        let base = time(a, 1);
        let end = if boolean(a, 3) {
            base.wrapping_sub(span.micros)
        } else {
            base.wrapping_add(span.micros)
        };
        let value = time(a, 0);
        Ok(Datum::Bool(if boolean(a, 4) { value <= end } else { value >= end }))
    }),
];

pub(crate) static KERNELS: [&[Kernel]; 2] = [&TIMES, OTHERS];
