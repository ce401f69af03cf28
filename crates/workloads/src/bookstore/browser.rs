//! One emulated browser: what it remembers between interactions.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::Scale;
use super::population::{COUNTRIES, SUBJECTS};
use super::text::{a_string, digit_syllables, n_string, non_uniform};

/// A visitor's session.
pub struct Browser {
    /// The size of the shop.
    pub scale: Scale,
    /// Its random numbers.
    pub rng: SmallRng,
    /// Known since the session began, or since registration.
    pub customer: Option<u64>,
    /// The cart, once there is one.
    pub cart: Option<i64>,
    /// Items on the page seen last.
    pub shown: Vec<i64>,
}

impl Browser {
    /// A new visitor: four in five are returning customers.
    pub fn new(scale: Scale, seed: u64) -> Browser {
        let mut rng = SmallRng::seed_from_u64(seed);
        let customer = (rng.random_range(0..5) != 0).then(|| {
            let customers = scale.customers();
            non_uniform(&mut rng, customer_spread(customers), 1, customers)
        });
        Browser { scale, rng, customer, cart: None, shown: Vec::new() }
    }

    /// The session ends: the next visitor sits down.
    pub fn restart(&mut self) {
        *self = Browser::new(self.scale, self.rng.random());
    }

    /// A customer: the own one, or a returning one who is recognised only now.
    pub fn known_customer(&mut self) -> u64 {
        let customers = self.scale.customers();
        let spread = customer_spread(customers);
        let rng = &mut self.rng;
        *self.customer.get_or_insert_with(|| non_uniform(rng, spread, 1, customers))
    }

    /// Any item.
    pub fn any_item(&mut self) -> i64 {
        self.rng.random_range(1..=self.scale.items) as i64
    }

    /// An item of the page seen last, or any.
    pub fn shown_item(&mut self) -> i64 {
        match self.shown.len() {
            0 => self.any_item(),
            n => self.shown[self.rng.random_range(0..n)],
        }
    }

    /// A subject.
    pub fn subject(&mut self) -> &'static str {
        SUBJECTS[self.rng.random_range(0..SUBJECTS.len())]
    }

    /// `%key%` for a title search.
    pub fn title_pattern(&mut self) -> String {
        let keys = self.scale.title_keys();
        let key = non_uniform(&mut self.rng, item_spread(self.scale.items), 1, keys);
        format!("%{}%", digit_syllables(key, 7))
    }

    /// `%key%` for an author search.
    pub fn author_pattern(&mut self) -> String {
        let keys = self.scale.author_keys();
        let key = non_uniform(&mut self.rng, item_spread(self.scale.items), 1, keys);
        format!("%{}%", digit_syllables(key, 7))
    }

    /// Letters of random length.
    pub fn letters(&mut self, low: usize, high: usize) -> String {
        let mut out = Vec::with_capacity(high);
        a_string(&mut self.rng, low, high, &mut out);
        String::from_utf8(out).expect("the alphabet is ASCII")
    }

    /// Digits of random length.
    pub fn digits(&mut self, low: usize, high: usize) -> String {
        let mut out = Vec::with_capacity(high);
        n_string(&mut self.rng, low, high, &mut out);
        String::from_utf8(out).expect("digits are ASCII")
    }

    /// The name of a country.
    pub fn country(&mut self) -> String {
        format!("Country{:02}", self.rng.random_range(1..=COUNTRIES))
    }
}

/// The specification's A for item keys: 63 at 1,000 items, eightfold with each tenfold.
fn item_spread(items: u64) -> u64 {
    match items {
        0..=1_000 => 63,
        1_001..=10_000 => 511,
        10_001..=100_000 => 4_095,
        100_001..=1_000_000 => 32_767,
        _ => 524_287,
    }
}

/// The specification's A for customer ids.
fn customer_spread(customers: u64) -> u64 {
    match customers {
        0..10_000 => 1_023,
        10_000..40_000 => 4_095,
        40_000..160_000 => 16_383,
        160_000..640_000 => 65_535,
        640_000..2_560_000 => 262_143,
        _ => 1_048_575,
    }
}
