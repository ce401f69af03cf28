//! The data, each row a function of the seed and its number: any piece can be drawn by itself.

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::calendar::{Calendar, DAYS};
use super::schema::TABLES;
use super::{Scale, customer, lineorder, part, supplier};
use crate::dataset::{Dataset, Lines, TableDefinition};

/// Rows of a dimension, or orders of the fact table, in one piece: about a million lines, 90 MB.
const PIECE: u64 = 250_000;

/// The five tables at a scale.
pub struct StarSchema {
    /// How large.
    pub scale: Scale,
    seed: u64,
    calendar: Calendar,
}

impl StarSchema {
    /// Nothing is drawn yet.
    pub fn new(scale: Scale, seed: u64) -> StarSchema {
        StarSchema { scale, seed, calendar: Calendar::new() }
    }

    /// Rows of a dimension; orders of the fact table.
    fn units(&self, table: &str) -> u64 {
        match table {
            "date" => DAYS as u64,
            "customer" => self.scale.customers(),
            "supplier" => self.scale.suppliers(),
            "part" => self.scale.parts(),
            "lineorder" => self.scale.orders(),
            other => panic!("no table {other}"),
        }
    }

    fn append_unit(&self, table: &str, number: u64, out: &mut Vec<u8>) -> u64 {
        let salt = table.bytes().fold(0u64, |hash, b| hash.wrapping_mul(31).wrapping_add(b.into()));
        let mut rng = SmallRng::seed_from_u64(self.seed ^ (salt << 40) ^ number);
        let rng = &mut rng;
        match table {
            "date" => self.calendar.day(number as usize).append(out),
            "customer" => customer::append(number + 1, rng, out),
            "supplier" => supplier::append(number + 1, rng, out),
            "part" => part::append(number + 1, rng, out),
            _ => return lineorder::append(number, self.scale, &self.calendar, rng, out),
        }
        1
    }
}

struct Piece<'a> {
    data: &'a StarSchema,
    table: &'a str,
    next: u64,
    end: u64,
}

impl Lines for Piece<'_> {
    fn append(&mut self, out: &mut Vec<u8>) -> u64 {
        if self.next >= self.end {
            return 0;
        }
        self.next += 1;
        self.data.append_unit(self.table, self.next - 1, out)
    }
}

impl Dataset for StarSchema {
    fn tables(&self) -> &[TableDefinition] {
        &TABLES
    }

    fn expected_rows(&self, table: &str) -> u64 {
        let rows_per_unit = if table == "lineorder" { 4 } else { 1 };
        self.units(table) * rows_per_unit
    }

    fn pieces(&self, table: &str) -> usize {
        self.units(table).div_ceil(PIECE) as usize
    }

    fn piece<'a>(&'a self, table: &'a str, number: usize) -> Box<dyn Lines + 'a> {
        let next = number as u64 * PIECE;
        let end = (next + PIECE).min(self.units(table));
        Box::new(Piece { data: self, table, next, end })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, HashMap};

    use super::*;

    const SEED: u64 = 7;

    fn rows(factor: f64, table: &str) -> Vec<Vec<String>> {
        let data = StarSchema::new(Scale { factor }, SEED);
        let mut bytes = Vec::new();
        for number in 0..data.pieces(table) {
            let mut piece = data.piece(table, number);
            while piece.append(&mut bytes) > 0 {}
        }
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    fn column(table: &str, name: &str) -> usize {
        let table = TABLES.iter().find(|t| t.name == table).unwrap();
        table.columns.iter().position(|(column, _)| *column == name).unwrap()
    }

    fn counts(rows: &[Vec<String>], column: usize) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        rows.iter().for_each(|row| *counts.entry(row[column].as_str()).or_default() += 1);
        counts
    }

    /// Every value occurs, none more than `slack` times its even share from it.
    fn assert_even(rows: &[Vec<String>], column: usize, distinct: usize, slack: f64) {
        let counts = counts(rows, column);
        assert_eq!(counts.len(), distinct, "column {column}");
        let share = rows.len() as f64 / distinct as f64;
        for (value, &count) in &counts {
            assert!((count as f64 - share).abs() < share * slack, "{value}: {count} of {share}");
        }
    }

    #[test]
    fn rows_fit_their_columns() {
        for table in &TABLES {
            for row in rows(0.01, table.name) {
                assert_eq!(row.len(), table.columns.len(), "{}: {row:?}", table.name);
                for (value, (name, column_type)) in row.iter().zip(table.columns) {
                    match column_type {
                        crate::dataset::ColumnType::Text(most) => {
                            assert!(value.len() <= usize::from(*most), "{name}: {value}");
                        }
                        _ => assert!(value.parse::<i32>().is_ok(), "{name}: {value}"),
                    }
                }
            }
        }
    }

    #[test]
    fn keys_are_unique_and_refer() {
        let key = |rows: &[Vec<String>], column: usize| -> BTreeSet<String> {
            rows.iter().map(|row| row[column].clone()).collect()
        };
        let lines = rows(0.01, "lineorder");
        for (dimension, reference) in [
            ("date", "lo_orderdate"),
            ("date", "lo_commitdate"),
            ("customer", "lo_custkey"),
            ("supplier", "lo_suppkey"),
            ("part", "lo_partkey"),
        ] {
            let parents = rows(0.01, dimension);
            let keys = key(&parents, 0);
            assert_eq!(keys.len(), parents.len(), "{dimension}");
            assert!(key(&lines, column("lineorder", reference)).is_subset(&keys), "{reference}");
        }
        let distinct: BTreeSet<_> = lines.iter().map(|row| (&row[0], &row[1])).collect();
        assert_eq!(distinct.len(), lines.len());
    }

    #[test]
    fn distributions() {
        let customers = rows(1.0, "customer");
        assert_even(&customers, column("customer", "c_region"), 5, 0.1);
        assert_even(&customers, column("customer", "c_nation"), 25, 0.15);
        assert_even(&customers, column("customer", "c_city"), 250, 0.5);
        let parts = rows(0.5, "part");
        assert_even(&parts, column("part", "p_mfgr"), 5, 0.1);
        assert_even(&parts, column("part", "p_category"), 25, 0.1);
        assert_even(&parts, column("part", "p_brand1"), 1_000, 0.6);
        let lines = rows(0.02, "lineorder");
        assert_even(&lines, column("lineorder", "lo_discount"), 11, 0.1);
        assert_even(&lines, column("lineorder", "lo_quantity"), 50, 0.15);
        assert_even(&lines, column("lineorder", "lo_tax"), 9, 0.1);
        assert_even(&lines, column("lineorder", "lo_shipmode"), 7, 0.1);
    }

    #[test]
    fn orders_have_one_to_seven_lines_with_consistent_amounts() {
        let lines = rows(0.01, "lineorder");
        let field = |row: &[String], name| row[column("lineorder", name)].parse::<i64>().unwrap();
        let mut orders: HashMap<i64, (usize, i64)> = HashMap::new();
        for row in &lines {
            let (price, discount) = (field(row, "lo_extendedprice"), field(row, "lo_discount"));
            let revenue = field(row, "lo_revenue");
            assert_eq!(revenue, price * (100 - discount) / 100);
            let unit = price / field(row, "lo_quantity");
            assert_eq!(unit, price_of(field(row, "lo_partkey")));
            assert_eq!(field(row, "lo_supplycost"), 6 * unit / 10);
            let order = orders.entry(field(row, "lo_orderkey")).or_default();
            order.0 += 1;
            order.1 += revenue * (100 + field(row, "lo_tax")) / 100;
        }
        assert_eq!(orders.len(), 15_000);
        assert!((55_000..65_000).contains(&lines.len()), "{} lines", lines.len());
        for row in &lines {
            let (count, total) = orders[&field(row, "lo_orderkey")];
            assert!((1..=7).contains(&count));
            assert_eq!(field(row, "lo_ordtotalprice"), total);
        }
    }

    fn price_of(part: i64) -> i64 {
        part::price_cents(part as u64)
    }

    #[test]
    fn equal_seeds_give_equal_bytes_in_any_order_of_pieces() {
        let data = StarSchema::new(Scale { factor: 0.2 }, SEED);
        assert!(data.pieces("lineorder") > 1);
        let draw = |seed, number| {
            let data = StarSchema::new(Scale { factor: 0.2 }, seed);
            let (mut bytes, mut piece) = (Vec::new(), data.piece("lineorder", number));
            (0..1_000).for_each(|_| assert!(piece.append(&mut bytes) > 0));
            bytes
        };
        let late = draw(SEED, 1);
        assert_eq!(draw(SEED, 0), draw(SEED, 0));
        assert_eq!(draw(SEED, 1), late);
        assert_ne!(draw(SEED, 0), late);
        assert_ne!(draw(SEED + 1, 1), late);
    }
}
