//! Instants as local times of the session's zone, and local times as the instants that they mean there.

use engine::types::{DataType, Result, Value};
use values::timestamptz;
use values::zone::Zone;

use super::datetime::{
    days_since_1970, micros_since_1970, micros_since_2000, of_values, timestamp_of,
};
use super::zone::session_zone;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// An instant for what wants a local time, or the other way, in another zone than UTC; any other value as it is.
pub fn localized(value: Value, wanted: DataType) -> Result<Value> {
    let zone = session_zone();
    let Some(zone) = zone.elsewhere() else { return Ok(value) };
    match (value, wanted) {
        (Value::TimestampTz(micros), DataType::Timestamp) => {
            micros_since_1970(local(micros, zone)?).map(Value::Timestamp)
        }
        (Value::TimestampTz(micros), DataType::Date) => day(micros, zone).map(Value::Date),
        (Value::Timestamp(micros), DataType::TimestampTz) => instant(micros, zone),
        (Value::Date(days), DataType::TimestampTz) => instant(timestamp_of(days)?, zone),
        (value, _) => Ok(value),
    }
}

/// Counted from 2000.
fn local(micros: i64, zone: &Zone) -> Result<i64> {
    timestamptz::to_local(micros_since_2000(micros), zone).map_err(of_values)
}

fn day(micros: i64, zone: &Zone) -> Result<i32> {
    Ok(match micros {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        _ => days_since_1970(local(micros, zone)?.div_euclid(MICROS_PER_DAY) as i32),
    })
}

fn instant(micros: i64, zone: &Zone) -> Result<Value> {
    let instant = timestamptz::of_local(micros_since_2000(micros), zone).map_err(of_values)?;
    micros_since_1970(instant).map(Value::TimestampTz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{SessionZone, in_zone, parse_value};

    fn moved(name: &str, text: &str, from: DataType, to: DataType) -> String {
        let zone = SessionZone::named(name).expect("a zone");
        in_zone(&zone, || {
            let value = localized(parse_value(text, from).expect(text), to).expect(text);
            let mut shown = Vec::new();
            crate::text::write_value_in(&zone, value.borrow(), &mut shown);
            String::from_utf8(shown).expect("text")
        })
    }

    #[test]
    fn instants_and_local_times_are_those_of_the_zone() {
        use DataType::{Date, Timestamp, TimestampTz};
        let tokyo = |text, from, to| moved("Asia/Tokyo", text, from, to);
        assert_eq!(tokyo("2024-07-01 20:00Z", TimestampTz, Timestamp), "2024-07-02 05:00:00");
        assert_eq!(tokyo("2024-07-01 20:00Z", TimestampTz, Date), "2024-07-02");
        assert_eq!(tokyo("2024-07-01", Date, TimestampTz), "2024-07-01 00:00:00+09");
        assert_eq!(tokyo("infinity", Timestamp, TimestampTz), "infinity");
        let brussels = |text| moved("Europe/Brussels", text, Timestamp, TimestampTz);
        assert_eq!(brussels("2024-03-31 02:30"), "2024-03-31 03:30:00+02", "skipped");
        assert_eq!(brussels("2024-10-27 02:30"), "2024-10-27 02:30:00+01", "there twice");
        assert_eq!(moved("UTC", "2024-07-01", Date, TimestampTz), "2024-07-01");
    }
}
