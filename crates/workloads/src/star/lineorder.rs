//! The fact table: orders of one to seven lines.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::Scale;
use super::calendar::{Calendar, DAYS};
use super::part::price_cents;
use crate::client::CopyLine;

const PRIORITIES: [&str; 5] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECI", "5-LOW"];

pub(crate) const SHIP_MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];

/// The last orders are placed 151 days before the calendar's end, so that all their dates are in it.
const ORDER_DAYS: usize = DAYS - 151;

/// Days from order to commitment.
const COMMIT_DAYS: std::ops::RangeInclusive<usize> = 30..=90;

const MOST_LINES: usize = 7;

#[derive(Clone, Copy, Default)]
struct Line {
    part: i64,
    supplier: i64,
    quantity: i64,
    /// Cents.
    extended_price: i64,
    /// Per cent.
    discount: i64,
    /// Per cent.
    tax: i64,
    commit_day: usize,
    ship_mode: usize,
}

impl Line {
    fn draw(scale: Scale, order_day: usize, rng: &mut SmallRng) -> Line {
        let part = rng.random_range(1..=scale.parts());
        let quantity = rng.random_range(1..=50);
        Line {
            part: part as i64,
            supplier: rng.random_range(1..=scale.suppliers()) as i64,
            quantity,
            extended_price: quantity * price_cents(part),
            discount: rng.random_range(0..=10),
            tax: rng.random_range(0..=8),
            commit_day: order_day + rng.random_range(COMMIT_DAYS),
            ship_mode: rng.random_range(0..SHIP_MODES.len()),
        }
    }

    fn revenue(&self) -> i64 {
        self.extended_price * (100 - self.discount) / 100
    }

    /// 60 % of the price of one piece.
    fn supply_cost(&self) -> i64 {
        6 * (self.extended_price / self.quantity) / 10
    }
}

/// The key of the order with a number from 0: of every 32 keys the first eight are used.
pub(super) fn order_key(number: u64) -> i64 {
    ((number / 8) * 32 + number % 8 + 1) as i64
}

/// Appends the lines of one order and returns how many.
pub(super) fn append(
    number: u64,
    scale: Scale,
    calendar: &Calendar,
    rng: &mut SmallRng,
    out: &mut Vec<u8>,
) -> u64 {
    let customer = rng.random_range(1..=scale.customers()) as i64;
    let order_day = rng.random_range(0..ORDER_DAYS);
    let priority = PRIORITIES[rng.random_range(0..PRIORITIES.len())];
    let mut lines = [Line::default(); MOST_LINES];
    let lines = &mut lines[..rng.random_range(1..=MOST_LINES)];
    lines.iter_mut().for_each(|line| *line = Line::draw(scale, order_day, rng));
    let total: i64 = lines.iter().map(|line| line.revenue() * (100 + line.tax) / 100).sum();
    for (index, line) in lines.iter().enumerate() {
        CopyLine::new(out)
            .integer(order_key(number))
            .integer(index as i64 + 1)
            .integer(customer)
            .integer(line.part)
            .integer(line.supplier)
            .integer(calendar.day(order_day).key().into())
            .text(priority)
            .text("0")
            .integer(line.quantity)
            .integer(line.extended_price)
            .integer(total)
            .integer(line.discount)
            .integer(line.revenue())
            .integer(line.supply_cost())
            .integer(line.tax)
            .integer(calendar.day(line.commit_day).key().into())
            .text(SHIP_MODES[line.ship_mode])
            .end();
    }
    lines.len() as u64
}
