//! Templates' computations by name.

use crate::arguments::{interval, text, timestamp};
use crate::datum::Datum;
use crate::kernel::{Kernel, entry, or_null};

static TEMPLATES: &[Kernel] = &[
    entry("timestamp_to_char", |_, a| {
        Ok(or_null(super::timestamp_to_char(timestamp(a, 0), text(a, 1))?, Datum::text))
    }),
    entry("timestamptz_to_char", |c, a| {
        Ok(or_null(super::timestamptz_to_char(c, timestamp(a, 0), text(a, 1))?, Datum::text))
    }),
    entry("interval_to_char", |_, a| {
        Ok(or_null(super::interval_to_char(&interval(a, 0), text(a, 1))?, Datum::text))
    }),
    entry("to_timestamp", |c, a| {
        super::to_timestamp(c, text(a, 0), text(a, 1)).map(Datum::TimestampTz)
    }),
    entry("to_date", |_, a| super::to_date(text(a, 0), text(a, 1)).map(Datum::Date)),
];

pub(crate) static KERNELS: [&[Kernel]; 2] = [TEMPLATES, super::number::NUMBERS];
