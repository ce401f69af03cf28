//! The rows of one answer, undecoded: a driver looks at few of the values that it fetches.

/// What the bytes of a column mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Big-endian integer of 2, 4 or 8 bytes.
    Integer,
    /// Big-endian float of 4 or 8 bytes.
    Float,
    /// Characters.
    Text,
    /// Big-endian days since 2000-01-01.
    Date,
    /// PostgreSQL's binary form of `numeric`.
    Numeric,
    /// Big-endian microseconds since 2000-01-01.
    Timestamp,
    /// Anything else, compared byte by byte only.
    Opaque,
}

/// Rows of one answer; reused from call to call.
#[derive(Debug, Default)]
pub struct Rows {
    pub(super) bytes: Vec<u8>,
    /// Offset and length of each value; length -1 is NULL.
    pub(super) cells: Vec<(u32, i32)>,
    pub(super) encodings: Vec<Encoding>,
    pub(super) rows: usize,
    /// Rows that an UPDATE, INSERT or DELETE touched.
    pub(super) affected: u64,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.encodings.len()
    }

    /// Rows that an UPDATE, INSERT or DELETE touched.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.cells.clear();
        self.rows = 0;
        self.affected = 0;
    }

    pub(super) fn push(&mut self, value: Option<&[u8]>) {
        let offset = self.bytes.len() as u32;
        match value {
            None => self.cells.push((offset, -1)),
            Some(value) => {
                self.bytes.extend_from_slice(value);
                self.cells.push((offset, value.len() as i32));
            }
        }
    }

    /// The bytes of a value; `None` for NULL.
    pub fn bytes(&self, row: usize, column: usize) -> Option<&[u8]> {
        let (offset, length) = self.cells[row * self.columns() + column];
        let start = offset as usize;
        (length >= 0).then(|| &self.bytes[start..start + length as usize])
    }

    /// An integer, 0 for NULL. Panics on other types: the statement is the driver's own.
    pub fn integer(&self, row: usize, column: usize) -> i64 {
        let Some(bytes) = self.bytes(row, column) else { return 0 };
        match (self.encodings[column], bytes.len()) {
            (Encoding::Integer, 2) => i64::from(i16::from_be_bytes(array(bytes))),
            (Encoding::Integer, 4) => i64::from(i32::from_be_bytes(array(bytes))),
            (Encoding::Integer, 8) => i64::from_be_bytes(array(bytes)),
            (Encoding::Text, _) => self.text(row, column).parse().expect("an integer as text"),
            (other, _) => panic!("column {column} is no integer but {other:?}"),
        }
    }

    /// A float, 0 for NULL.
    pub fn float(&self, row: usize, column: usize) -> f64 {
        let Some(bytes) = self.bytes(row, column) else { return 0.0 };
        match (self.encodings[column], bytes.len()) {
            (Encoding::Float, 4) => f64::from(f32::from_be_bytes(array(bytes))),
            (Encoding::Float, 8) => f64::from_be_bytes(array(bytes)),
            (Encoding::Integer, _) => self.integer(row, column) as f64,
            (other, _) => panic!("column {column} is no float but {other:?}"),
        }
    }

    /// A string, empty for NULL.
    pub fn text(&self, row: usize, column: usize) -> &str {
        let bytes = self.bytes(row, column).unwrap_or_default();
        std::str::from_utf8(bytes).expect("servers send UTF-8")
    }

    /// All rows as printable values, for comparing systems: floats rounded to six digits.
    pub fn normalised(&self) -> Vec<Vec<String>> {
        (0..self.rows).map(|row| self.normalised_row(row)).collect()
    }

    fn normalised_row(&self, row: usize) -> Vec<String> {
        (0..self.columns())
            .map(|column| match (self.bytes(row, column), self.encodings[column]) {
                (None, _) => "NULL".to_owned(),
                (_, Encoding::Integer) => self.integer(row, column).to_string(),
                (_, Encoding::Float) => format!("{:.6}", self.float(row, column)),
                (_, Encoding::Text) => self.text(row, column).trim_end().to_owned(),
                (Some(bytes), Encoding::Numeric) => super::numeric::text(bytes),
                (Some(bytes), Encoding::Date) if bytes.len() == 4 => {
                    let days = i32::from_be_bytes(array(bytes));
                    crate::bookstore::date_text(days + super::postgres::EPOCH_DAYS)
                }
                (Some(bytes), Encoding::Date | Encoding::Timestamp | Encoding::Opaque) => {
                    format!("{bytes:02x?}")
                }
            })
            .collect()
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the length was matched")
}
