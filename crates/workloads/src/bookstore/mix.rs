//! The shares of the interactions in each mix: the stationary distribution of the published transition matrices.

use rand::{Rng, RngExt};

use super::Interaction;

/// Which kind of visitors come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// 95 % browsing, 5 % ordering.
    Browsing,
    /// 80 % browsing, 20 % ordering.
    Shopping,
    /// 50 % browsing, 50 % ordering.
    Ordering,
}

use Interaction::*;

/// Hundredths of a percent for Browsing, Shopping and Ordering.
const SHARES: [(Interaction, [u32; 3]); 14] = [
    (Home, [2_900, 1_600, 912]),
    (NewProducts, [1_100, 500, 46]),
    (BestSellers, [1_100, 500, 46]),
    (ProductDetail, [2_100, 1_700, 1_235]),
    (SearchRequest, [1_200, 2_000, 1_453]),
    (SearchResults, [1_100, 1_700, 1_308]),
    (ShoppingCart, [200, 1_160, 1_353]),
    (CustomerRegistration, [82, 300, 1_286]),
    (BuyRequest, [75, 260, 1_273]),
    (BuyConfirm, [69, 120, 1_018]),
    (OrderInquiry, [30, 75, 25]),
    (OrderDisplay, [25, 66, 22]),
    (AdminRequest, [10, 10, 12]),
    (AdminConfirm, [9, 9, 11]),
];

/// The pages that browsers ask for.
#[derive(Clone, Copy, Debug)]
pub enum Pages {
    /// Those of a mix.
    Of(Mix),
    /// One of them, again and again.
    Only(Interaction),
}

impl Pages {
    /// Draws the next interaction.
    pub fn draw(self, rng: &mut impl Rng) -> Interaction {
        match self {
            Pages::Of(mix) => mix.draw(rng),
            Pages::Only(interaction) => interaction,
        }
    }
}

impl Mix {
    /// Draws the next interaction.
    pub fn draw(self, rng: &mut impl Rng) -> Interaction {
        let mut left = rng.random_range(0..10_000u32);
        for (interaction, shares) in SHARES {
            match left.checked_sub(shares[self as usize]) {
                Some(rest) => left = rest,
                None => return interaction,
            }
        }
        unreachable!("shares sum to 10,000")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_to_one() {
        for mix in 0..3 {
            assert_eq!(SHARES.iter().map(|(_, shares)| shares[mix]).sum::<u32>(), 10_000);
        }
    }
}
