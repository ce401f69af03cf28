//! The published answers at scale factor 1.

use tpchgen::q_and_a::QueryAndAnswer;

/// What rounding to two digits may change.
const ROUNDING: f64 = 0.005_01;
/// Ratios are valid within one percent (clause 2.1.3.5 of the specification). Only that of query 17 needs it: a seventh of a
/// sum of whole cents is 348406.05, where 348406.02 is published.
const RATIO: f64 = 0.01;

/// The rows that the specification's authors publish for query `number` (1 to 22), amounts rounded to two digits.
pub fn answer(number: usize) -> Vec<Vec<String>> {
    let published = QueryAndAnswer::new(number as i32, 1.0).expect("22 queries at scale factor 1");
    let lines = published.answer().lines().filter(|line| !line.trim().is_empty());
    // The first line is the heading.
    let rows =
        lines.skip(1).map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect());
    rows.collect()
}

/// What is not as published, in words; row by row in the order of the answer.
pub fn difference(number: usize, rows: &[Vec<String>]) -> Option<String> {
    let expected = answer(number);
    if expected.len() != rows.len() {
        return Some(format!("{} rows, published are {}", rows.len(), expected.len()));
    }
    let mut pairs = rows.iter().zip(&expected);
    let equal = |row: &[String], published: &[String]| match number {
        // The copy of the answers that we have cuts its keys to four characters.
        11 => row[0].starts_with(&published[0]) && equal(&row[1..], &published[1..], |_| ROUNDING),
        17 => equal(row, published, |published| published.abs() * RATIO),
        _ => equal(row, published, |_| ROUNDING),
    };
    let (row, published) = pairs.find(|(row, published)| !equal(row, published))?;
    Some(format!("{row:?}, published is {published:?}"))
}

/// `tolerance` of a published number.
fn equal(row: &[String], published: &[String], tolerance: impl Fn(f64) -> f64) -> bool {
    row.len() == published.len()
        && row.iter().zip(published).all(|(cell, published)| {
            let numbers = (cell.parse::<f64>(), published.parse::<f64>());
            match numbers {
                (Ok(a), Ok(b)) => (a - b).abs() <= tolerance(b),
                _ => cell.trim() == published,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_there() {
        let rows: Vec<usize> = (1..=22).map(|number| answer(number).len()).collect();
        let expected =
            [4, 100, 10, 5, 5, 1, 4, 2, 175, 20, 1048, 2, 42, 1, 1, 18314, 1, 57, 1, 186, 100, 7];
        assert_eq!(rows, expected);
    }

    #[test]
    fn differences_are_found() {
        let mut rows = answer(6);
        assert_eq!(rows, [["123141078.23"]]);
        rows[0][0] = "123141078.2283".to_owned();
        assert_eq!(difference(6, &rows), None);
        rows[0][0] = "123141078.30".to_owned();
        assert!(difference(6, &rows).is_some());
        assert!(difference(6, &[]).is_some());
        assert_eq!(difference(17, &[vec!["348406.0542857143".to_owned()]]), None);
        assert!(difference(17, &[vec!["352000".to_owned()]]).is_some());
    }
}
