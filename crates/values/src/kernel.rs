//! What computes each row of the tables of facts: kernels by the name that `pg_proc.prosrc` gives them.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::datum::Datum;
use crate::error::Result;
use crate::moment::Moment;
use crate::settings::{DateStyle, IntervalStyle};
use crate::zone::Zone;
use crate::{date, inlined, interval, template, time, timestamp, timestamptz, timetz};

/// What may end a computation early: asked now and then by those whose time their arguments do not bound.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt(pub fn() -> Result<()>);

/// Nothing ends it.
impl Default for Interrupt {
    fn default() -> Self {
        Self(|| Ok(()))
    }
}

/// What a computation may depend on besides its arguments: settings of the session. Handed down, never global.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// `TimeZone`.
    pub zone: Zone,
    /// `DateStyle`.
    pub date_style: DateStyle,
    /// `IntervalStyle`.
    pub interval_style: IntervalStyle,
    /// When the transaction began, in microseconds since 2000-01-01 00:00 UTC.
    pub transaction_time: i64,
    /// When the statement began, in microseconds since 2000-01-01 00:00 UTC.
    pub statement_time: i64,
    /// Whether a computation has asked for one of the two: what it gave holds for this statement alone.
    pub clock_was_read: Cell<bool>,
    /// Why the statement is to end, if it is.
    pub interrupt: Interrupt,
}

impl Context {
    /// When the transaction began, by the session's zone, with the offset in seconds east.
    pub(crate) fn now_here(&self) -> (Moment, i32) {
        timestamptz::local(self.transaction_began(), &self.zone)
    }

    pub(crate) fn transaction_began(&self) -> i64 {
        self.clock_was_read.set(true);
        self.transaction_time
    }

    pub(crate) fn statement_began(&self) -> i64 {
        self.clock_was_read.set(true);
        self.statement_time
    }
}

/// One computation. Strict ones are not called with NULL among their arguments (the caller answers NULL).
pub struct Kernel {
    /// As `pg_proc.prosrc` names it, for example `numeric_add`; for a function in SQL its signature, for example
    /// `integer_pl_date(integer,date)`.
    pub source: &'static str,
    /// Computes the result from the arguments.
    ///
    /// # Panics
    /// When the number or the types of the arguments are not those that the tables of facts give.
    pub compute: fn(&Context, &[Datum]) -> Result<Datum>,
}

/// All kernels, module by module.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    let modules: [&'static [&'static [Kernel]]; 19] = [
        crate::boolean::KERNELS,
        crate::int::KERNELS,
        crate::float::KERNELS,
        crate::numeric::KERNELS,
        crate::text::KERNELS,
        crate::regexp::KERNELS,
        crate::hash::KERNELS,
        crate::uuid::KERNELS,
        crate::oid::KERNELS,
        crate::size::KERNELS,
        crate::bytea::KERNELS,
        &date::KERNELS,
        &time::KERNELS,
        &timetz::KERNELS,
        &timestamp::KERNELS,
        &timestamptz::KERNELS,
        &interval::KERNELS,
        &template::KERNELS,
        &inlined::KERNELS,
    ];
    modules.into_iter().flatten().flat_map(|list| list.iter())
}

/// The kernel that `pg_proc.prosrc` calls `source`, if there is one.
pub fn kernel(source: &str) -> Option<&'static Kernel> {
    static BY_SOURCE: LazyLock<HashMap<&'static str, &'static Kernel>> =
        LazyLock::new(|| kernels().map(|kernel| (kernel.source, kernel)).collect());
    BY_SOURCE.get(source).copied()
}

/// A row of a module's table.
pub(crate) const fn entry(
    source: &'static str,
    compute: fn(&Context, &[Datum]) -> Result<Datum>,
) -> Kernel {
    Kernel { source, compute }
}

/// What a kernel returns where there may be no answer.
pub(crate) fn or_null<T>(value: Option<T>, datum: impl FnOnce(T) -> Datum) -> Datum {
    value.map_or(Datum::Null, datum)
}
