//! Abbreviations of zones that input takes: PostgreSQL's set `Default`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Zone;

/// What an abbreviation stands for.
#[derive(Clone, Debug)]
pub enum Abbreviation {
    /// Always the same offset.
    Fixed {
        /// East of Greenwich.
        seconds: i32,
        /// Whether it is daylight saving time.
        is_dst: bool,
    },
    /// The offset that a zone gave this abbreviation at the time in question.
    Of(Zone),
}

/// Name, then seconds or a zone's name, then `D` for daylight saving time; tabs between.
const TABLE: &str = include_str!("abbreviations.tsv");

/// Words are compared by this many characters.
const COMPARED: usize = 10;

static BY_NAME: LazyLock<HashMap<String, (&'static str, bool)>> = LazyLock::new(|| {
    let rows = TABLE.lines().map(|line| {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        (next().to_ascii_lowercase(), (next(), next() == "D"))
    });
    rows.collect()
});

/// What a word in lower case abbreviates.
pub fn abbreviation(word: &str) -> Option<Abbreviation> {
    let (value, is_dst) = *BY_NAME.get(word.get(..COMPARED).unwrap_or(word))?;
    Some(match value.parse() {
        Ok(seconds) => Abbreviation::Fixed { seconds, is_dst },
        Err(_) => Abbreviation::Of(Zone::named(value).expect("the table names known zones")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_known() {
        for name in BY_NAME.keys() {
            assert!(abbreviation(name).is_some(), "{name}");
        }
        assert!(matches!(
            abbreviation("edt"),
            Some(Abbreviation::Fixed { seconds: -14400, is_dst: true })
        ));
        assert!(matches!(abbreviation("msk"), Some(Abbreviation::Of(_))));
    }
}
