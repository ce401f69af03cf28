//! Time zones: IANA's by name, POSIX's by rule, fixed offsets, and abbreviations.
//!
//! An offset is in seconds east of Greenwich (local time less UTC). A local time in a gap takes the offset before the gap; one in a fold
//! takes the offset after it.

mod abbreviation;
mod posix;
mod rules;

use std::sync::{Arc, LazyLock};

use jiff::tz::{TimeZone, TimeZoneDatabase};

pub use abbreviation::{Abbreviation, abbreviation};

/// Names longer than this are unknown.
const LONGEST_NAME: usize = 255;

/// The bundled database; it keeps what it has once read.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A time zone with its name.
#[derive(Clone, Debug)]
pub struct Zone {
    name: Arc<str>,
    rules: Rules,
}

#[derive(Clone, Debug)]
enum Rules {
    /// Seconds east, with an abbreviation.
    Fixed(i32, Arc<str>),
    /// By the database; or by a POSIX rule, whose names of standard and daylight time are beside it.
    Changing(TimeZone, Option<Arc<[String; 2]>>),
}

/// What holds in a zone at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offset {
    /// East of Greenwich.
    pub seconds: i32,
    /// Whether it is daylight saving time.
    pub is_dst: bool,
    /// As `EST` or `-03`.
    pub abbreviation: String,
}

impl Default for Zone {
    fn default() -> Self {
        Self { name: "GMT".into(), rules: Rules::Fixed(0, "GMT".into()) }
    }
}

impl Zone {
    /// The zone that a name or a POSIX rule means, in letters of any case.
    pub fn named(name: &str) -> Option<Zone> {
        if name.is_empty() || name.len() > LONGEST_NAME {
            return None;
        }
        if name.eq_ignore_ascii_case("gmt") {
            return Some(Zone::default());
        }
        match DATABASE.get(name) {
            Ok(zone) if !zone.is_unknown() => {
                let name = zone.iana_name().unwrap_or(name).into();
                Some(Zone { name, rules: Rules::Changing(zone, None) })
            }
            _ => posix::parse(&name.to_ascii_uppercase()),
        }
    }

    /// A zone of one offset, in seconds east, named as `SET TIME ZONE INTERVAL` names it.
    pub fn fixed(seconds: i32) -> Zone {
        let absolute = seconds.unsigned_abs();
        let shown = match (absolute / 3600, absolute / 60 % 60, absolute % 60) {
            (hours, 0, 0) => format!("{hours:02}"),
            (hours, minutes, 0) => format!("{hours:02}:{minutes:02}"),
            (hours, minutes, seconds) => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        };
        let (sign, opposite) = if seconds < 0 { ('-', '+') } else { ('+', '-') };
        let abbreviation = format!("{sign}{shown}");
        let name = format!("<{abbreviation}>{opposite}{shown}").into();
        Zone { name, rules: Rules::Fixed(seconds, abbreviation.into()) }
    }

    /// As `SHOW TimeZone` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }
}
