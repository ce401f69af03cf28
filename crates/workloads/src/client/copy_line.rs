//! Rows in the text format of COPY, written without formatting machinery: generators write millions of them.

/// One row being written; [`CopyLine::end`] finishes it. Texts must hold no tab, newline or backslash.
pub struct CopyLine<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> CopyLine<'a> {
    /// Starts a row at the end of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> CopyLine<'a> {
        CopyLine { out }
    }

    /// Adds an integer.
    pub fn integer(self, value: i64) -> CopyLine<'a> {
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.out.push(b'\t');
        self
    }

    /// Adds a text.
    pub fn text(self, value: &str) -> CopyLine<'a> {
        debug_assert!(!value.contains(['\t', '\n', '\\']), "{value:?} needs escapes");
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(b'\t');
        self
    }

    /// Adds 0 or 1.
    pub fn flag(self, value: bool) -> CopyLine<'a> {
        self.integer(i64::from(value))
    }

    /// Ends the row.
    pub fn end(self) {
        let last = self.out.last_mut().expect("a row has at least one field");
        *last = b'\n';
    }
}

#[cfg(test)]
mod tests {
    use super::CopyLine;

    #[test]
    fn fields_are_separated_and_rows_end() {
        let mut out = Vec::new();
        CopyLine::new(&mut out).integer(-17).text("a b").flag(true).end();
        CopyLine::new(&mut out).integer(0).integer(i64::MIN).integer(i64::MAX).end();
        let expected = format!("-17\ta b\t1\n0\t{}\t{}\n", i64::MIN, i64::MAX);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
