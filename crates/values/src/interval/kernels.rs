//! Intervals' computations by name.

use std::cmp::Ordering;

use super::Interval;
use crate::arguments::{boolean, float8, int4, interval, text, time, typmod};
use crate::datum::Datum;
use crate::kernel::{Context, Kernel, entry};
use crate::relations::relations;
use crate::timestamp;

fn compared(_: &Context, a: &[Datum]) -> Ordering {
    interval(a, 0).cmp(&interval(a, 1))
}

static INTERVALS: [Kernel; 7] = relations!(compared;
    "interval_eq" "interval_ne" "interval_lt" "interval_le" "interval_gt" "interval_ge"
    "interval_cmp");

static OTHERS: &[Kernel] = &[
    entry("interval_in", |c, a| super::from_text(c, text(a, 0), typmod(a, 2)).map(Datum::Interval)),
    entry("interval_out", |c, a| Ok(Datum::text(super::to_text(c, &interval(a, 0))))),
    entry("interval_send", |_, a| Ok(Datum::Bytea(super::to_binary(&interval(a, 0)).into()))),
    entry("interval_scale", |_, a| super::scale(&interval(a, 0), int4(a, 1)).map(Datum::Interval)),
    entry("interval_larger", |_, a| {
        let (one, other) = (interval(a, 0), interval(a, 1));
        Ok(Datum::Interval(if one > other { one } else { other }))
    }),
    entry("interval_smaller", |_, a| {
        let (one, other) = (interval(a, 0), interval(a, 1));
        Ok(Datum::Interval(if one < other { one } else { other }))
    }),
    entry("interval_finite", |_, _| Ok(Datum::Bool(true))),
    entry("interval_um", |_, a| super::negate(&interval(a, 0)).map(Datum::Interval)),
    entry("interval_pl", |_, a| super::add(&interval(a, 0), &interval(a, 1)).map(Datum::Interval)),
    entry("interval_mi", |_, a| {
        super::subtract(&interval(a, 0), &interval(a, 1)).map(Datum::Interval)
    }),
    entry("interval_mul", |_, a| {
        super::multiply(&interval(a, 0), float8(a, 1)).map(Datum::Interval)
    }),
    entry("mul_d_interval", |_, a| {
        super::multiply(&interval(a, 1), float8(a, 0)).map(Datum::Interval)
    }),
    entry("interval_div", |_, a| super::divide(&interval(a, 0), float8(a, 1)).map(Datum::Interval)),
    entry("interval_justify_hours", |_, a| {
        super::justify_hours(&interval(a, 0)).map(Datum::Interval)
    }),
    entry("interval_justify_days", |_, a| {
        super::justify_days(&interval(a, 0)).map(Datum::Interval)
    }),
    entry("interval_justify_interval", |_, a| {
        super::justify_interval(&interval(a, 0)).map(Datum::Interval)
    }),
    entry("time_interval", |_, a| {
        Ok(Datum::Interval(Interval { micros: time(a, 0), ..Interval::default() }))
    }),
    entry("interval_trunc", |_, a| {
        super::truncate(text(a, 0), &interval(a, 1)).map(Datum::Interval)
    }),
    entry("extract_interval", |_, a| super::extract(text(a, 0), &interval(a, 1)).map(Datum::from)),
    entry("interval_part", |_, a| super::date_part(text(a, 0), &interval(a, 1)).map(Datum::Float8)),
    entry("make_interval", |_, a| {
        let whole = [0, 1, 2, 3, 4, 5].map(|at| int4(a, at));
        super::make(whole, float8(a, 6)).map(Datum::Interval)
    }),
    entry("in_range_interval_interval", |_, a| {
        let (value, base, span) = (interval(a, 0), interval(a, 1), interval(a, 2));
        if span.key() < 0 {
            return Err(timestamp::negative_frame());
        }
        let end =
            if boolean(a, 3) { super::subtract(&base, &span)? } else { super::add(&base, &span)? };
        Ok(Datum::Bool(if boolean(a, 4) { value <= end } else { value >= end }))
    }),
];

pub(crate) static KERNELS: [&[Kernel]; 2] = [&INTERVALS, OTHERS];
