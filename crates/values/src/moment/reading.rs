//! Dates, times and timestamps from their fields.

use super::date_part::RunTogether;
use super::fields::{Field, FieldKind, split};
use super::words::{Unit, Word, word};
use super::{Fault, Moment, clock, read_offset};
use crate::calendar::{civil, days_in_month, julian_day};
use crate::kernel::Context;
use crate::zone::{Abbreviation, Zone, abbreviation};

/// Which parts have been read, a bit each. A part that is read twice is a fault.
pub(super) mod seen {
    pub(in crate::moment) const MONTH: u32 = 1;
    pub(in crate::moment) const YEAR: u32 = 1 << 1;
    pub(in crate::moment) const DAY: u32 = 1 << 2;
    pub(in crate::moment) const DATE: u32 = YEAR | MONTH | DAY;
    pub(in crate::moment) const HOUR: u32 = 1 << 3;
    pub(in crate::moment) const MINUTE: u32 = 1 << 4;
    pub(in crate::moment) const SECOND: u32 = 1 << 5;
    pub(in crate::moment) const SUBSECOND: u32 = 1 << 6;
    pub(in crate::moment) const SECONDS: u32 = SECOND | SUBSECOND;
    pub(in crate::moment) const TIME: u32 = HOUR | MINUTE | SECONDS;
    pub(in crate::moment) const ZONE: u32 = 1 << 7;
    pub(in crate::moment) const DAYLIGHT_ZONE: u32 = 1 << 8;
    pub(in crate::moment) const CHANGING_ZONE: u32 = 1 << 9;
    /// `dst` after a zone.
    pub(in crate::moment) const DAYLIGHT: u32 = 1 << 10;
    pub(in crate::moment) const DAY_OF_YEAR: u32 = 1 << 11;
    pub(in crate::moment) const WEEKDAY: u32 = 1 << 12;
    pub(in crate::moment) const HALF: u32 = 1 << 13;
    pub(in crate::moment) const ERA: u32 = 1 << 14;
    /// A word that stands for a whole timestamp.
    pub(in crate::moment) const SPECIAL: u32 = 1 << 15;
}

/// What a text stands for by a word alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Epoch,
    Infinity,
    MinusInfinity,
}

/// What has been read: by its parts with an offset in seconds east, or by a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Moment(Moment, i32),
    Special(Special),
}

/// What the next number was announced to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Unit(Unit),
    /// By `t`.
    Time,
}

/// What has been read so far.
pub(super) struct Reading<'c> {
    pub(super) context: &'c Context,
    pub(super) moment: Moment,
    pub(super) seen: u32,
    pub(super) offset: i32,
    pub(super) day_of_year: i32,
    pub(super) is_two_digits: bool,
    pub(super) is_julian: bool,
    is_bc: bool,
    is_pm: Option<bool>,
    has_text_month: bool,
    label: Option<Label>,
    /// By the last word that stands for a date or timestamp.
    special: Option<Special>,
    zone: Option<Zone>,
    changing: Option<(String, Zone)>,
    /// Whether a time of day alone is wanted.
    is_time_wanted: bool,
}

/// A date, perhaps with a time and a zone; without a zone the session's holds.
pub(crate) fn read_moment(context: &Context, text: &str) -> Result<Read, Fault> {
    let fields = split(text)?;
    let mut reading = Reading::new(context, false);
    for at in 0..fields.len() {
        reading.field(&fields, at)?;
    }
    reading.finish_moment()
}

/// A time of day and its offset; without a zone the session's holds, as of the date that is given, or today.
pub(crate) fn read_time_of_day(context: &Context, text: &str) -> Result<(Moment, i32), Fault> {
    let mut fields = split(text)?;
    let mut reading = Reading::new(context, true);
    for at in 0..fields.len() {
        if let Some(kind) = reading.field(&fields, at)? {
            fields[at].kind = kind;
        }
    }
    reading.finish_time()
}

impl<'c> Reading<'c> {
    fn new(context: &'c Context, is_time_wanted: bool) -> Self {
        Self {
            context,
            moment: Moment::default(),
            seen: 0,
            offset: 0,
            day_of_year: 0,
            is_two_digits: false,
            is_julian: false,
            is_bc: false,
            is_pm: None,
            has_text_month: false,
            label: None,
            special: None,
            zone: None,
            changing: None,
            is_time_wanted,
        }
    }

    /// Reads a field; what it turned out to be, if that is not what it looked like.
    fn field(&mut self, fields: &[Field], at: usize) -> Result<Option<FieldKind>, Fault> {
        let field = &fields[at];
        let mut kind = None;
        let found = match field.kind {
            FieldKind::Date => self.date_field(fields, at, &mut kind)?,
            FieldKind::Time => self.time_field(&field.text)?,
            FieldKind::Offset => {
                self.offset = read_offset(&field.text)?;
                seen::ZONE
            }
            FieldKind::Number => match self.label.take() {
                Some(label) => {
                    self.special = None;
                    self.labelled(label, &field.text)?
                }
                None => self.number_field(fields, at, &mut kind)?,
            },
            FieldKind::Word | FieldKind::Signed => match self.word_field(fields, at)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        if found & self.seen != 0 {
            return Err(Fault::Format);
        }
        self.seen |= found;
        Ok(kind)
    }

    fn has(&self, parts: u32) -> bool {
        self.seen & parts == parts
    }

    fn date_field(
        &mut self,
        fields: &[Field],
        at: usize,
        kind: &mut Option<FieldKind>,
    ) -> Result<u32, Fault> {
        let text = &fields[at].text;
        if self.is_time_wanted {
            let is_first = at == 0 && fields.len() >= 2;
            let last = &fields[fields.len() - 1];
            if is_first && (last.kind == FieldKind::Date || fields[1].kind == FieldKind::Time) {
                return self.date(text);
            }
            let is_digit = text.starts_with(|c: char| c.is_ascii_digit());
            *kind = Some(FieldKind::Offset);
            return if is_digit { self.time_with_offset(text, kind) } else { self.named(text) };
        }
        if self.label == Some(Label::Unit(Unit::Julian)) {
            self.label = None;
            return self.julian_with_offset(text);
        }
        if self.label.is_none() && !self.has(seen::MONTH | seen::DAY) {
            return self.date(text);
        }
        if self.label.is_none() && !text.starts_with(|c: char| c.is_ascii_digit()) {
            return self.named(text);
        }
        match self.label.take() {
            None | Some(Label::Time) => self.time_with_offset(text, kind),
            Some(Label::Unit(_)) => Err(Fault::Format),
        }
    }

    /// `hhmmss-zz`.
    fn time_with_offset(&mut self, text: &str, kind: &mut Option<FieldKind>) -> Result<u32, Fault> {
        if self.has(seen::TIME) {
            return Err(Fault::Format);
        }
        let (time, _) = text.split_once('-').ok_or(Fault::Format)?;
        self.offset = read_offset(&text[time.len()..])?;
        let known = if self.is_time_wanted { self.seen | seen::DATE } else { self.seen };
        let (as_what, found) = self.run_together(time, known)?;
        *kind = Some(as_what.into());
        Ok(found | seen::ZONE)
    }

    fn named(&mut self, text: &str) -> Result<u32, Fault> {
        let zone = Zone::named(text).ok_or_else(|| Fault::Zone(text.to_owned()))?;
        self.zone = Some(zone);
        Ok(seen::ZONE)
    }

    fn time_field(&mut self, text: &str) -> Result<u32, Fault> {
        if !self.is_time_wanted && self.label.take().is_some_and(|label| label != Label::Time) {
            return Err(Fault::Format);
        }
        let (hours, minute, second, micros) = clock(text, false)?;
        let hour = i32::try_from(hours).map_err(|_| Fault::Field)?;
        self.moment = Moment { hour, minute, second, micros, ..self.moment };
        if !self.is_time_wanted && self.moment.is_time_outside() {
            return Err(Fault::Field);
        }
        Ok(seen::TIME)
    }

    fn number_field(
        &mut self,
        fields: &[Field],
        at: usize,
        kind: &mut Option<FieldKind>,
    ) -> Result<u32, Fault> {
        let text = &fields[at].text;
        let point = text.find('.');
        if self.is_time_wanted {
            let last = &fields[fields.len() - 1];
            if point.is_some() && at == 0 && fields.len() >= 2 && last.kind == FieldKind::Date {
                return self.date(text);
            }
            if point.is_some_and(|point| point <= 2) {
                return Err(Fault::Format);
            }
            let known = self.seen | seen::DATE;
            if point.is_none() && text.len() <= 4 {
                return self.number(text, false, known);
            }
            let (as_what, found) = self.run_together(text, known)?;
            *kind = Some(as_what.into());
            return Ok(found);
        }
        if point.is_some() && self.seen & seen::DATE == 0 {
            return self.date(text);
        }
        let is_open = !self.has(seen::DATE) || !self.has(seen::TIME);
        let is_long = match point {
            Some(point) => point > 2,
            None => text.len() >= 6 && is_open,
        };
        if is_long {
            return Ok(self.run_together(text, self.seen)?.1);
        }
        self.number(text, self.has_text_month, self.seen)
    }
}

impl From<RunTogether> for FieldKind {
    fn from(what: RunTogether) -> Self {
        match what {
            RunTogether::Date => FieldKind::Date,
            RunTogether::Time => FieldKind::Time,
        }
    }
}

impl Reading<'_> {
    /// A word: which parts it tells; `None` for what says nothing.
    fn word_field(&mut self, fields: &[Field], at: usize) -> Result<Option<u32>, Fault> {
        let text = &fields[at].text;
        if let Some(zone) = abbreviation(text) {
            return Ok(Some(self.abbreviated(text, zone)));
        }
        let Some(word) = word(text) else {
            let zone = Zone::named(text).ok_or(Fault::Format)?;
            self.zone = Some(zone);
            return Ok(Some(seen::ZONE));
        };
        Ok(Some(match word {
            Word::Ignored => return Ok(None),
            Word::IsPm(is_pm) => {
                self.is_pm = Some(is_pm);
                seen::HALF
            }
            Word::IsBc(is_bc) => {
                self.is_bc = is_bc;
                seen::ERA
            }
            Word::Daylight => {
                self.offset += 3600;
                seen::DAYLIGHT
            }
            Word::Unit(unit) => {
                self.label = Some(Label::Unit(unit));
                0
            }
            Word::TimeFollows => self.time_follows(fields.get(at + 1))?,
            Word::Midnight => {
                let Moment { year, month, day, .. } = self.moment;
                self.moment = Moment { year, month, day, ..Moment::default() };
                (self.offset, self.special) = (0, None);
                seen::TIME | seen::ZONE
            }
            Word::Now => self.now(),
            _ if self.is_time_wanted => return Err(Fault::Format),
            Word::Today => self.day(0),
            Word::Tomorrow => self.day(1),
            Word::Yesterday => self.day(-1),
            Word::Epoch => self.stands_for(Special::Epoch),
            Word::Infinity => self.stands_for(Special::Infinity),
            Word::MinusInfinity => self.stands_for(Special::MinusInfinity),
            Word::Month(month) => self.month(month),
            Word::Weekday => seen::WEEKDAY,
        }))
    }

    fn abbreviated(&mut self, text: &str, zone: Abbreviation) -> u32 {
        match zone {
            Abbreviation::Fixed { seconds, is_dst } => {
                self.offset = seconds;
                seen::ZONE | if is_dst { seen::DAYLIGHT_ZONE } else { 0 }
            }
            Abbreviation::Of(zone) => {
                self.changing = Some((text.to_owned(), zone));
                seen::ZONE | seen::CHANGING_ZONE
            }
        }
    }

    fn time_follows(&mut self, next: Option<&Field>) -> Result<u32, Fault> {
        let is_sensible = self.is_time_wanted || self.has(seen::DATE);
        let kinds = [FieldKind::Number, FieldKind::Time, FieldKind::Date];
        if !is_sensible || !next.is_some_and(|next| kinds.contains(&next.kind)) {
            return Err(Fault::Format);
        }
        self.label = Some(Label::Time);
        Ok(0)
    }

    fn now(&mut self) -> u32 {
        let (now, offset) = self.context.now_here();
        if self.is_time_wanted {
            let Moment { year, month, day, .. } = self.moment;
            self.moment = Moment { year, month, day, ..now };
            return seen::TIME;
        }
        (self.moment, self.offset, self.special) = (now, offset, None);
        seen::DATE | seen::TIME | seen::ZONE
    }

    fn day(&mut self, later: i64) -> u32 {
        let (year, month, day) = civil(self.context.now_here().0.julian_day() + later);
        self.moment = Moment { year, month, day, ..self.moment };
        self.special = None;
        seen::DATE
    }

    fn stands_for(&mut self, special: Special) -> u32 {
        self.special = Some(special);
        seen::SPECIAL
    }

    fn month(&mut self, month: i32) -> u32 {
        let is_day = self.has(seen::MONTH)
            && !self.has_text_month
            && !self.has(seen::DAY)
            && (1..=31).contains(&self.moment.month);
        self.has_text_month = true;
        let before = std::mem::replace(&mut self.moment.month, month);
        if is_day {
            self.moment.day = before;
            return seen::DAY;
        }
        seen::MONTH
    }

    /// Checks and completes the date, then the hour by AM or PM.
    fn complete(&mut self) -> Result<(), Fault> {
        self.complete_year()?;
        let moment = &mut self.moment;
        if self.seen & seen::DAY_OF_YEAR != 0 {
            let day = julian_day(moment.year, 1, 1) + i64::from(self.day_of_year) - 1;
            (moment.year, moment.month, moment.day) = civil(day);
        }
        if self.seen & seen::MONTH != 0 && !(1..=12).contains(&moment.month)
            || self.seen & seen::DAY != 0 && !(1..=31).contains(&moment.day)
        {
            return Err(Fault::MonthOrDay);
        }
        if self.seen & seen::DATE == seen::DATE
            && moment.day > days_in_month(moment.year, moment.month)
        {
            return Err(Fault::Field);
        }
        match self.is_pm {
            Some(_) if moment.hour > 12 => return Err(Fault::Field),
            Some(false) if moment.hour == 12 => moment.hour = 0,
            Some(true) if moment.hour != 12 => moment.hour += 12,
            _ => {}
        }
        Ok(())
    }

    fn complete_year(&mut self) -> Result<(), Fault> {
        if self.seen & seen::YEAR == 0 || self.is_julian {
            return Ok(());
        }
        let year = &mut self.moment.year;
        match (*year, self.is_bc, self.is_two_digits) {
            // There is no year 0 beside AD and BC.
            (..=0, true, _) | (..=0, false, false) | (..0, false, true) => {
                return Err(Fault::Field);
            }
            (_, true, _) => *year = 1 - *year,
            (..70, false, true) => *year += 2000,
            (70..100, false, true) => *year += 1900,
            _ => {}
        }
        Ok(())
    }

    fn finish_moment(mut self) -> Result<Read, Fault> {
        self.complete()?;
        if let Some(special) = self.special {
            return Ok(Read::Special(special));
        }
        if !self.has(seen::DATE) {
            return Err(Fault::Format);
        }
        let moment = self.moment;
        self.settle_zone(|_| Ok(moment))?;
        Ok(Read::Moment(self.moment, self.offset))
    }

    fn finish_time(mut self) -> Result<(Moment, i32), Fault> {
        self.complete()?;
        if self.moment.is_time_outside() {
            return Err(Fault::Field);
        }
        if !self.has(seen::TIME) {
            return Err(Fault::Format);
        }
        if let Some(offset) = self.zone.as_ref().and_then(Zone::only_offset) {
            if self.has(seen::DAYLIGHT) {
                return Err(Fault::Format);
            }
            self.offset = offset;
            return Ok((self.moment, self.offset));
        }
        self.settle_zone(Self::moment_of_time)?;
        Ok((self.moment, self.offset))
    }

    /// The time of day on the date that is given, or today; a zone by name wants a date.
    fn moment_of_time(&self) -> Result<Moment, Fault> {
        let date = match self.seen & seen::DATE {
            seen::DATE => self.moment,
            0 if self.zone.is_none() => self.context.now_here().0,
            _ => return Err(Fault::Format),
        };
        let Moment { year, month, day, .. } = date;
        Ok(Moment { year, month, day, ..self.moment })
    }

    /// Finds the offset where a zone was named, or none was.
    fn settle_zone(&mut self, when: impl Fn(&Self) -> Result<Moment, Fault>) -> Result<(), Fault> {
        if self.zone.is_none() && self.changing.is_none() && self.has(seen::ZONE) {
            return Ok(());
        }
        if self.has(seen::DAYLIGHT) {
            return Err(Fault::Format);
        }
        let seconds = when(self)?.local_seconds();
        self.offset = match (&self.zone, &self.changing) {
            (Some(zone), _) => seconds.map_or(0, |seconds| zone.offset_at_local(seconds)),
            (None, Some((word, zone))) => {
                seconds.map_or(0, |seconds| zone.abbreviation_at_local(word, seconds).0)
            }
            (None, None) => seconds.map_or(0, |at| self.context.zone.offset_at_local(at)),
        };
        Ok(())
    }
}
