//! Hashes by their names in the catalog.

use super::value::{Extended, Form, Short, decimal, float, whole};
use crate::argument::kernels;
use crate::arguments::{interval, time, timestamp, timetz};
use crate::datum::Datum;
use crate::kernel::{Kernel, entry};
use crate::numeric::Numeric;
use crate::text::unpadded;
use crate::timetz::TimeTz;

pub(crate) const KERNELS: &[&[Kernel]] = &[SHORT, EXTENDED, TIMES];

const SHORT: &[Kernel] = kernels! {
    "hashint2" => |a: i16| Short.word(i32::from(a) as u32);
    "hashint4" => |a: i32| Short.word(a as u32);
    "hashint8" => |a: i64| whole(a, Short);
    "hashfloat4" => |a: f32| float(a.into(), Short);
    "hashfloat8" => |a: f64| float(a, Short);
    "hash_numeric" => |a: &Numeric| decimal(a, Short);
    "hashtext" => |a: &str| Short.bytes(a.as_bytes());
    "hashbpchar" => |a: &str| Short.bytes(unpadded(a).as_bytes());
};

const EXTENDED: &[Kernel] = kernels! {
    "hashint2extended" => |a: i16, seed: i64| Extended(seed).word(i32::from(a) as u32);
    "hashint4extended" => |a: i32, seed: i64| Extended(seed).word(a as u32);
    "hashint8extended" => |a: i64, seed: i64| whole(a, Extended(seed));
    "hashfloat4extended" => |a: f32, seed: i64| float(a.into(), Extended(seed));
    "hashfloat8extended" => |a: f64, seed: i64| float(a, Extended(seed));
    "hash_numeric_extended" => |a: &Numeric, seed: i64| decimal(a, Extended(seed));
    "hashtextextended" => |a: &str, seed: i64| Extended(seed).bytes(a.as_bytes());
    "hashbpcharextended" => |a: &str, seed: i64| Extended(seed).bytes(unpadded(a).as_bytes());
};

fn seed(arguments: &[Datum]) -> Extended {
    match arguments[1] {
        Datum::Int8(seed) => Extended(seed),
        ref other => panic!("{other:?} is no seed"),
    }
}

fn zoned(value: TimeTz) -> i32 {
    whole(value.time, Short) ^ Short.word(value.west as u32)
}

fn zoned_extended(value: TimeTz, seed: Extended) -> i64 {
    whole(value.time, seed) ^ seed.word(value.west as u32)
}

static TIMES: &[Kernel] = &[
    entry("time_hash", |_, a| Ok(Datum::Int4(whole(time(a, 0), Short)))),
    entry("timetz_hash", |_, a| Ok(Datum::Int4(zoned(timetz(a, 0))))),
    entry("timestamp_hash", |_, a| Ok(Datum::Int4(whole(timestamp(a, 0), Short)))),
    // Of its length in microseconds the lower 64 bits.
    entry("interval_hash", |_, a| Ok(Datum::Int4(whole(interval(a, 0).key() as i64, Short)))),
    entry("time_hash_extended", |_, a| Ok(Datum::Int8(whole(time(a, 0), seed(a))))),
    entry("timetz_hash_extended", |_, a| Ok(Datum::Int8(zoned_extended(timetz(a, 0), seed(a))))),
    entry("timestamp_hash_extended", |_, a| Ok(Datum::Int8(whole(timestamp(a, 0), seed(a))))),
    entry("interval_hash_extended", |_, a| {
        Ok(Datum::Int8(whole(interval(a, 0).key() as i64, seed(a))))
    }),
];
