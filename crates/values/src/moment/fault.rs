//! Why a text is no date, time or interval.

use crate::error::ValueError;

/// What is wrong with a text, before it is known of which type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not a date, time or interval at all.
    Format,
    /// A part is outside its range.
    Field,
    /// A month or day is outside its range: perhaps in another order.
    MonthOrDay,
    /// A part of an interval is outside its range.
    Interval,
    /// A zone's displacement is outside its range.
    Displacement,
    /// No zone has this name.
    Zone(String),
}

impl Fault {
    /// What the client is told of `text`, which should have been of type `type_name`.
    pub(crate) fn told(self, text: &str, type_name: &str) -> ValueError {
        let value = |state, what: &str| ValueError::new(state, format!("{what}: \"{text}\""));
        match self {
            Fault::Format => value("22007", &format!("invalid input syntax for type {type_name}")),
            Fault::Field => value("22008", "date/time field value out of range"),
            Fault::MonthOrDay => ValueError {
                hint: Some("Perhaps you need a different \"datestyle\" setting.".into()),
                ..value("22008", "date/time field value out of range")
            },
            Fault::Interval => value("22015", "interval field value out of range"),
            Fault::Displacement => value("22009", "time zone displacement out of range"),
            Fault::Zone(name) => unknown_zone(&name),
        }
    }
}

/// The error of a name that no zone has.
pub(crate) fn unknown_zone(name: &str) -> ValueError {
    ValueError::new("22023", format!("time zone \"{name}\" not recognized"))
}
