//! Small updates of the fact table that change no answer: no query reads the tax. So answers stay comparable while
//! row versions come and go.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::Scale;
use super::lineorder::order_key;
use crate::client::Parameter;

/// By primary key.
pub const STATEMENT: &str =
    "UPDATE lineorder SET lo_tax = $1 WHERE lo_orderkey = $2 AND lo_linenumber = 1";

/// A random tax for the first line of a random order.
pub fn parameters(scale: Scale, rng: &mut SmallRng) -> Vec<Parameter> {
    let tax: i64 = rng.random_range(0..=8);
    vec![tax.into(), order(scale, rng).into()]
}

/// The key of a random order.
pub fn order(scale: Scale, rng: &mut SmallRng) -> i64 {
    order_key(rng.random_range(0..scale.orders()))
}
