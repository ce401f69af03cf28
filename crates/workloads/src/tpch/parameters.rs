//! Substitution parameters: those of the validation run, and random ones (section 2.4 of the specification).

use rand::RngExt;
use rand::rngs::SmallRng;

use crate::client::Parameter;
use crate::star::vocabulary::{
    COLOURS, CONTAINERS, NATION_COUNT, Nation, REGIONS, SEGMENTS, SHIP_MODES, TYPES,
};

/// Days from 1970-01-01 to the first day of a month.
fn first_of(year: i32, month: i32) -> i32 {
    // Counted from March, so that a leap day ends a year.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let of_year = (153 * month + 2) / 5;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

/// The first day of the month that is `months` after another.
fn month_after(year: i32, month: i32, months: i32) -> i32 {
    let count = year * 12 + month - 1 + months;
    first_of(count.div_euclid(12), count.rem_euclid(12) + 1)
}

/// Builds the parameters of one query, in the order of their numbers.
#[derive(Default)]
struct List(Vec<Parameter>);

impl List {
    fn text(mut self, value: impl Into<String>) -> List {
        self.0.push(Parameter::Text(value.into()));
        self
    }

    fn integer(mut self, value: i64) -> List {
        self.0.push(Parameter::Integer(value));
        self
    }

    fn hundredths(mut self, value: i64) -> List {
        self.0.push(Parameter::Decimal { unscaled: value, scale: 2 });
        self
    }

    fn date(mut self, days: i32) -> List {
        self.0.push(Parameter::Date(days));
        self
    }

    /// A month's first day and the first day so many months later.
    fn months(self, year: i32, month: i32, months: i32) -> List {
        self.date(first_of(year, month)).date(month_after(year, month, months))
    }

    /// `l_quantity` from a value to ten more.
    fn ten_from(self, quantity: i64) -> List {
        self.hundredths(quantity * 100).hundredths((quantity + 10) * 100)
    }

    fn fraction(mut self, scale_factor: f64) -> List {
        // 0.0001 / SF, to ten digits after the point.
        let unscaled = (1_000_000.0 / scale_factor).round() as i64;
        self.0.push(Parameter::Decimal { unscaled, scale: 10 });
        self
    }
}

/// The validation run's parameters of query `number` (1 to 22).
pub(super) fn validation(number: usize, scale_factor: f64) -> Vec<Parameter> {
    let list = List::default();
    let list = match number {
        1 => list.date(first_of(1998, 12) - 90),
        2 => list.integer(15).text("%BRASS").text("EUROPE"),
        3 => list.text("BUILDING").date(first_of(1995, 3) + 14),
        4 => list.months(1993, 7, 3),
        5 => list.text("ASIA").months(1994, 1, 12),
        6 => list.months(1994, 1, 12).hundredths(5).hundredths(7).hundredths(2400),
        7 => list.text("FRANCE").text("GERMANY"),
        8 => list.text("BRAZIL").text("AMERICA").text("ECONOMY ANODIZED STEEL"),
        9 => list.text("%green%"),
        10 => list.months(1993, 10, 3),
        11 => list.text("GERMANY").fraction(scale_factor),
        12 => list.text("MAIL").text("SHIP").months(1994, 1, 12),
        13 => list.text("%special%requests%"),
        14 => list.months(1995, 9, 1),
        15 => list.months(1996, 1, 3),
        16 => [49, 14, 23, 45, 19, 3, 36, 9]
            .into_iter()
            .fold(list.text("Brand#45").text("MEDIUM POLISHED%"), List::integer),
        17 => list.text("Brand#23").text("MED BOX"),
        18 => list.hundredths(30_000),
        19 => list
            .text("Brand#12")
            .text("Brand#23")
            .text("Brand#34")
            .ten_from(1)
            .ten_from(10)
            .ten_from(20),
        20 => list.text("forest%").months(1994, 1, 12).text("CANADA"),
        21 => list.text("SAUDI ARABIA"),
        22 => ["13", "31", "23", "29", "30", "18", "17"].into_iter().fold(list, List::text),
        other => panic!("no query {other}"),
    };
    list.0
}

/// Random parameters of query `number` (1 to 22).
pub(super) fn random(number: usize, scale_factor: f64, rng: &mut SmallRng) -> Vec<Parameter> {
    let list = List::default();
    let list = match number {
        1 => list.date(first_of(1998, 12) - rng.random_range(60..=120)),
        2 => list
            .integer(rng.random_range(1..=50))
            .text(format!("%{}", one_of(TYPES[2], rng)))
            .text(one_of(&REGIONS, rng)),
        3 => list.text(one_of(&SEGMENTS, rng)).date(first_of(1995, 3) + rng.random_range(0..31)),
        4 | 15 => months_from(list, 1993 * 12..=1997 * 12 + 9, 3, rng),
        5 => list.text(one_of(&REGIONS, rng)).months(year(rng), 1, 12),
        6 => {
            let discount = rng.random_range(2..=9);
            let list = list.months(year(rng), 1, 12);
            let list = list.hundredths(discount - 1).hundredths(discount + 1);
            list.hundredths(100 * rng.random_range(24..=25))
        }
        7 => pair(list, NATION_COUNT, |number| Nation::new(number).name(), rng),
        8 => {
            let nation = nation(rng);
            let part_type = TYPES.map(|words| one_of(words, rng)).join(" ");
            list.text(nation.name()).text(nation.region()).text(part_type)
        }
        9 => list.text(format!("%{}%", one_of(&COLOURS, rng))),
        10 => months_from(list, 1993 * 12 + 1..=1995 * 12, 3, rng),
        11 => list.text(nation(rng).name()).fraction(scale_factor),
        12 => {
            let list = pair(list, SHIP_MODES.len(), |number| SHIP_MODES[number], rng);
            list.months(year(rng), 1, 12)
        }
        13 => {
            let first = one_of(&["special", "pending", "unusual", "express"], rng);
            let second = one_of(&["packages", "requests", "accounts", "deposits"], rng);
            list.text(format!("%{first}%{second}%"))
        }
        14 => months_from(list, 1993 * 12..=1997 * 12 + 11, 1, rng),
        16 => {
            let start = TYPES.map(|words| one_of(words, rng))[..2].join(" ");
            let list = list.text(brand(rng)).text(format!("{start}%"));
            distinct(8, 50, rng).into_iter().fold(list, |list, size| list.integer(size as i64 + 1))
        }
        17 => list.text(brand(rng)).text(CONTAINERS.map(|words| one_of(words, rng)).join(" ")),
        18 => list.hundredths(100 * rng.random_range(312..=315)),
        19 => {
            let list = list.text(brand(rng)).text(brand(rng)).text(brand(rng));
            let list = list.ten_from(rng.random_range(1..=10));
            list.ten_from(rng.random_range(10..=20)).ten_from(rng.random_range(20..=30))
        }
        20 => {
            let list = list.text(format!("{}%", one_of(&COLOURS, rng)));
            list.months(year(rng), 1, 12).text(nation(rng).name())
        }
        21 => list.text(nation(rng).name()),
        22 => {
            let codes = distinct(7, NATION_COUNT, rng).into_iter();
            let codes = codes.map(|number| Nation::new(number).telephone_code().to_string());
            codes.fold(list, List::text)
        }
        other => panic!("no query {other}"),
    };
    list.0
}

fn one_of<'a>(words: &[&'a str], rng: &mut SmallRng) -> &'a str {
    words[rng.random_range(0..words.len())]
}

fn year(rng: &mut SmallRng) -> i32 {
    rng.random_range(1993..=1997)
}

fn nation(rng: &mut SmallRng) -> Nation {
    Nation::new(rng.random_range(0..NATION_COUNT))
}

fn brand(rng: &mut SmallRng) -> String {
    format!("Brand#{}{}", rng.random_range(1..=5), rng.random_range(1..=5))
}

/// A month counted from year 0 in a range, and the month `length` later.
fn months_from(
    list: List,
    range: std::ops::RangeInclusive<i32>,
    length: i32,
    rng: &mut SmallRng,
) -> List {
    let month = rng.random_range(range);
    list.months(month / 12, month % 12 + 1, length)
}

/// Two different words.
fn pair(list: List, count: usize, word: fn(usize) -> &'static str, rng: &mut SmallRng) -> List {
    distinct(2, count, rng).into_iter().fold(list, |list, number| list.text(word(number)))
}

/// `count` different numbers below `end`.
fn distinct(count: usize, end: usize, rng: &mut SmallRng) -> Vec<usize> {
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let number = rng.random_range(0..end);
        if !found.contains(&number) {
            found.push(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::bookstore::date_text;

    const SEED: u64 = 13;

    fn date(parameter: &Parameter) -> String {
        match parameter {
            Parameter::Date(days) => date_text(*days),
            other => panic!("{other:?} is no date"),
        }
    }

    fn draws(number: usize) -> impl Iterator<Item = Vec<Parameter>> {
        println!("seed {SEED}");
        let mut rng = SmallRng::seed_from_u64(SEED);
        (0..2_000).map(move |_| random(number, 1.0, &mut rng))
    }

    #[test]
    fn dates_of_the_validation_run() {
        assert_eq!(date(&validation(1, 1.0)[0]), "1998-09-02");
        assert_eq!(date(&validation(3, 1.0)[1]), "1995-03-15");
        let q10: Vec<String> = validation(10, 1.0).iter().map(date).collect();
        assert_eq!(q10, ["1993-10-01", "1994-01-01"]);
        assert_eq!(date(&validation(12, 1.0)[3]), "1995-01-01");
    }

    #[test]
    fn random_dates_stay_in_their_domains() {
        let range = |number: usize, at: usize| {
            let mut dates: Vec<String> = draws(number).map(|p| date(&p[at])).collect();
            dates.sort();
            (dates[0].clone(), dates[dates.len() - 1].clone())
        };
        let expect = |low: &str, high: &str| (low.to_owned(), high.to_owned());
        assert_eq!(range(1, 0), expect("1998-08-03", "1998-10-02"));
        assert_eq!(range(3, 1), expect("1995-03-01", "1995-03-31"));
        assert_eq!(range(4, 0), expect("1993-01-01", "1997-10-01"));
        assert_eq!(range(4, 1), expect("1993-04-01", "1998-01-01"));
        assert_eq!(range(5, 1), expect("1993-01-01", "1997-01-01"));
        assert_eq!(range(10, 0), expect("1993-02-01", "1995-01-01"));
        assert_eq!(range(14, 0), expect("1993-01-01", "1997-12-01"));
    }

    #[test]
    fn what_must_differ_differs() {
        for number in [7, 12] {
            assert!(draws(number).all(|p| p[0] != p[1]), "Q{number}");
        }
        for (number, first, count) in [(16, 2, 8), (22, 0, 7)] {
            for p in draws(number) {
                let list = &p[first..first + count];
                assert!(list.iter().all(|one| list.iter().filter(|o| *o == one).count() == 1));
            }
        }
    }

    #[test]
    fn numbers_stay_in_their_domains() {
        let hundredths = |parameter: &Parameter| match parameter {
            Parameter::Decimal { unscaled, scale: 2 } => *unscaled,
            other => panic!("{other:?} has not two digits"),
        };
        for p in draws(6) {
            assert!((1..=8).contains(&hundredths(&p[2])));
            assert_eq!(hundredths(&p[3]) - hundredths(&p[2]), 2);
        }
        for p in draws(18) {
            assert!((31_200..=31_500).contains(&hundredths(&p[0])));
        }
        let fraction = Parameter::Decimal { unscaled: 100_000, scale: 10 };
        assert_eq!(validation(11, 10.0)[1], fraction);
    }
}
