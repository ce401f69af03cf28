//! Roman numbers.

const ONES: [&str; 9] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"];
const TENS: [&str; 9] = ["X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"];
const HUNDREDS: [&str; 9] = ["C", "CC", "CCC", "CD", "D", "DC", "DCC", "DCCC", "CM"];
/// How wide the widest is: MMMDCCCLXXXVIII.
pub(super) const WIDTH: usize = 15;

/// A number from 1 to 3999; for others, what shows that it has none.
pub(super) fn roman(number: i32) -> String {
    if !(1..=3999).contains(&number) {
        return "#".repeat(WIDTH);
    }
    let number = number as usize;
    let digit = |names: &[&'static str; 9], digit: usize| match digit {
        0 => "",
        digit => names[digit - 1],
    };
    let thousands = "M".repeat(number / 1000);
    let (hundreds, tens) = (digit(&HUNDREDS, number / 100 % 10), digit(&TENS, number / 10 % 10));
    [&thousands, hundreds, tens, digit(&ONES, number % 10)].concat()
}
