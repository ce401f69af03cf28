//! PostgreSQL's binary form of `numeric`: a sign, and digits of base 10,000 around the point.

use bytes::{BufMut, BytesMut};

const BASE: i128 = 10_000;
const NEGATIVE: u16 = 0x4000;
const NOT_A_NUMBER: u16 = 0xC000;

/// Appends `unscaled` over ten to the power `scale`.
pub(super) fn encode(unscaled: i64, scale: u8, out: &mut BytesMut) {
    // Groups after the point are whole: as many zeros as complete the last.
    let groups_after = usize::from(scale).div_ceil(4);
    let missing = (groups_after * 4 - usize::from(scale)) as u32;
    let mut rest = i128::from(unscaled).abs() * 10i128.pow(missing);
    let mut digits = Vec::new();
    while rest > 0 {
        digits.push((rest % BASE) as u16);
        rest /= BASE;
    }
    let weight = digits.len() as i16 - 1 - groups_after as i16;
    out.put_u16(digits.len() as u16);
    out.put_i16(weight);
    out.put_u16(if unscaled < 0 { NEGATIVE } else { 0 });
    out.put_u16(scale.into());
    digits.iter().rev().for_each(|&digit| out.put_u16(digit));
}

/// As text with all its digits after the point.
pub(super) fn text(bytes: &[u8]) -> String {
    let field = |at: usize| bytes.get(2 * at..2 * at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let (Some(count), Some(weight), Some(sign), Some(scale)) =
        (field(0), field(1), field(2), field(3))
    else {
        return format!("{bytes:02x?}");
    };
    if sign >= NOT_A_NUMBER {
        return "NaN".to_owned();
    }
    let (weight, scale) = (i32::from(weight as i16), usize::from(scale));
    let group = |position: i32| {
        let at = weight - position;
        let inside = (0..i32::from(count)).contains(&at);
        if inside { field(4 + at as usize).unwrap_or(0) } else { 0 }
    };
    let mut text = if sign == NEGATIVE { "-".to_owned() } else { String::new() };
    text.push_str(&group(weight.max(0)).to_string());
    (0..weight.max(0)).rev().for_each(|position| text.push_str(&format!("{:04}", group(position))));
    if scale > 0 {
        let groups =
            (1..=scale.div_ceil(4) as i32).map(|position| format!("{:04}", group(-position)));
        let fraction: String = groups.collect();
        text.push('.');
        text.push_str(&fraction[..scale]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        for (unscaled, scale, expected) in [
            (0, 0, "0"),
            (5, 2, "0.05"),
            (30_000, 2, "300.00"),
            (-123_456_789, 2, "-1234567.89"),
            (100_000, 10, "0.0000100000"),
            (10_000, 0, "10000"),
            (i64::MAX, 4, "922337203685477.5807"),
        ] {
            let mut bytes = BytesMut::new();
            encode(unscaled, scale, &mut bytes);
            assert_eq!(text(&bytes), expected);
        }
    }
}
