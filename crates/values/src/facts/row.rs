//! Rows of a table of facts.

/// The fields of a row, one after another.
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

    /// A number: an OID.
    pub fn number<T: std::str::FromStr>(&mut self) -> T {
        let text = self.text();
        text.parse().unwrap_or_else(|_| panic!("no number: {text} in {}", self.line))
    }

    pub fn flag(&mut self) -> bool {
        self.text() == "t"
    }

    /// Names with spaces between them.
    pub fn names(&mut self) -> Vec<&'static str> {
        self.text().split_ascii_whitespace().collect()
    }

    /// A name, unless the field is empty or `-`.
    pub fn name(&mut self) -> Option<&'static str> {
        Some(self.text()).filter(|name| !name.is_empty() && *name != "-")
    }
}

/// All rows of a table.
pub(super) fn read<T>(table: &'static str, row: impl Fn(&mut Row) -> T) -> Vec<T> {
    table.lines().map(|line| row(&mut Row { line, fields: line.split('\t') })).collect()
}
