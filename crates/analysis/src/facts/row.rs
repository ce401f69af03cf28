//! Fields of a row of a table of facts.

use std::str::FromStr;

/// The fields of a line, one after another.
pub(super) struct Row {
    line: &'static str,
    fields: std::str::Split<'static, char>,
}

impl Row {
    /// The next field.
    ///
    /// # Panics
    /// When there is none, here and below: the tables are part of the program.
    pub fn text(&mut self) -> &'static str {
        let line = self.line;
        self.fields.next().unwrap_or_else(|| panic!("a field is missing: {line}"))
    }

    /// A number.
    pub fn number<T: FromStr>(&mut self) -> T {
        let text = self.text();
        text.parse().unwrap_or_else(|_| panic!("no number: {text} in {}", self.line))
    }

    /// `t` or `f`.
    pub fn flag(&mut self) -> bool {
        self.text() == "t"
    }

    /// A letter; a space where there is none.
    pub fn letter(&mut self) -> char {
        self.text().chars().next().unwrap_or(' ')
    }

    /// Numbers with spaces between them.
    pub fn numbers<T: FromStr>(&mut self) -> Vec<T> {
        let line = self.line;
        let number =
            |text: &str| text.parse().unwrap_or_else(|_| panic!("no number: {text} in {line}"));
        self.text().split_ascii_whitespace().map(number).collect()
    }

    /// Words with a space between them, which may be empty.
    pub fn words(&mut self) -> Vec<&'static str> {
        let text = self.text();
        if text.is_empty() { Vec::new() } else { text.split(' ').collect() }
    }
}

/// All rows of a table.
pub(super) fn read<T>(table: &'static str, row: impl Fn(&mut Row) -> T) -> Vec<T> {
    table.lines().map(|line| row(&mut Row { line, fields: line.split('\t') })).collect()
}
