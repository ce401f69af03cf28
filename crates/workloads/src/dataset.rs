//! What a set of tables looks like to whoever loads it: definitions, and rows in independent pieces.
//!
//! A generator ([`crate::star`]) implements [`Dataset`]; `bench` loads it over the wire in parallel streams or
//! writes it to files for systems that read files. Knows no system.

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// 32 bits.
    Integer,
    /// 64 bits.
    BigInteger,
    /// At most so many characters.
    Text(u16),
    /// Digits in all, digits after the point.
    Decimal(u8, u8),
    /// A day.
    Date,
}

/// A table's columns and keys.
#[derive(Clone, Copy, Debug)]
pub struct TableDefinition {
    /// Its name.
    pub name: &'static str,
    /// Names and types in order; all are NOT NULL.
    pub columns: &'static [(&'static str, ColumnType)],
    /// The columns of the primary key.
    pub primary_key: &'static [&'static str],
    /// Columns that refer to another table's primary key, and that table.
    pub foreign_keys: &'static [(&'static [&'static str], &'static str)],
}

impl TableDefinition {
    /// `CREATE TABLE` with the primary key, for PostgreSQL and SharedDB.
    pub fn create_statement(&self) -> String {
        let columns = self.columns.iter().map(|(name, column_type)| {
            let column_type = match column_type {
                ColumnType::Integer => "integer".to_owned(),
                ColumnType::BigInteger => "bigint".to_owned(),
                ColumnType::Text(length) => format!("varchar({length})"),
                ColumnType::Decimal(precision, scale) => format!("decimal({precision}, {scale})"),
                ColumnType::Date => "date".to_owned(),
            };
            format!("{name} {column_type} NOT NULL, ")
        });
        let columns: String = columns.collect();
        let key = self.primary_key.join(", ");
        format!("CREATE TABLE {} ({columns}PRIMARY KEY ({key}))", self.name)
    }

    /// `ALTER TABLE` that adds the foreign keys: after loading, when they are checked in one go.
    pub fn foreign_key_statements(&self) -> Vec<String> {
        let statement = |(columns, parent): &(&[&str], &str)| {
            let (name, columns) = (self.name, columns.join(", "));
            format!("ALTER TABLE {name} ADD FOREIGN KEY ({columns}) REFERENCES {parent}")
        };
        self.foreign_keys.iter().map(statement).collect()
    }
}

/// The rows of a piece in COPY text format.
pub trait Lines {
    /// Appends the next rows and returns how many; 0 when there are no more.
    fn append(&mut self, out: &mut Vec<u8>) -> u64;
}

/// Tables full of rows, the same bytes for everybody.
pub trait Dataset: Sync {
    /// The tables in loading order: parents first.
    fn tables(&self) -> &[TableDefinition];
    /// About how many rows a table has: for progress only.
    fn expected_rows(&self, table: &str) -> u64;
    /// Into how many pieces a table's rows are cut; each is one COPY.
    fn pieces(&self, table: &str) -> usize;
    /// The rows of a piece. Pieces can be drawn in any order and in parallel.
    fn piece<'a>(&'a self, table: &'a str, number: usize) -> Box<dyn Lines + 'a>;
}
