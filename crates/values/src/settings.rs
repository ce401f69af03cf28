//! Settings of a session that texts of dates, times and intervals depend on.

/// What `DateStyle` says of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateFormat {
    /// `1997-12-17 07:37:16-08`
    #[default]
    Iso,
    /// `12/17/1997 07:37:16.00 PST`
    Sql,
    /// `Wed Dec 17 07:37:16 1997 PST`
    Postgres,
    /// `17.12.1997 07:37:16.00 PST`
    German,
}

/// What `DateStyle` says of the order of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

/// `DateStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateStyle {
    /// How dates are written.
    pub format: DateFormat,
    /// How dates in numbers are read, and written where the format allows both.
    pub order: DateOrder,
}

/// `IntervalStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 year 2 mons -3 days +04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 -3 +4:05:06`
    SqlStandard,
    /// `P1Y2M-3DT4H5M6S`
    Iso8601,
}
