//! Computations of times with zones by name.

use std::cmp::Ordering;

use super::TimeTz;
use crate::arguments::{boolean, date, int4, interval, text, time, timestamp, timetz, typmod};
use crate::datum::Datum;
use crate::kernel::{Context, Kernel, entry, or_null};
use crate::relations::relations;
use crate::{overlaps, precision};

fn compared(_: &Context, a: &[Datum]) -> Ordering {
    timetz(a, 0).cmp(&timetz(a, 1))
}

static TIMES: [Kernel; 7] = relations!(compared;
    "timetz_eq" "timetz_ne" "timetz_lt" "timetz_le" "timetz_gt" "timetz_ge" "timetz_cmp");

static OTHERS: &[Kernel] = &[
    entry("timetz_in", |c, a| super::from_text(c, text(a, 0), typmod(a, 2)).map(Datum::TimeTz)),
    entry("timetz_out", |_, a| Ok(Datum::text(super::to_text(timetz(a, 0))))),
    entry("timetz_send", |_, a| Ok(Datum::Bytea(super::to_binary(timetz(a, 0)).into()))),
    entry("timetz_scale", |_, a| {
        let before = timetz(a, 0);
        let time = precision::round(before.time, int4(a, 1));
        Ok(Datum::TimeTz(TimeTz { time, ..before }))
    }),
    entry("timetz_larger", |_, a| Ok(Datum::TimeTz(timetz(a, 0).max(timetz(a, 1))))),
    entry("timetz_smaller", |_, a| Ok(Datum::TimeTz(timetz(a, 0).min(timetz(a, 1))))),
    entry("timetz_pl_interval", |_, a| {
        Ok(Datum::TimeTz(super::plus_interval(timetz(a, 0), &interval(a, 1))))
    }),
    entry("timetz_mi_interval", |_, a| {
        Ok(Datum::TimeTz(super::minus_interval(timetz(a, 0), &interval(a, 1))))
    }),
    entry("timetz_time", |_, a| Ok(Datum::Time(timetz(a, 0).time))),
    entry("time_timetz", |c, a| Ok(Datum::TimeTz(super::of_time(c, time(a, 0))))),
    entry("timestamptz_timetz", |c, a| {
        Ok(or_null(super::of_timestamptz(c, timestamp(a, 0)), Datum::TimeTz))
    }),
    entry("datetimetz_timestamptz", |_, a| {
        super::on_date(date(a, 0), timetz(a, 1)).map(Datum::TimestampTz)
    }),
    entry("timetz_zone", |c, a| super::at_zone(c, text(a, 0), timetz(a, 1)).map(Datum::TimeTz)),
    entry("timetz_izone", |c, a| {
        super::at_offset(c, &interval(a, 0), timetz(a, 1)).map(Datum::TimeTz)
    }),
    entry("extract_timetz", |_, a| super::extract(text(a, 0), timetz(a, 1)).map(Datum::from)),
    entry("timetz_part", |_, a| super::date_part(text(a, 0), timetz(a, 1)).map(Datum::Float8)),
    entry("overlaps_timetz", |_, a| Ok(or_null(overlaps::overlaps(a, timetz), Datum::Bool))),
    entry("in_range_timetz_interval", |_, a| {
        let span = interval(a, 2);
        if span.micros < 0 {
            return Err(crate::timestamp::negative_frame());
        }
        let base = timetz(a, 1);
        // PostgreSQL's sum wraps beyond 64 bits.
        let time = if boolean(a, 3) {
            base.time.wrapping_sub(span.micros)
        } else {
            base.time.wrapping_add(span.micros)
        };
        let order = timetz(a, 0).cmp(&TimeTz { time, ..base });
        Ok(Datum::Bool(if boolean(a, 4) { order.is_le() } else { order.is_ge() }))
    }),
];

pub(crate) static KERNELS: [&[Kernel]; 2] = [&TIMES, OTHERS];
