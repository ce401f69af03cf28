//! Canonical keys: bytes that are the same for equal values, and compare as the values do.

/// A whole number, most significant byte first, the negative ones below the others.
pub(crate) fn of_i32(number: i32) -> [u8; 4] {
    ((number as u32) ^ (1 << 31)).to_be_bytes()
}

/// As [`of_i32`].
pub(crate) fn of_i64(number: i64) -> [u8; 8] {
    ((number as u64) ^ (1 << 63)).to_be_bytes()
}

/// As [`of_i32`].
pub(crate) fn of_i128(number: i128) -> [u8; 16] {
    ((number as u128) ^ (1 << 127)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_compare_as_numbers_do() {
        let numbers = [i64::MIN, -2, -1, 0, 1, 255, 256, i64::MAX];
        assert!(numbers.is_sorted_by_key(|number| of_i64(*number)));
        assert!(numbers.is_sorted_by_key(|number| of_i128((*number).into())));
        assert!([i32::MIN, -1, 0, 1, i32::MAX].is_sorted_by_key(|number| of_i32(*number)));
    }

    #[test]
    fn equal_intervals_have_one_key() {
        let span = |months, days, micros| crate::interval::Interval { months, days, micros };
        let day = crate::calendar::DAY;
        let keys = [span(1, 0, 0), span(0, 30, 0), span(0, 0, 30 * day), span(1, -30, 30 * day)]
            .map(|span| crate::interval::to_key(&span));
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert!(crate::interval::to_key(&span(0, 30, 1)) > keys[0]);
    }

    #[test]
    fn times_with_zones_are_ordered_by_instant_then_zone() {
        let time =
            |hours: i64, west| crate::timetz::TimeTz { time: hours * crate::calendar::HOUR, west };
        let (east, utc) = (time(13, -3600), time(12, 0));
        assert!(east < utc);
        assert!(crate::timetz::to_key(east) < crate::timetz::to_key(utc));
    }
}
