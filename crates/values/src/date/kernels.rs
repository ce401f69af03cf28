//! Dates' computations by name.

use std::cmp::Ordering;

use crate::arguments::{date, int4, interval, text, timestamp};
use crate::datum::Datum;
use crate::kernel::{Context, Kernel, entry, or_null};
use crate::relations::relations;

fn compared(_: &Context, a: &[Datum]) -> Ordering {
    date(a, 0).cmp(&date(a, 1))
}

fn with_timestamp(_: &Context, a: &[Datum]) -> Ordering {
    super::compare_with_timestamp(date(a, 0), timestamp(a, 1))
}

fn timestamp_with(_: &Context, a: &[Datum]) -> Ordering {
    super::compare_with_timestamp(date(a, 1), timestamp(a, 0)).reverse()
}

fn with_timestamptz(context: &Context, a: &[Datum]) -> Ordering {
    super::compare_with_timestamptz(date(a, 0), timestamp(a, 1), &context.zone)
}

fn timestamptz_with(context: &Context, a: &[Datum]) -> Ordering {
    super::compare_with_timestamptz(date(a, 1), timestamp(a, 0), &context.zone).reverse()
}

static DATES: [Kernel; 7] = relations!(compared;
    "date_eq" "date_ne" "date_lt" "date_le" "date_gt" "date_ge" "date_cmp");
static WITH_TIMESTAMPS: [Kernel; 7] = relations!(with_timestamp;
    "date_eq_timestamp" "date_ne_timestamp" "date_lt_timestamp" "date_le_timestamp"
    "date_gt_timestamp" "date_ge_timestamp" "date_cmp_timestamp");
static TIMESTAMPS_WITH: [Kernel; 7] = relations!(timestamp_with;
    "timestamp_eq_date" "timestamp_ne_date" "timestamp_lt_date" "timestamp_le_date"
    "timestamp_gt_date" "timestamp_ge_date" "timestamp_cmp_date");
static WITH_TIMESTAMPTZS: [Kernel; 7] = relations!(with_timestamptz;
    "date_eq_timestamptz" "date_ne_timestamptz" "date_lt_timestamptz" "date_le_timestamptz"
    "date_gt_timestamptz" "date_ge_timestamptz" "date_cmp_timestamptz");
static TIMESTAMPTZS_WITH: [Kernel; 7] = relations!(timestamptz_with;
    "timestamptz_eq_date" "timestamptz_ne_date" "timestamptz_lt_date" "timestamptz_le_date"
    "timestamptz_gt_date" "timestamptz_ge_date" "timestamptz_cmp_date");

static OTHERS: &[Kernel] = &[
    entry("date_in", |c, a| super::from_text(c, text(a, 0)).map(Datum::Date)),
    entry("date_out", |c, a| Ok(Datum::text(super::to_text(c, date(a, 0))))),
    entry("date_send", |_, a| Ok(Datum::Bytea(super::to_binary(date(a, 0)).into()))),
    entry("date_larger", |_, a| Ok(Datum::Date(date(a, 0).max(date(a, 1))))),
    entry("date_smaller", |_, a| Ok(Datum::Date(date(a, 0).min(date(a, 1))))),
    entry("date_finite", |_, a| Ok(Datum::Bool(super::is_finite(date(a, 0))))),
    entry("date_pli", |_, a| super::add_days(date(a, 0), int4(a, 1)).map(Datum::Date)),
    entry("date_mii", |_, a| super::subtract_days(date(a, 0), int4(a, 1)).map(Datum::Date)),
    entry("date_mi", |_, a| super::days_between(date(a, 0), date(a, 1)).map(Datum::Int4)),
    entry("date_pl_interval", |_, a| {
        super::plus_interval(date(a, 0), &interval(a, 1)).map(Datum::Timestamp)
    }),
    entry("date_mi_interval", |_, a| {
        super::minus_interval(date(a, 0), &interval(a, 1)).map(Datum::Timestamp)
    }),
    entry("date_timestamp", |_, a| super::to_timestamp(date(a, 0)).map(Datum::Timestamp)),
    entry("date_timestamptz", |c, a| {
        super::to_timestamptz(date(a, 0), &c.zone).map(Datum::TimestampTz)
    }),
    entry("daterange_subdiff", |_, a| {
        Ok(Datum::Float8(f64::from(date(a, 0)) - f64::from(date(a, 1))))
    }),
    entry("extract_date", |_, a| Ok(or_null(super::extract(text(a, 0), date(a, 1))?, Datum::from))),
    entry("make_date", |_, a| super::make(int4(a, 0), int4(a, 1), int4(a, 2)).map(Datum::Date)),
];

pub(crate) static KERNELS: [&[Kernel]; 6] =
    [&DATES, &WITH_TIMESTAMPS, &TIMESTAMPS_WITH, &WITH_TIMESTAMPTZS, &TIMESTAMPTZS_WITH, OTHERS];
