//! Sessions' settings under which everything is compared.

use values::kernel::Context;
use values::settings::{DateFormat, DateOrder, DateStyle, IntervalStyle};
use values::zone::Zone;

/// Settings as SQL says them, and as a context has them.
pub struct Settings {
    pub zone: &'static str,
    date_style: (&'static str, DateFormat, DateOrder),
    interval_style: (&'static str, IntervalStyle),
}

/// What the gate compares under.
pub const ALL: [Settings; 5] = [
    Settings {
        zone: "UTC",
        date_style: ("ISO, MDY", DateFormat::Iso, DateOrder::Mdy),
        interval_style: ("postgres", IntervalStyle::Postgres),
    },
    Settings {
        zone: "America/New_York",
        date_style: ("Postgres, DMY", DateFormat::Postgres, DateOrder::Dmy),
        interval_style: ("postgres_verbose", IntervalStyle::PostgresVerbose),
    },
    Settings {
        zone: "Australia/Lord_Howe",
        date_style: ("German, YMD", DateFormat::German, DateOrder::Ymd),
        interval_style: ("sql_standard", IntervalStyle::SqlStandard),
    },
    Settings {
        zone: "Asia/Kolkata",
        date_style: ("SQL, MDY", DateFormat::Sql, DateOrder::Mdy),
        interval_style: ("iso_8601", IntervalStyle::Iso8601),
    },
    Settings {
        zone: "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
        date_style: ("SQL, DMY", DateFormat::Sql, DateOrder::Dmy),
        interval_style: ("sql_standard", IntervalStyle::SqlStandard),
    },
];

impl Settings {
    /// Statements that set them.
    pub fn sql(&self) -> String {
        format!(
            "SET TimeZone = '{}'; SET DateStyle = '{}'; SET IntervalStyle = '{}';\n",
            self.zone, self.date_style.0, self.interval_style.0
        )
    }

    /// The context of a transaction that began at a time, in microseconds since 2000.
    pub fn context(&self, transaction_time: i64) -> Context {
        Context {
            zone: Zone::named(self.zone).expect("a zone"),
            date_style: DateStyle { format: self.date_style.1, order: self.date_style.2 },
            interval_style: self.interval_style.1,
            transaction_time,
            statement_time: transaction_time,
            ..Context::default()
        }
    }
}
