//! Arguments of kernels by position. That they are of the type which a kernel takes is the caller's to see to.

use crate::datum::Datum;
use crate::interval::Interval;
use crate::timetz::TimeTz;

#[cold]
fn mistyped(arguments: &[Datum], at: usize, wanted: &str) -> ! {
    panic!("argument {at} should be {wanted}: {arguments:?}")
}

macro_rules! argument {
    ($name:ident, $type:ty, $($variant:ident)|+, $wanted:literal) => {
        #[doc = concat!("The argument at a position, which is ", $wanted, ".")]
        pub(crate) fn $name(arguments: &[Datum], at: usize) -> $type {
            match &arguments[at] {
                $(Datum::$variant(value))|+ => value.clone(),
                _ => mistyped(arguments, at, $wanted),
            }
        }
    };
}

argument!(int4, i32, Int4, "an integer");
argument!(float8, f64, Float8, "a double");
argument!(boolean, bool, Bool, "a boolean");
argument!(date, i32, Date, "a date");
argument!(time, i64, Time, "a time");
argument!(timetz, TimeTz, TimeTz, "a time with a zone");
argument!(timestamp, i64, Timestamp | TimestampTz, "a timestamp");
argument!(interval, Interval, Interval, "an interval");

/// The argument at a position, which is a text.
pub(crate) fn text(arguments: &[Datum], at: usize) -> &str {
    match &arguments[at] {
        Datum::Text(value) => value,
        _ => mistyped(arguments, at, "a text"),
    }
}

/// The typmod at a position; -1 where there is none.
pub(crate) fn typmod(arguments: &[Datum], at: usize) -> i32 {
    match arguments.get(at) {
        Some(Datum::Int4(typmod)) => *typmod,
        None => -1,
        Some(_) => mistyped(arguments, at, "a typmod"),
    }
}
