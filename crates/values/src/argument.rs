//! How a kernel's function takes its arguments out of datums, and how its result becomes one.

use crate::datum::Datum;
use crate::error::Result;
use crate::numeric::Numeric;
use crate::oid::Oid;
use crate::uuid::Uuid;

/// What a kernel's function takes.
pub(crate) trait Argument<'a>: Sized {
    /// The value in a datum of its type.
    ///
    /// # Panics
    /// When the datum is of another type: the tables of facts bind a kernel to the types that it takes.
    fn of(datum: &'a Datum) -> Self;
}

/// What a kernel's function gives when it succeeds.
pub(crate) trait Value {
    fn into_datum(self) -> Datum;
}

/// What a kernel's function gives.
pub(crate) trait Outcome {
    fn into_result(self) -> Result<Datum>;
}

impl<T: Value> Outcome for T {
    fn into_result(self) -> Result<Datum> {
        Ok(self.into_datum())
    }
}

impl<T: Value> Outcome for Result<T> {
    fn into_result(self) -> Result<Datum> {
        self.map(Value::into_datum)
    }
}

impl<T: Value> Value for Option<T> {
    fn into_datum(self) -> Datum {
        self.map_or(Datum::Null, Value::into_datum)
    }
}

/// For the arguments of kernels that are not strict.
impl<'a, T: Argument<'a>> Argument<'a> for Option<T> {
    fn of(datum: &'a Datum) -> Self {
        (!datum.is_null()).then(|| T::of(datum))
    }
}

macro_rules! copied {
    ($($rust:ty => $variant:ident),* $(,)?) => {$(
        impl<'a> Argument<'a> for $rust {
            fn of(datum: &'a Datum) -> Self {
                match datum {
                    Datum::$variant(value) => *value,
                    other => panic!("a kernel was given {other:?} for its {}", stringify!($variant)),
                }
            }
        }
        impl Value for $rust {
            fn into_datum(self) -> Datum {
                Datum::$variant(self)
            }
        }
    )*};
}

copied! { bool => Bool, i16 => Int2, i32 => Int4, i64 => Int8, f32 => Float4, f64 => Float8, Uuid => Uuid, Oid => Oid }

macro_rules! borrowed {
    ($($rust:ty => $variant:ident),* $(,)?) => {$(
        impl<'a> Argument<'a> for &'a $rust {
            fn of(datum: &'a Datum) -> Self {
                match datum {
                    Datum::$variant(value) => value,
                    other => panic!("a kernel was given {other:?} for its {}", stringify!($variant)),
                }
            }
        }
    )*};
}

borrowed! { Numeric => Numeric, str => Text, [u8] => Bytea }

impl Value for Numeric {
    fn into_datum(self) -> Datum {
        Datum::Numeric(self)
    }
}

impl Value for String {
    fn into_datum(self) -> Datum {
        Datum::Text(self.into_boxed_str())
    }
}

impl Value for &str {
    fn into_datum(self) -> Datum {
        Datum::Text(self.into())
    }
}

impl Value for Vec<u8> {
    fn into_datum(self) -> Datum {
        Datum::Bytea(self.into_boxed_slice())
    }
}

impl Value for &[u8] {
    fn into_datum(self) -> Datum {
        Datum::Bytea(self.into())
    }
}

/// A list of kernels, one a line: the name in `pg_proc.prosrc`, and the function over Rust values. Those that look at the context name
/// it before the first line.
macro_rules! kernels {
    ($($source:expr => |$($argument:ident: $type:ty),*| $body:expr;)*) => {
        $crate::argument::kernels!(_context; $($source => |$($argument: $type),*| $body;)*)
    };
    ($context:ident; $($source:expr => |$($argument:ident: $type:ty),*| $body:expr;)*) => {
        &[$($crate::kernel::Kernel {
            source: $source,
            compute: |$context, arguments| {
                let [$($argument),*] = arguments else {
                    panic!("{} was given {} arguments", $source, arguments.len())
                };
                $(let $argument = <$type as $crate::argument::Argument>::of($argument);)*
                $crate::argument::Outcome::into_result($body)
            },
        }),*]
    };
}
pub(crate) use kernels;

/// The six relations and the order of two types as kernels: what their names begin with, the name of the order, and what compares.
macro_rules! relations {
    ($prefix:expr, $order:expr, $a:ty, $b:ty, $compare:expr) => {
        $crate::argument::kernels! {
            concat!($prefix, "eq") => |a: $a, b: $b| $compare(a, b).is_eq();
            concat!($prefix, "ne") => |a: $a, b: $b| $compare(a, b).is_ne();
            concat!($prefix, "lt") => |a: $a, b: $b| $compare(a, b).is_lt();
            concat!($prefix, "le") => |a: $a, b: $b| $compare(a, b).is_le();
            concat!($prefix, "gt") => |a: $a, b: $b| $compare(a, b).is_gt();
            concat!($prefix, "ge") => |a: $a, b: $b| $compare(a, b).is_ge();
            $order => |a: $a, b: $b| $compare(a, b) as i32;
        }
    };
}
pub(crate) use relations;
