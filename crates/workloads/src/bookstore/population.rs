//! The data, drawn row by row from a seed: every system loads the same bytes.

use std::io::Write;

use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};

use super::text::{a_string, date_text, digit_syllables, n_string, timestamp_text};

/// How large the bookstore is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Scale {
    /// Books.
    pub items: u64,
    /// Emulated browsers that the customer tables are sized for.
    pub browsers: u64,
}

/// Countries in the population.
pub const COUNTRIES: u64 = 92;

/// "Now" of the population: a fixed instant, so that equal seeds give equal bytes (2026-01-01 00:00).
pub const NOW_MICROSECONDS: i64 = 1_767_225_600_000_000;
const TODAY: i32 = (NOW_MICROSECONDS / 86_400_000_000) as i32;

/// The subjects of books.
pub const SUBJECTS: [&str; 24] = [
    "ARTS",
    "BIOGRAPHIES",
    "BUSINESS",
    "CHILDREN",
    "COMPUTERS",
    "COOKING",
    "HEALTH",
    "HISTORY",
    "HOME",
    "HUMOR",
    "LITERATURE",
    "MYSTERY",
    "NON-FICTION",
    "PARENTING",
    "POLITICS",
    "REFERENCE",
    "RELIGION",
    "ROMANCE",
    "SELF-HELP",
    "SCIENCE-NATURE",
    "SCIENCE-FICTION",
    "SPORTS",
    "YOUTH",
    "TRAVEL",
];

const BACKINGS: [&str; 5] = ["HARDBACK", "PAPERBACK", "USED", "AUDIO", "LIMITED-EDITION"];
pub(super) const SHIP_TYPES: [&str; 6] = ["AIR", "UPS", "FEDEX", "SHIP", "COURIER", "MAIL"];
const STATUSES: [&str; 4] = ["PROCESSING", "SHIPPED", "PENDING", "DENIED"];
pub(super) const CARD_TYPES: [&str; 5] = ["VISA", "MASTERCARD", "DISCOVER", "AMEX", "DINERS"];

impl Scale {
    /// 2,880 per browser.
    pub fn customers(self) -> u64 {
        2_880 * self.browsers
    }

    /// Two per customer.
    pub fn addresses(self) -> u64 {
        2 * self.customers()
    }

    /// 0.9 per customer.
    pub fn orders(self) -> u64 {
        self.customers() * 9 / 10
    }

    /// A quarter of the items.
    pub fn authors(self) -> u64 {
        self.items / 4
    }

    /// Distinct title keys: every one occurs about five times.
    pub fn title_keys(self) -> u64 {
        self.items / 5
    }

    /// Distinct author keys: every one occurs about 2.5 times.
    pub fn author_keys(self) -> u64 {
        self.items / 10
    }
}

/// Streams the rows of one table as lines of PostgreSQL's COPY text format.
pub struct TableRows {
    scale: Scale,
    table: &'static str,
    rng: SmallRng,
    next: u64,
    last: u64,
    /// Orders and their lines and card transactions are drawn together by order: this seeds each order.
    seed: u64,
}

impl TableRows {
    /// The rows of `table`. Panics on an unknown table.
    pub fn new(scale: Scale, table: &'static str, seed: u64) -> TableRows {
        let last = match table {
            "country" => COUNTRIES,
            "address" => scale.addresses(),
            "customer" => scale.customers(),
            "author" => scale.authors(),
            "item" => scale.items,
            "orders" | "order_line" | "cc_xacts" => scale.orders(),
            "shopping_cart" | "shopping_cart_line" => 0,
            other => panic!("no table {other}"),
        };
        let salt = table.bytes().fold(0u64, |h, b| h.wrapping_mul(31).wrapping_add(b.into()));
        TableRows { scale, table, rng: SmallRng::seed_from_u64(seed ^ salt), next: 1, last, seed }
    }

    /// Appends the next row (for order lines: the lines of the next order); false when there is none.
    pub fn append_next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.next > self.last {
            return false;
        }
        let (id, scale) = (self.next, self.scale);
        self.next += 1;
        let rng = &mut self.rng;
        match self.table {
            "country" => country(id, rng, out),
            "address" => address(id, rng, out),
            "customer" => customer(id, scale, rng, out),
            "author" => author(id, scale, rng, out),
            "item" => item(id, scale, rng, out),
            "orders" => order(id, &Order::draw(id, self.seed), scale, rng, out),
            "order_line" => order_lines(id, &Order::draw(id, self.seed), scale, rng, out),
            _ => card(id, &Order::draw(id, self.seed), rng, out),
        }
        true
    }
}

/// What an order's three tables have in common.
struct Order {
    date: i64,
    ship_date: i64,
    sub_total: f64,
    lines: u64,
}

impl Order {
    fn draw(id: u64, seed: u64) -> Order {
        let mut rng = SmallRng::seed_from_u64(seed.wrapping_add(id.wrapping_mul(0x9E37_79B9)));
        let date = NOW_MICROSECONDS - rng.random_range(1..=60i64) * 86_400_000_000;
        Order {
            date,
            ship_date: date + rng.random_range(0..=7i64) * 86_400_000_000,
            sub_total: cents(&mut rng, 1_000, 999_999),
            lines: rng.random_range(1..=5),
        }
    }

    fn total(&self) -> f64 {
        self.sub_total * 1.0825 + 3.0 + self.lines as f64
    }
}

/// Appends fields separated by tabs.
macro_rules! fields {
    ($out:expr, $($format:literal $(, $value:expr)*);+) => {{
        let out: &mut Vec<u8> = $out;
        $(write!(out, $format $(, $value)*).expect("a vector takes all"); out.push(b'\t');)+
    }};
}

fn end(out: &mut [u8]) {
    *out.last_mut().expect("a row has fields") = b'\n';
}

fn letters(rng: &mut impl Rng, low: usize, high: usize, out: &mut Vec<u8>) {
    a_string(rng, low, high, out);
    out.push(b'\t');
}

fn digits(rng: &mut impl Rng, low: usize, high: usize, out: &mut Vec<u8>) {
    n_string(rng, low, high, out);
    out.push(b'\t');
}

fn cents(rng: &mut impl Rng, low: u64, high: u64) -> f64 {
    rng.random_range(low..=high) as f64 / 100.0
}

fn pick<'a>(rng: &mut impl Rng, of: &[&'a str]) -> &'a str {
    of[rng.random_range(0..of.len())]
}

/// A day in the given years.
fn day(rng: &mut impl Rng, from_year: i32, to_year: i32) -> i32 {
    let first = |year: i32| (f64::from(year - 1970) * 365.2425) as i32;
    rng.random_range(first(from_year)..first(to_year + 1))
}

fn country(id: u64, rng: &mut impl Rng, out: &mut Vec<u8>) {
    fields!(out, "{id}"; "Country{id:02}"; "{:.6}", rng.random_range(0.1..150.0f64));
    fields!(out, "Currency{id:02}");
    end(out);
}

fn address(id: u64, rng: &mut impl Rng, out: &mut Vec<u8>) {
    fields!(out, "{id}");
    for (low, high) in [(15, 40), (15, 40), (4, 30), (2, 20), (5, 10)] {
        letters(rng, low, high, out);
    }
    fields!(out, "{}", rng.random_range(1..=COUNTRIES));
    end(out);
}

fn customer(id: u64, scale: Scale, rng: &mut impl Rng, out: &mut Vec<u8>) {
    let uname = digit_syllables(id, 0);
    fields!(out, "{id}"; "{uname}"; "{}", uname.to_lowercase());
    letters(rng, 8, 15, out);
    letters(rng, 8, 15, out);
    fields!(out, "{}", rng.random_range(1..=scale.addresses()));
    digits(rng, 9, 16, out);
    write!(out, "{uname}@").expect("a vector takes all");
    a_string(rng, 2, 9, out);
    out.extend_from_slice(b".com\t");
    let since = TODAY - rng.random_range(1..=730i32);
    let last_login = (since + rng.random_range(0..=60i32)).min(TODAY);
    fields!(out, "{}", date_text(since); "{}", date_text(last_login));
    let expiration = timestamp_text(NOW_MICROSECONDS + 7_200_000_000);
    fields!(out, "{}", timestamp_text(NOW_MICROSECONDS); "{expiration}");
    fields!(out, "{:.2}", cents(rng, 0, 50); "0.00"; "{:.2}", cents(rng, 0, 99_999));
    fields!(out, "{}", date_text(day(rng, 1880, 2000)));
    letters(rng, 100, 500, out);
    end(out);
}

fn author(id: u64, scale: Scale, rng: &mut impl Rng, out: &mut Vec<u8>) {
    fields!(out, "{id}");
    letters(rng, 3, 20, out);
    let keys = scale.author_keys().max(1);
    let key = if id <= keys { id } else { rng.random_range(1..=keys) };
    out.extend_from_slice(digit_syllables(key, 7).as_bytes());
    if rng.random_range(0..4) == 0 {
        a_string(rng, 1, 6, out);
    }
    out.push(b'\t');
    letters(rng, 1, 20, out);
    fields!(out, "{}", date_text(day(rng, 1800, 1990)));
    letters(rng, 125, 500, out);
    end(out);
}

/// Words of 14 to 60 characters in all, with the key at a word's end or, one time in four, spliced into a word.
fn title(key: u64, rng: &mut impl Rng, out: &mut Vec<u8>) {
    let start = out.len();
    a_string(rng, 14, 60, out);
    let length = out.len() - start;
    let blank = out[start..].iter().position(|&byte| byte == b' ');
    let at = match blank {
        Some(blank) if rng.random_range(0..4) != 0 => blank,
        _ => rng.random_range(0..=length),
    };
    let key = digit_syllables(key, 7);
    out.splice(start + at..start + at, key.bytes());
    out.push(b'\t');
}

fn item(id: u64, scale: Scale, rng: &mut impl Rng, out: &mut Vec<u8>) {
    fields!(out, "{id}");
    let keys = scale.title_keys().max(1);
    title(if id <= keys { id } else { rng.random_range(1..=keys) }, rng, out);
    let authors = scale.authors().max(1);
    let author = if id <= authors { id } else { rng.random_range(1..=authors) };
    let published = day(rng, 1930, 2000);
    fields!(out, "{author}"; "{}", date_text(published));
    letters(rng, 14, 60, out);
    fields!(out, "{}", pick(rng, &SUBJECTS));
    letters(rng, 100, 500, out);
    let mut related: Vec<u64> = Vec::with_capacity(5);
    while related.len() < 5 {
        let other = rng.random_range(1..=scale.items);
        if !related.contains(&other) {
            related.push(other);
        }
    }
    for other in related {
        fields!(out, "{other}");
    }
    let (folder, srp) = (id % 100, cents(rng, 100, 99_999));
    fields!(out, "img{folder}/thumb_{id}.gif"; "img{folder}/image_{id}.gif"; "{srp:.2}");
    fields!(out, "{:.2}", srp * (1.0 - cents(rng, 0, 50)));
    fields!(out, "{}", date_text(published + rng.random_range(1..=30i32)));
    fields!(out, "{}", rng.random_range(10..=30u32));
    letters(rng, 13, 13, out);
    fields!(out, "{}", rng.random_range(20..=9_999u32); "{}", pick(rng, &BACKINGS));
    let mut side = || cents(rng, 1, 9_999);
    fields!(out, "{:.2}x{:.2}x{:.2}", side(), side(), side());
    end(out);
}

fn order(id: u64, order: &Order, scale: Scale, rng: &mut impl Rng, out: &mut Vec<u8>) {
    fields!(out, "{id}"; "{}", rng.random_range(1..=scale.customers()));
    fields!(out, "{}", timestamp_text(order.date); "{:.2}", order.sub_total);
    fields!(out, "{:.2}", order.sub_total * 0.0825; "{:.2}", order.total());
    fields!(out, "{}", pick(rng, &SHIP_TYPES); "{}", timestamp_text(order.ship_date));
    for _ in 0..2 {
        fields!(out, "{}", rng.random_range(1..=scale.addresses()));
    }
    fields!(out, "{}", pick(rng, &STATUSES));
    end(out);
}

fn order_lines(id: u64, order: &Order, scale: Scale, rng: &mut impl Rng, out: &mut Vec<u8>) {
    for line in 1..=order.lines {
        fields!(out, "{line}"; "{id}"; "{}", rng.random_range(1..=scale.items));
        fields!(out, "{}", rng.random_range(1..=300u32); "{:.2}", cents(rng, 0, 30));
        letters(rng, 20, 100, out);
        end(out);
    }
}

fn card(id: u64, order: &Order, rng: &mut impl Rng, out: &mut Vec<u8>) {
    fields!(out, "{id}"; "{}", pick(rng, &CARD_TYPES));
    digits(rng, 16, 16, out);
    letters(rng, 14, 30, out);
    fields!(out, "{}", date_text(TODAY + rng.random_range(10..=730i32)));
    letters(rng, 15, 15, out);
    fields!(out, "{:.2}", order.total(); "{}", timestamp_text(order.ship_date));
    fields!(out, "{}", rng.random_range(1..=COUNTRIES));
    end(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bookstore::schema::TABLES;

    fn rows(table: &'static str) -> String {
        let mut rows = TableRows::new(Scale { items: 100, browsers: 1 }, table, 7);
        let mut out = Vec::new();
        while rows.append_next(&mut out) {}
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn equal_seeds_give_equal_bytes_and_whole_rows() {
        for table in TABLES {
            let first = rows(table);
            assert_eq!(first, rows(table));
            let fields = first.lines().map(|line| line.split('\t').count());
            let widths: std::collections::BTreeSet<_> = fields.collect();
            assert!(widths.len() <= 1, "{table} has rows of {widths:?} fields");
        }
    }

    #[test]
    fn every_title_key_occurs() {
        let items = rows("item");
        for key in 1..=20 {
            assert!(items.contains(&digit_syllables(key, 7)), "title key {key}");
        }
    }

    #[test]
    fn orders_and_their_lines_agree_on_numbers() {
        assert_eq!(rows("orders").lines().count(), 2_592);
        let lines = rows("order_line").lines().count();
        assert!((2_592 * 2..2_592 * 4).contains(&lines), "{lines} order lines");
    }
}
