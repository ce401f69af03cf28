//! Computations of timestamps with zones by name. Their comparisons and differences are those of timestamps.

use std::cmp::Ordering;

use crate::arguments::{boolean, float8, int4, interval, text, timestamp, typmod};
use crate::datum::Datum;
use crate::kernel::{Context, Kernel, entry, or_null};
use crate::relations::relations;
use crate::timestamp;

fn with_timestamp(context: &Context, a: &[Datum]) -> Ordering {
    instant(context, timestamp(a, 0)).cmp(&i128::from(timestamp(a, 1)))
}

fn timestamp_with(context: &Context, a: &[Datum]) -> Ordering {
    instant(context, timestamp(a, 1)).cmp(&i128::from(timestamp(a, 0))).reverse()
}

/// The instant of a local time, which may be outside the range of timestamps, but not beyond infinity.
fn instant(context: &Context, local: i64) -> i128 {
    if !timestamp::is_finite(local) {
        return local.into();
    }
    let offset = context.zone.offset_at_local(super::unix_seconds(local));
    i128::from(local) - i128::from(offset) * i128::from(crate::calendar::SECOND)
}

static WITH_TIMESTAMPS: [Kernel; 7] = relations!(timestamp_with;
    "timestamptz_eq_timestamp" "timestamptz_ne_timestamp" "timestamptz_lt_timestamp"
    "timestamptz_le_timestamp" "timestamptz_gt_timestamp" "timestamptz_ge_timestamp"
    "timestamptz_cmp_timestamp");
static TIMESTAMPS_WITH: [Kernel; 7] = relations!(with_timestamp;
    "timestamp_eq_timestamptz" "timestamp_ne_timestamptz" "timestamp_lt_timestamptz"
    "timestamp_le_timestamptz" "timestamp_gt_timestamptz" "timestamp_ge_timestamptz"
    "timestamp_cmp_timestamptz");

static OTHERS: &[Kernel] = &[
    entry("timestamptz_in", |c, a| {
        super::from_text(c, text(a, 0), typmod(a, 2)).map(Datum::TimestampTz)
    }),
    entry("timestamptz_out", |c, a| Ok(Datum::text(super::to_text(c, timestamp(a, 0))))),
    entry("timestamptz_send", |_, a| {
        Ok(Datum::Bytea(timestamp::to_binary(timestamp(a, 0)).into()))
    }),
    entry("timestamptz_scale", |_, a| {
        timestamp::scale(timestamp(a, 0), int4(a, 1)).map(Datum::TimestampTz)
    }),
    entry("now", |c, _| Ok(Datum::TimestampTz(c.transaction_began()))),
    entry("statement_timestamp", |c, _| Ok(Datum::TimestampTz(c.statement_began()))),
    entry("timestamptz_pl_interval", |c, a| {
        super::plus_interval(timestamp(a, 0), &interval(a, 1), &c.zone).map(Datum::TimestampTz)
    }),
    entry("timestamptz_mi_interval", |c, a| {
        super::minus_interval(timestamp(a, 0), &interval(a, 1), &c.zone).map(Datum::TimestampTz)
    }),
    entry("timestamptz_age", |c, a| {
        super::age(timestamp(a, 0), timestamp(a, 1), &c.zone).map(Datum::Interval)
    }),
    entry("timestamp_timestamptz", |c, a| {
        super::of_local(timestamp(a, 0), &c.zone).map(Datum::TimestampTz)
    }),
    entry("timestamptz_timestamp", |c, a| {
        super::to_local(timestamp(a, 0), &c.zone).map(Datum::Timestamp)
    }),
    entry("timestamptz_date", |c, a| {
        let (local, _) = super::local_or_infinite(timestamp(a, 0), &c.zone);
        Ok(Datum::Date(timestamp::to_date(local)))
    }),
    entry("timestamptz_zone", |_, a| {
        super::at_zone(text(a, 0), timestamp(a, 1)).map(Datum::Timestamp)
    }),
    entry("timestamptz_izone", |c, a| {
        super::at_offset(c, &interval(a, 0), timestamp(a, 1)).map(Datum::Timestamp)
    }),
    entry("timestamptz_trunc", |c, a| {
        super::truncate(text(a, 0), timestamp(a, 1), &c.zone).map(Datum::TimestampTz)
    }),
    entry("timestamptz_trunc_zone", |_, a| {
        super::truncate_in_zone(text(a, 0), timestamp(a, 1), text(a, 2)).map(Datum::TimestampTz)
    }),
    entry("timestamptz_bin", |_, a| {
        timestamp::bin(&interval(a, 0), timestamp(a, 1), timestamp(a, 2)).map(Datum::TimestampTz)
    }),
    entry("extract_timestamptz", |c, a| {
        let part = super::extract(text(a, 0), timestamp(a, 1), &c.zone)?;
        Ok(or_null(part, Datum::from))
    }),
    entry("timestamptz_part", |c, a| {
        let part = super::date_part(text(a, 0), timestamp(a, 1), &c.zone)?;
        Ok(or_null(part, Datum::Float8))
    }),
    entry("float8_timestamptz", |_, a| {
        super::of_unix_seconds(float8(a, 0)).map(Datum::TimestampTz)
    }),
    entry("make_timestamptz", |c, a| {
        let ymd = [int4(a, 0), int4(a, 1), int4(a, 2)];
        let instant = super::make(ymd, int4(a, 3), int4(a, 4), float8(a, 5), &c.zone);
        instant.map(Datum::TimestampTz)
    }),
    entry("make_timestamptz_at_timezone", |_, a| {
        let ymd = [int4(a, 0), int4(a, 1), int4(a, 2)];
        let instant = super::make_at_zone(ymd, int4(a, 3), int4(a, 4), float8(a, 5), text(a, 6));
        instant.map(Datum::TimestampTz)
    }),
    entry("in_range_timestamptz_interval", |c, a| {
        let span = interval(a, 2);
        if span.key() < 0 {
            return Err(timestamp::negative_frame());
        }
        let (value, base) = (timestamp(a, 0), timestamp(a, 1));
        let end = if boolean(a, 3) {
            super::minus_interval(base, &span, &c.zone)?
        } else {
            super::plus_interval(base, &span, &c.zone)?
        };
        Ok(Datum::Bool(if boolean(a, 4) { value <= end } else { value >= end }))
    }),
];

pub(crate) static KERNELS: [&[Kernel]; 3] = [&WITH_TIMESTAMPS, &TIMESTAMPS_WITH, OTHERS];
