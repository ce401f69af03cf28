//! Answers and invariants afterwards.

use super::interaction::Effects;
use super::statements::{ALL, Statement};
use super::{Browser, Scale};
use crate::client::{Client, Parameter, Result};

/// Counts of the tables that orders grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Rows of `orders`.
    pub orders: i64,
    /// Rows of `order_line`.
    pub order_lines: i64,
    /// Rows of `cc_xacts`.
    pub cards: i64,
    /// Rows of `customer`.
    pub customers: i64,
}

/// Counts them.
pub fn counts(client: &mut dyn Client) -> Result<Counts> {
    let mut count = |table: &str| -> Result<i64> {
        let statement = client.prepare(&format!("SELECT COUNT(*) FROM {table}"))?;
        Ok(client.execute(statement, &[])?.integer(0, 0))
    };
    Ok(Counts {
        orders: count("orders")?,
        order_lines: count("order_line")?,
        cards: count("cc_xacts")?,
        customers: count("customer")?,
    })
}

/// What rows say of the commits that browsers were told of, in words; nothing when they agree. Of `in_doubt` interactions, which
/// failed, any may have been committed.
pub fn unaccounted(
    before: Counts,
    after: Counts,
    effects: &Effects,
    in_doubt: u64,
) -> Option<String> {
    /// No cart has more lines.
    const MOST_LINES: u64 = 100;
    let grown = [
        ("orders", before.orders, after.orders, effects.orders, in_doubt),
        ("card transactions", before.cards, after.cards, effects.orders, in_doubt),
        ("customers", before.customers, after.customers, effects.customers, in_doubt),
        (
            "order lines",
            before.order_lines,
            after.order_lines,
            effects.order_lines,
            in_doubt * MOST_LINES,
        ),
    ];
    let wrong = grown.into_iter().find(|(_, before, after, acknowledged, in_doubt)| {
        let grown = (after - before) as u64;
        grown < *acknowledged || grown > acknowledged + in_doubt
    });
    wrong.map(|(what, before, after, acknowledged, in_doubt)| {
        let grown = after - before;
        format!(
            "{acknowledged} {what} were acknowledged and {in_doubt} in doubt, {grown} are there"
        )
    })
}

/// Queries that must find nothing, each with what a row of it would mean.
const VIOLATIONS: [(&str, &str); 6] = [
    (
        "an order without card transaction",
        "SELECT o_id FROM orders WHERE NOT EXISTS (SELECT 1 FROM cc_xacts WHERE cx_o_id = o_id) LIMIT 5",
    ),
    (
        "an order without lines",
        "SELECT o_id FROM orders WHERE NOT EXISTS \
         (SELECT 1 FROM order_line WHERE ol_o_id = o_id) LIMIT 5",
    ),
    (
        "a line without order",
        "SELECT ol_o_id FROM order_line WHERE NOT EXISTS \
         (SELECT 1 FROM orders WHERE o_id = ol_o_id) LIMIT 5",
    ),
    (
        "a card transaction whose amount is not its order's total",
        "SELECT o_id FROM orders JOIN cc_xacts ON cx_o_id = o_id \
         WHERE ABS(cx_xact_amt - o_total) > 0.011 LIMIT 5",
    ),
    (
        "a stock that should have been refilled",
        "SELECT i_id FROM item WHERE i_stock < -300 LIMIT 5",
    ),
    (
        "a cart line without cart",
        "SELECT scl_sc_id FROM shopping_cart_line WHERE NOT EXISTS \
         (SELECT 1 FROM shopping_cart WHERE sc_id = scl_sc_id) LIMIT 5",
    ),
];

/// Returns what is wrong, in words; nothing when all is well.
pub fn violations(client: &mut dyn Client) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (what, query) in VIOLATIONS {
        let statement = client.prepare(query)?;
        let rows = client.execute(statement, &[])?;
        if !rows.is_empty() {
            found.push(format!("{what}: {:?}", rows.normalised()));
        }
    }
    Ok(found)
}

/// Read statements that are compared between systems, with a drawer of parameters.
type Draw = fn(&mut Browser) -> Vec<Parameter>;
const COMPARED: [(Statement, Draw); 16] = [
    (Statement::Promotion, |b| vec![b.any_item().into()]),
    (Statement::CustomerName, |b| vec![(b.known_customer() as i64).into()]),
    (Statement::NewProducts, |b| vec![b.subject().into()]),
    (Statement::BestSellers, |b| vec![b.subject().into()]),
    (Statement::BestSellersWindow, |b| {
        use rand::RngExt;
        let window: i64 = b.rng.random_range(1_000..4_000);
        vec![window.into(), b.subject().into()]
    }),
    (Statement::ProductDetail, |b| vec![b.any_item().into()]),
    (Statement::SearchSubject, |b| vec![b.subject().into()]),
    (Statement::SearchTitle, |b| vec![b.title_pattern().into()]),
    (Statement::SearchAuthor, |b| vec![b.author_pattern().into()]),
    (Statement::UserName, |b| vec![(b.known_customer() as i64).into()]),
    (Statement::CustomerByName, |b| vec![user_name(b)]),
    (Statement::CountryByName, |b| vec![b.country().into()]),
    (Statement::Discount, |b| vec![(b.known_customer() as i64).into()]),
    (Statement::NewestOrder, |b| vec![user_name(b)]),
    (Statement::OrderLines, |b| vec![order(b)]),
    (Statement::BoughtTogether, |b| vec![b.any_item().into()]),
];

fn user_name(browser: &mut Browser) -> Parameter {
    super::text::digit_syllables(browser.known_customer(), 0).into()
}

fn order(browser: &mut Browser) -> Parameter {
    use rand::RngExt;
    let orders = browser.scale.orders();
    (browser.rng.random_range(1..=orders) as i64).into()
}

/// Runs `draws` activations of every compared statement on both systems, which hold equal data, and returns the
/// differences, row by row. Titles and ids end every sort order, so that LIMIT cuts alike everywhere.
pub fn differences(
    left: &mut dyn Client,
    right: &mut dyn Client,
    scale: Scale,
    draws: usize,
    seed: u64,
) -> Result<Vec<String>> {
    let mut browser = Browser::new(scale, seed);
    let mut found = Vec::new();
    for (statement, draw) in COMPARED {
        let text = ALL[statement as usize].1;
        let (a, b) = (left.prepare(text)?, right.prepare(text)?);
        for _ in 0..draws {
            let parameters = draw(&mut browser);
            let mut one = left.execute(a, &parameters)?.normalised();
            let mut other = right.execute(b, &parameters)?.normalised();
            one.sort();
            other.sort();
            if one != other {
                let sizes = format!("{} rows against {}", one.len(), other.len());
                found.push(format!("{statement:?} {parameters:?}: {sizes}"));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledged_order_that_is_not_there_is_told() {
        let before = Counts { orders: 10, order_lines: 30, cards: 10, customers: 5 };
        let after = Counts { orders: 12, order_lines: 35, cards: 12, customers: 5 };
        let effects = |orders, order_lines| Effects { orders, order_lines, ..Effects::default() };
        assert_eq!(unaccounted(before, after, &effects(2, 5), 0), None);
        assert_eq!(unaccounted(before, after, &effects(1, 3), 1), None);
        let lost = unaccounted(before, after, &effects(3, 7), 1);
        assert_eq!(lost.unwrap(), "3 orders were acknowledged and 1 in doubt, 2 are there");
        assert!(unaccounted(before, after, &effects(1, 3), 0).is_some(), "nobody ordered it");
    }
}
