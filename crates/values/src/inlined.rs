//! Functions that PostgreSQL writes in SQL, by their signatures.

use crate::arguments::{date, int4, interval, text, time, timestamp, timetz};
use crate::datum::Datum;
use crate::error::Result;
use crate::kernel::{Context, Kernel, entry, or_null};
use crate::overlaps::overlaps;
use crate::{date, time, timestamp, timestamptz, timetz};

/// Adds the second argument to the first: an end of a period.
type Add = fn(&Context, &Datum, &Datum) -> Result<Datum>;

fn add_to_time(_: &Context, start: &Datum, span: &Datum) -> Result<Datum> {
    let (start, span) = (time(std::slice::from_ref(start), 0), span_of(span));
    Ok(Datum::Time(time::plus_interval(start, &span)))
}

fn add_to_timestamp(_: &Context, start: &Datum, span: &Datum) -> Result<Datum> {
    let start = timestamp(std::slice::from_ref(start), 0);
    timestamp::plus_interval(start, &span_of(span)).map(Datum::Timestamp)
}

fn add_to_timestamptz(context: &Context, start: &Datum, span: &Datum) -> Result<Datum> {
    let start = timestamp(std::slice::from_ref(start), 0);
    timestamptz::plus_interval(start, &span_of(span), &context.zone).map(Datum::TimestampTz)
}

fn span_of(span: &Datum) -> crate::interval::Interval {
    interval(std::slice::from_ref(span), 0)
}

/// `OVERLAPS` where the ends at some positions are intervals.
fn periods<T: PartialOrd + Copy>(
    context: &Context,
    arguments: &[Datum],
    lengths: &[usize],
    add: Add,
    take: fn(&[Datum], usize) -> T,
) -> Result<Datum> {
    let mut ends = arguments.to_vec();
    for at in lengths {
        let (start, span) = (&arguments[at - 1], &arguments[*at]);
        let is_null = matches!(start, Datum::Null) || matches!(span, Datum::Null);
        ends[*at] = if is_null { Datum::Null } else { add(context, start, span)? };
    }
    Ok(or_null(overlaps(&ends, take), Datum::Bool))
}

/// The instant at which the session's day began, in its zone.
fn today(context: &Context) -> i64 {
    let (today, _) = context.now_here();
    timestamp::UNIX_EPOCH
        + (today.julian_day() - i64::from(crate::calendar::UNIX_EPOCH_DAY)) * crate::calendar::DAY
}

static FUNCTIONS: &[Kernel] = &[
    entry("age(timestamp without time zone)", |c, a| {
        timestamp::age(today(c), timestamp(a, 0)).map(Datum::Interval)
    }),
    entry("age(timestamp with time zone)", |c, a| {
        let begun = timestamptz::of_local(today(c), &c.zone)?;
        timestamptz::age(begun, timestamp(a, 0), &c.zone).map(Datum::Interval)
    }),
    entry("date_part(text,date)", |_, a| {
        let begins = date::to_timestamp(date(a, 1))?;
        Ok(or_null(timestamp::date_part(text(a, 0), begins)?, Datum::Float8))
    }),
    entry("integer_pl_date(integer,date)", |_, a| {
        date::add_days(date(a, 1), int4(a, 0)).map(Datum::Date)
    }),
    entry("interval_pl_date(interval,date)", |_, a| {
        date::plus_interval(date(a, 1), &interval(a, 0)).map(Datum::Timestamp)
    }),
    entry("interval_pl_time(interval,time without time zone)", |_, a| {
        Ok(Datum::Time(time::plus_interval(time(a, 1), &interval(a, 0))))
    }),
    entry("interval_pl_timetz(interval,time with time zone)", |_, a| {
        Ok(Datum::TimeTz(timetz::plus_interval(timetz(a, 1), &interval(a, 0))))
    }),
    entry("interval_pl_timestamp(interval,timestamp without time zone)", |_, a| {
        timestamp::plus_interval(timestamp(a, 1), &interval(a, 0)).map(Datum::Timestamp)
    }),
    entry("interval_pl_timestamptz(interval,timestamp with time zone)", |c, a| {
        let (instant, span) = (timestamp(a, 1), interval(a, 0));
        timestamptz::plus_interval(instant, &span, &c.zone).map(Datum::TimestampTz)
    }),
    entry("timedate_pl(time without time zone,date)", |_, a| {
        timestamp::on_date(date(a, 1), time(a, 0)).map(Datum::Timestamp)
    }),
    entry("timetzdate_pl(time with time zone,date)", |_, a| {
        timetz::on_date(date(a, 1), timetz(a, 0)).map(Datum::TimestampTz)
    }),
    entry("timestamptz(date,time without time zone)", |c, a| {
        let local = timestamp::on_date(date(a, 0), time(a, 1))?;
        timestamptz::of_local(local, &c.zone).map(Datum::TimestampTz)
    }),
];

/// `OVERLAPS` of a type, with one end or both given by intervals.
macro_rules! periods {
    ($name:literal, $add:expr, $take:expr) => {
        [
            entry(concat!("\"overlaps\"(", $name, ",interval,", $name, ",interval)"), |c, a| {
                periods(c, a, &[1, 3], $add, $take)
            }),
            entry(concat!("\"overlaps\"(", $name, ",interval,", $name, ",", $name, ")"), |c, a| {
                periods(c, a, &[1], $add, $take)
            }),
            entry(concat!("\"overlaps\"(", $name, ",", $name, ",", $name, ",interval)"), |c, a| {
                periods(c, a, &[3], $add, $take)
            }),
        ]
    };
}

static TIMES: [Kernel; 3] = periods!("time without time zone", add_to_time, time);
static TIMESTAMPS: [Kernel; 3] =
    periods!("timestamp without time zone", add_to_timestamp, timestamp);
static TIMESTAMPTZS: [Kernel; 3] =
    periods!("timestamp with time zone", add_to_timestamptz, timestamp);

pub(crate) static KERNELS: [&[Kernel]; 4] = [FUNCTIONS, &TIMES, &TIMESTAMPS, &TIMESTAMPTZS];
