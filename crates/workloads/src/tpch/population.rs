//! dbgen's rows as pieces of COPY text.

use std::fmt::Display;
use std::io::Write;

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

use super::schema::TABLES;
use crate::dataset::{Dataset, Lines, TableDefinition};

/// About so many rows in a piece.
const PIECE: u64 = 1_000_000;

/// The eight tables at a scale factor.
pub struct Tpch {
    scale_factor: f64,
}

impl Tpch {
    /// Nothing is drawn yet.
    pub fn new(scale_factor: f64) -> Tpch {
        Tpch { scale_factor }
    }
}

struct Rows<I>(I);

impl<R: Display, I: Iterator<Item = R>> Lines for Rows<I> {
    fn append(&mut self, out: &mut Vec<u8>) -> u64 {
        let Some(row) = self.0.next() else { return 0 };
        let start = out.len();
        write!(out, "{row}").expect("a Vec takes all");
        // dbgen ends every field with a bar, and no text contains one.
        for byte in &mut out[start..] {
            if *byte == b'|' {
                *byte = b'\t';
            }
        }
        *out.last_mut().expect("a row is not empty") = b'\n';
        1
    }
}

impl Dataset for Tpch {
    fn tables(&self) -> &[TableDefinition] {
        &TABLES
    }

    fn expected_rows(&self, table: &str) -> u64 {
        let at_one = match table {
            "region" => return 5,
            "nation" => return 25,
            "supplier" => 10_000.0,
            "part" => 200_000.0,
            "partsupp" => 800_000.0,
            "customer" => 150_000.0,
            "orders" => 1_500_000.0,
            _ => 6_000_000.0,
        };
        (at_one * self.scale_factor) as u64
    }

    fn pieces(&self, table: &str) -> usize {
        self.expected_rows(table).div_ceil(PIECE).max(1) as usize
    }

    fn piece<'a>(&'a self, table: &'a str, number: usize) -> Box<dyn Lines + 'a> {
        // Its parts are counted from 1.
        let (factor, part, of) = (self.scale_factor, number as i32 + 1, self.pieces(table) as i32);
        match table {
            "region" => Box::new(Rows(RegionGenerator::new(factor, part, of).iter())),
            "nation" => Box::new(Rows(NationGenerator::new(factor, part, of).iter())),
            "supplier" => Box::new(Rows(SupplierGenerator::new(factor, part, of).iter())),
            "part" => Box::new(Rows(PartGenerator::new(factor, part, of).iter())),
            "partsupp" => Box::new(Rows(PartSuppGenerator::new(factor, part, of).iter())),
            "customer" => Box::new(Rows(CustomerGenerator::new(factor, part, of).iter())),
            "orders" => Box::new(Rows(OrderGenerator::new(factor, part, of).iter())),
            "lineitem" => Box::new(Rows(LineItemGenerator::new(factor, part, of).iter())),
            other => panic!("no table {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(data: &Tpch, table: &str) -> String {
        let mut bytes = Vec::new();
        for number in 0..data.pieces(table) {
            let mut piece = data.piece(table, number);
            while piece.append(&mut bytes) > 0 {}
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn rows_fit_their_columns_and_count() {
        let data = Tpch::new(0.01);
        for table in &TABLES {
            let text = rows(&data, table.name);
            let count = text.lines().count() as u64;
            let expected = data.expected_rows(table.name);
            assert!(count.abs_diff(expected) <= expected / 50, "{}: {count}", table.name);
            for line in text.lines() {
                assert_eq!(line.split('\t').count(), table.columns.len(), "{line}");
                assert!(!line.contains(['\\', '|']), "{line}");
            }
        }
    }

    #[test]
    fn the_first_line_is_dbgens() {
        let text = rows(&Tpch::new(0.001), "lineitem");
        let first = text.lines().next().unwrap();
        let expected = "1\t156\t4\t1\t17\t17954.55\t0.04\t0.02\tN\tO\t1996-03-13\t1996-02-12\t";
        assert!(first.starts_with(expected), "{first}");
    }
}
