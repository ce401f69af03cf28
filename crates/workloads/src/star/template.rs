//! The 13 queries with parameters in place of constants.
//!
//! Parameters are drawn such that a template selects about the same share of the fact table whatever is
//! drawn: windows keep the width that the specification's constants have, single years, months and weeks are
//! those in which orders are placed all year round (1998's end in August).

use rand::RngExt;
use rand::rngs::SmallRng;

use super::calendar::{Calendar, FIRST_YEAR, LAST_YEAR};
use super::geography::{CITIES_PER_NATION, NATION_COUNT, Nation, REGIONS};
use super::part::{BRANDS, MANUFACTURERS, brand_name, category_name, manufacturer_name};
use crate::client::Parameter;
use crate::query::Statement;

/// One of the 13 queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "flight and number, as in the specification")]
pub enum Template {
    Q1_1,
    Q1_2,
    Q1_3,
    Q2_1,
    Q2_2,
    Q2_3,
    Q3_1,
    Q3_2,
    Q3_3,
    Q3_4,
    Q4_1,
    Q4_2,
    Q4_3,
}

impl Template {
    /// All in order.
    pub const ALL: [Template; 13] = [
        Template::Q1_1,
        Template::Q1_2,
        Template::Q1_3,
        Template::Q2_1,
        Template::Q2_2,
        Template::Q2_3,
        Template::Q3_1,
        Template::Q3_2,
        Template::Q3_3,
        Template::Q3_4,
        Template::Q4_1,
        Template::Q4_2,
        Template::Q4_3,
    ];

    /// `Q1.1`
    pub fn name(self) -> String {
        format!("{self:?}").replace('_', ".")
    }

    /// The share of fact rows that the specification states for its constants.
    pub fn selectivity(self) -> f64 {
        let year = 1.0 / 7.0;
        let discounts = 3.0 / 11.0;
        match self {
            Template::Q1_1 => year * discounts * 0.5,
            Template::Q1_2 => year / 12.0 * discounts * 0.2,
            Template::Q1_3 => year / 52.0 * discounts * 0.2,
            Template::Q2_1 => 1.0 / 25.0 / 5.0,
            Template::Q2_2 => 1.0 / 125.0 / 5.0,
            Template::Q2_3 => 1.0 / 1000.0 / 5.0,
            Template::Q3_1 => 1.0 / 25.0 * 6.0 * year,
            Template::Q3_2 => 1.0 / 625.0 * 6.0 * year,
            Template::Q3_3 => 1.0 / 125.0 / 125.0 * 6.0 * year,
            Template::Q3_4 => 1.0 / 125.0 / 125.0 * year / 12.0,
            Template::Q4_1 => 1.0 / 25.0 * 2.0 / 5.0,
            Template::Q4_2 => 2.0 * year / 25.0 * 2.0 / 5.0,
            Template::Q4_3 => 2.0 * year / 5.0 / 25.0 / 25.0,
        }
    }

    /// Name and text.
    pub fn statement(self) -> Statement {
        let text = match self {
            Template::Q1_1 => {
                "SELECT SUM(lo_extendedprice * lo_discount) AS revenue FROM lineorder, date \
                 WHERE lo_orderdate = d_datekey AND d_year = $1 \
                 AND lo_discount BETWEEN $2 AND $3 AND lo_quantity < $4"
            }
            Template::Q1_2 => {
                "SELECT SUM(lo_extendedprice * lo_discount) AS revenue FROM lineorder, date \
                 WHERE lo_orderdate = d_datekey AND d_yearmonthnum = $1 \
                 AND lo_discount BETWEEN $2 AND $3 AND lo_quantity BETWEEN $4 AND $5"
            }
            Template::Q1_3 => {
                "SELECT SUM(lo_extendedprice * lo_discount) AS revenue FROM lineorder, date \
                 WHERE lo_orderdate = d_datekey AND d_weeknuminyear = $1 AND d_year = $2 \
                 AND lo_discount BETWEEN $3 AND $4 AND lo_quantity BETWEEN $5 AND $6"
            }
            Template::Q2_1 => {
                "SELECT SUM(lo_revenue) AS revenue, d_year, p_brand1 \
                 FROM lineorder, date, part, supplier \
                 WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey \
                 AND lo_suppkey = s_suppkey AND p_category = $1 AND s_region = $2 \
                 GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1"
            }
            Template::Q2_2 => {
                "SELECT SUM(lo_revenue) AS revenue, d_year, p_brand1 \
                 FROM lineorder, date, part, supplier \
                 WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey \
                 AND lo_suppkey = s_suppkey AND p_brand1 BETWEEN $1 AND $2 AND s_region = $3 \
                 GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1"
            }
            Template::Q2_3 => {
                "SELECT SUM(lo_revenue) AS revenue, d_year, p_brand1 \
                 FROM lineorder, date, part, supplier \
                 WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey \
                 AND lo_suppkey = s_suppkey AND p_brand1 = $1 AND s_region = $2 \
                 GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1"
            }
            Template::Q3_1 => {
                "SELECT c_nation, s_nation, d_year, SUM(lo_revenue) AS revenue \
                 FROM customer, lineorder, supplier, date \
                 WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey \
                 AND lo_orderdate = d_datekey AND c_region = $1 AND s_region = $2 \
                 AND d_year >= $3 AND d_year <= $4 \
                 GROUP BY c_nation, s_nation, d_year ORDER BY d_year ASC, revenue DESC"
            }
            Template::Q3_2 => {
                "SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue \
                 FROM customer, lineorder, supplier, date \
                 WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey \
                 AND lo_orderdate = d_datekey AND c_nation = $1 AND s_nation = $2 \
                 AND d_year >= $3 AND d_year <= $4 \
                 GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC"
            }
            Template::Q3_3 => {
                "SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue \
                 FROM customer, lineorder, supplier, date \
                 WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey \
                 AND lo_orderdate = d_datekey AND (c_city = $1 OR c_city = $2) \
                 AND (s_city = $3 OR s_city = $4) AND d_year >= $5 AND d_year <= $6 \
                 GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC"
            }
            Template::Q3_4 => {
                "SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue \
                 FROM customer, lineorder, supplier, date \
                 WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey \
                 AND lo_orderdate = d_datekey AND (c_city = $1 OR c_city = $2) \
                 AND (s_city = $3 OR s_city = $4) AND d_yearmonth = $5 \
                 GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC"
            }
            Template::Q4_1 => {
                "SELECT d_year, c_nation, SUM(lo_revenue - lo_supplycost) AS profit \
                 FROM date, customer, supplier, part, lineorder \
                 WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey \
                 AND lo_partkey = p_partkey AND lo_orderdate = d_datekey AND c_region = $1 \
                 AND s_region = $2 AND (p_mfgr = $3 OR p_mfgr = $4) \
                 GROUP BY d_year, c_nation ORDER BY d_year, c_nation"
            }
            Template::Q4_2 => {
                "SELECT d_year, s_nation, p_category, SUM(lo_revenue - lo_supplycost) AS profit \
                 FROM date, customer, supplier, part, lineorder \
                 WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey \
                 AND lo_partkey = p_partkey AND lo_orderdate = d_datekey AND c_region = $1 \
                 AND s_region = $2 AND (d_year = $3 OR d_year = $4) \
                 AND (p_mfgr = $5 OR p_mfgr = $6) \
                 GROUP BY d_year, s_nation, p_category ORDER BY d_year, s_nation, p_category"
            }
            Template::Q4_3 => {
                "SELECT d_year, s_city, p_brand1, SUM(lo_revenue - lo_supplycost) AS profit \
                 FROM date, customer, supplier, part, lineorder \
                 WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey \
                 AND lo_partkey = p_partkey AND lo_orderdate = d_datekey AND c_region = $1 \
                 AND s_nation = $2 AND (d_year = $3 OR d_year = $4) AND p_category = $5 \
                 GROUP BY d_year, s_city, p_brand1 ORDER BY d_year, s_city, p_brand1"
            }
        };
        Statement { name: self.name(), text: text.to_owned() }
    }

    /// Random parameters.
    pub fn parameters(self, rng: &mut SmallRng) -> Vec<Parameter> {
        let mut draw = Draw { rng, parameters: Vec::with_capacity(6) };
        match self {
            Template::Q1_1 => draw.busy_year().discounts().quantity_limit(),
            Template::Q1_2 => draw.month_number().discounts().quantities(),
            Template::Q1_3 => draw.week().busy_year().discounts().quantities(),
            Template::Q2_1 => draw.category().region(),
            Template::Q2_2 => draw.eight_brands().region(),
            Template::Q2_3 => draw.brand().region(),
            Template::Q3_1 => draw.region().region().six_years(),
            Template::Q3_2 => draw.nation().nation().six_years(),
            Template::Q3_3 => draw.two_cities().two_cities().six_years(),
            Template::Q3_4 => draw.two_cities().two_cities().month_name(),
            Template::Q4_1 => draw.region().region().two_manufacturers(),
            Template::Q4_2 => draw.region().region().two_years().two_manufacturers(),
            Template::Q4_3 => draw.region().nation().two_years().category(),
        };
        draw.parameters
    }
}

/// Parameters of one query, drawn in the order of their numbers.
struct Draw<'a> {
    rng: &'a mut SmallRng,
    parameters: Vec<Parameter>,
}

impl Draw<'_> {
    fn push(&mut self, value: impl Into<Parameter>) -> &mut Self {
        self.parameters.push(value.into());
        self
    }

    fn below(&mut self, count: usize) -> usize {
        self.rng.random_range(0..count)
    }

    fn window(&mut self, lowest: i64, highest: i64, width: i64) -> &mut Self {
        let low = self.rng.random_range(lowest..=highest - width + 1);
        self.push(low).push(low + width - 1)
    }

    /// A year in which orders are placed from January to December.
    fn busy_year(&mut self) -> &mut Self {
        let year = self.rng.random_range(FIRST_YEAR..LAST_YEAR);
        self.push(i64::from(year))
    }

    /// `199401`
    fn month_number(&mut self) -> &mut Self {
        let year = self.rng.random_range(FIRST_YEAR..LAST_YEAR);
        let month = self.rng.random_range(1..=12);
        self.push(i64::from(year * 100 + month))
    }

    /// `Dec1997`
    fn month_name(&mut self) -> &mut Self {
        let calendar = Calendar::new();
        // 1992 to 1997 are all but the last 365 days.
        let number = self.below(super::calendar::DAYS - 365);
        self.push(calendar.day(number).year_month())
    }

    fn week(&mut self) -> &mut Self {
        let week: i64 = self.rng.random_range(1..=52);
        self.push(week)
    }

    fn six_years(&mut self) -> &mut Self {
        self.window(FIRST_YEAR.into(), LAST_YEAR.into(), 6)
    }

    fn two_years(&mut self) -> &mut Self {
        self.window(FIRST_YEAR.into(), LAST_YEAR.into(), 2)
    }

    fn discounts(&mut self) -> &mut Self {
        self.window(0, 10, 3)
    }

    /// 24 to 26: about half of all.
    fn quantity_limit(&mut self) -> &mut Self {
        let limit: i64 = self.rng.random_range(24..=26);
        self.push(limit)
    }

    fn quantities(&mut self) -> &mut Self {
        self.window(1, 50, 10)
    }

    fn region(&mut self) -> &mut Self {
        let region = self.below(REGIONS.len());
        self.push(REGIONS[region])
    }

    fn nation(&mut self) -> &mut Self {
        let nation = self.below(NATION_COUNT);
        self.push(Nation::new(nation).name())
    }

    /// Two different cities of one nation.
    fn two_cities(&mut self) -> &mut Self {
        let nation = self.below(NATION_COUNT);
        let nation = Nation::new(nation);
        let first = self.below(CITIES_PER_NATION);
        let second = (first + 1 + self.below(CITIES_PER_NATION - 1)) % CITIES_PER_NATION;
        self.push(nation.city(first)).push(nation.city(second))
    }

    fn one_to_five(&mut self) -> u32 {
        self.rng.random_range(1..=MANUFACTURERS)
    }

    /// Two different manufacturers.
    fn two_manufacturers(&mut self) -> &mut Self {
        let first = self.one_to_five();
        let second = (first + self.rng.random_range(0..MANUFACTURERS - 1)) % MANUFACTURERS + 1;
        self.push(manufacturer_name(first)).push(manufacturer_name(second))
    }

    fn category(&mut self) -> &mut Self {
        let (manufacturer, category) = (self.one_to_five(), self.one_to_five());
        self.push(category_name(manufacturer, category))
    }

    fn brand(&mut self) -> &mut Self {
        let (manufacturer, category) = (self.one_to_five(), self.one_to_five());
        let brand = self.rng.random_range(1..=BRANDS);
        self.push(brand_name(manufacturer, category, brand))
    }

    /// The first and last of eight brands that are neighbours as strings too: of one decade with two digits.
    fn eight_brands(&mut self) -> &mut Self {
        let (manufacturer, category) = (self.one_to_five(), self.one_to_five());
        let decade = self.rng.random_range(1..BRANDS / 10);
        let first = decade * 10 + self.rng.random_range(0..=2);
        self.push(brand_name(manufacturer, category, first));
        self.push(brand_name(manufacturer, category, first + 7))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::SeedableRng;

    use super::*;

    const SEED: u64 = 11;

    fn draws(template: Template) -> impl Iterator<Item = Vec<Parameter>> {
        println!("seed {SEED}");
        let mut rng = SmallRng::seed_from_u64(SEED);
        (0..5_000).map(move |_| template.parameters(&mut rng))
    }

    fn integer(parameter: &Parameter) -> i64 {
        match parameter {
            Parameter::Integer(value) => *value,
            other => panic!("{other:?} is no integer"),
        }
    }

    fn text(parameter: &Parameter) -> &str {
        match parameter {
            Parameter::Text(value) => value,
            other => panic!("{other:?} is no text"),
        }
    }

    fn assert_window(
        low: &Parameter,
        high: &Parameter,
        domain: std::ops::RangeInclusive<i64>,
        width: i64,
    ) {
        let (low, high) = (integer(low), integer(high));
        assert!(domain.contains(&low) && domain.contains(&high), "{low}..{high}");
        assert_eq!(high - low + 1, width);
    }

    #[test]
    fn every_parameter_has_a_value() {
        for template in Template::ALL {
            let statement = template.statement();
            for parameters in draws(template) {
                let last = format!("${}", parameters.len());
                let next = format!("${}", parameters.len() + 1);
                assert!(statement.text.contains(&last), "{} {last}", statement.name);
                assert!(!statement.text.contains(&next), "{} {next}", statement.name);
            }
        }
    }

    #[test]
    fn first_flight() {
        for p in draws(Template::Q1_1) {
            assert!((1992..=1997).contains(&integer(&p[0])));
            assert_window(&p[1], &p[2], 0..=10, 3);
            assert!((24..=26).contains(&integer(&p[3])));
        }
        for p in draws(Template::Q1_2) {
            let (year, month) = (integer(&p[0]) / 100, integer(&p[0]) % 100);
            assert!((1992..=1997).contains(&year) && (1..=12).contains(&month));
            assert_window(&p[1], &p[2], 0..=10, 3);
            assert_window(&p[3], &p[4], 1..=50, 10);
        }
        for p in draws(Template::Q1_3) {
            assert!((1..=52).contains(&integer(&p[0])));
            assert!((1992..=1997).contains(&integer(&p[1])));
        }
    }

    #[test]
    fn second_flight() {
        let brands: BTreeSet<String> = (1..=5)
            .flat_map(|m| (1..=5).flat_map(move |c| (1..=40).map(move |b| brand_name(m, c, b))))
            .collect();
        for p in draws(Template::Q2_2) {
            let window = brands.range(text(&p[0]).to_owned()..=text(&p[1]).to_owned());
            assert_eq!(window.count(), 8, "{p:?}");
            assert!(REGIONS.contains(&text(&p[2])));
        }
        assert!(draws(Template::Q2_3).all(|p| brands.contains(text(&p[0]))));
        let categories: BTreeSet<String> =
            draws(Template::Q2_1).map(|p| text(&p[0]).to_owned()).collect();
        assert_eq!(categories.len(), 25);
    }

    #[test]
    fn third_flight() {
        let nations: BTreeSet<String> =
            draws(Template::Q3_2).map(|p| text(&p[1]).to_owned()).collect();
        assert_eq!(nations.len(), NATION_COUNT);
        for p in draws(Template::Q3_1) {
            assert_window(&p[2], &p[3], 1992..=1998, 6);
        }
        for p in draws(Template::Q3_3) {
            for pair in [&p[0..2], &p[2..4]] {
                assert_eq!(text(&pair[0])[..9], text(&pair[1])[..9]);
                assert_ne!(pair[0], pair[1]);
            }
        }
        let months: BTreeSet<String> =
            draws(Template::Q3_4).map(|p| text(&p[4]).to_owned()).collect();
        assert_eq!(months.len(), 72);
        assert!(months.contains("Dec1997") && !months.contains("Jan1998"));
    }

    #[test]
    fn fourth_flight() {
        for p in draws(Template::Q4_2) {
            assert_window(&p[2], &p[3], 1992..=1998, 2);
            assert_ne!(p[4], p[5]);
            for manufacturer in &p[4..6] {
                assert!(("MFGR#1"..="MFGR#5").contains(&text(manufacturer)));
            }
        }
        assert!(draws(Template::Q4_3).all(|p| REGIONS.contains(&text(&p[0])) && p.len() == 5));
    }
}
