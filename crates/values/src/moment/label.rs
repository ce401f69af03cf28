//! Numbers after a word that says what they are: `J2451187`, `y2001m02d04`, `T040506`.

use super::Fault;
use super::number::{fraction, fraction_micros, leading_i32};
use super::reading::{Label, Reading, seen};
use super::words::Unit;
use super::{Moment, read_offset};
use crate::calendar::{DAY, civil};

impl Reading<'_> {
    /// The number that `label` announced: which parts it is.
    pub(super) fn labelled(&mut self, label: Label, text: &str) -> Result<u32, Fault> {
        let (value, rest) = leading_i32(text)?;
        let may_have_fraction =
            matches!(label, Label::Time | Label::Unit(Unit::Julian | Unit::Second));
        let has_fraction = may_have_fraction && rest.starts_with('.');
        if !rest.is_empty() && !has_fraction {
            return Err(Fault::Format);
        }
        let unit = match label {
            Label::Unit(unit) => unit,
            Label::Time => {
                let (_, found) = self.run_together(text, self.seen | seen::DATE)?;
                return if found == seen::TIME { Ok(found) } else { Err(Fault::Format) };
            }
        };
        let moment = &mut self.moment;
        let (part, found) = match unit {
            Unit::Year => (&mut moment.year, seen::YEAR),
            // After a month and an hour, minutes are meant.
            Unit::Month if self.seen & seen::MONTH != 0 && self.seen & seen::HOUR != 0 => {
                (&mut moment.minute, seen::MINUTE)
            }
            Unit::Month => (&mut moment.month, seen::MONTH),
            Unit::Day => (&mut moment.day, seen::DAY),
            Unit::Hour => (&mut moment.hour, seen::HOUR),
            Unit::Minute => (&mut moment.minute, seen::MINUTE),
            Unit::Second if has_fraction => {
                moment.micros = fraction_micros(rest)?;
                (&mut moment.second, seen::SECONDS)
            }
            Unit::Second => (&mut moment.second, seen::SECOND),
            Unit::Julian => return self.julian(value, rest),
            _ => return Err(Fault::Format),
        };
        *part = value;
        Ok(found)
    }

    fn julian(&mut self, day: i32, fraction_text: &str) -> Result<u32, Fault> {
        self.set_julian(day)?;
        if fraction_text.is_empty() {
            return Ok(seen::DATE);
        }
        let time = fraction(fraction_text)? * DAY as f64;
        let Moment { year, month, day, .. } = self.moment;
        self.moment = Moment { year, month, day, ..Moment::of_time(time as i64) };
        Ok(seen::DATE | seen::TIME)
    }

    fn set_julian(&mut self, day: i32) -> Result<(), Fault> {
        if day < 0 {
            return Err(Fault::Field);
        }
        let (year, month, day) = civil(i64::from(day));
        self.moment = Moment { year, month, day, ..self.moment };
        self.is_julian = true;
        Ok(())
    }

    /// A Julian day with a zone: `J2451187+02`.
    pub(super) fn julian_with_offset(&mut self, text: &str) -> Result<u32, Fault> {
        let (day, rest) = leading_i32(text)?;
        self.set_julian(day)?;
        self.offset = read_offset(rest)?;
        Ok(seen::DATE | seen::TIME | seen::ZONE)
    }
}
