//! What a record says: changes of rows by id, definitions, reservations of sequences, in order.
//!
//! Rows are logged physically (which row, which values), not as statements: replay needs no evaluation and runs
//! per table in parallel.

use super::schema::{get_definition, put_definition};
use super::{Decoder, Encoder, Malformed};
use crate::types::{ColumnId, Definition, RowBlock, RowId, SequenceId, TableId, Value, ValueRef};

/// One entry of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A new row.
    Insert {
        /// The table.
        table: TableId,
        /// Its id.
        id: RowId,
        /// One value per column id.
        row: Vec<Value>,
    },
    /// New rows in bulk, with consecutive ids.
    InsertBlock {
        /// The table.
        table: TableId,
        /// The first row's id.
        first: RowId,
        /// The rows.
        block: RowBlock,
    },
    /// New values of some columns of a row.
    Update {
        /// The table.
        table: TableId,
        /// The row.
        id: RowId,
        /// Columns and their new values.
        columns: Vec<(ColumnId, Value)>,
    },
    /// The end of a row.
    Delete {
        /// The table.
        table: TableId,
        /// The row.
        id: RowId,
    },
    /// A change of a definition.
    Define(Definition),
    /// After recovery the sequence goes on from here ([`crate::storage::Sequence::set`]): values up to here may
    /// have been handed out.
    Reserve {
        /// The sequence.
        sequence: SequenceId,
        /// Its last value.
        last: i64,
        /// Whether the last value counts as handed out.
        called: bool,
    },
}

impl Encoder {
    /// A new row.
    pub fn insert(&mut self, table: TableId, id: RowId, row: &[Value]) {
        self.start(1, table, id);
        self.list(row, |to, value| to.value(value.borrow()));
    }

    /// New rows in bulk.
    pub fn insert_block(&mut self, table: TableId, first: RowId, block: &RowBlock) {
        self.start(6, table, first);
        self.block(block);
    }

    /// The columns in which `new` differs from the `old` row.
    pub fn update<'v>(
        &mut self,
        table: TableId,
        id: RowId,
        old: impl Fn(usize) -> ValueRef<'v>,
        new: &[Value],
    ) {
        self.start(2, table, id);
        let changed = |&(column, value): &(usize, &Value)| old(column) != value.borrow();
        self.unsigned(new.iter().enumerate().filter(changed).count() as u64);
        for (column, value) in new.iter().enumerate().filter(changed) {
            self.unsigned(column as u64);
            self.value(value.borrow());
        }
    }

    /// The end of a row.
    pub fn delete(&mut self, table: TableId, id: RowId) {
        self.start(3, table, id);
    }

    /// A change of a definition.
    pub fn define(&mut self, definition: &Definition) {
        self.byte(4);
        put_definition(self, definition);
    }

    /// Where a sequence goes on after recovery.
    pub fn reserve(&mut self, sequence: SequenceId, last: i64, called: bool) {
        self.byte(5);
        self.unsigned(u64::from(sequence.0));
        self.signed(last);
        self.flag(called);
    }

    fn start(&mut self, tag: u8, table: TableId, id: RowId) {
        self.byte(tag);
        self.unsigned(u64::from(table.0));
        self.unsigned(id.0);
    }
}

impl Decoder<'_> {
    /// The next entry.
    pub fn operation(&mut self) -> Result<Operation, Malformed> {
        match self.byte()? {
            1 => {
                let (table, id) = self.row_key()?;
                Ok(Operation::Insert { table, id, row: self.list(|from| from.value())? })
            }
            2 => {
                let (table, id) = self.row_key()?;
                let columns = self.list(|from| Ok((ColumnId(from.number()?), from.value()?)))?;
                Ok(Operation::Update { table, id, columns })
            }
            3 => {
                let (table, id) = self.row_key()?;
                Ok(Operation::Delete { table, id })
            }
            4 => Ok(Operation::Define(get_definition(self)?)),
            5 => Ok(Operation::Reserve {
                sequence: SequenceId(self.number()?),
                last: self.signed()?,
                called: self.flag()?,
            }),
            6 => {
                let (table, first) = self.row_key()?;
                Ok(Operation::InsertBlock { table, first, block: self.block()? })
            }
            _ => Err(Malformed),
        }
    }

    fn row_key(&mut self) -> Result<(TableId, RowId), Malformed> {
        Ok((TableId(self.number()?), RowId(self.unsigned()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_back_as_they_went() {
        let (table, id) = (TableId(3), RowId(1 << 40));
        let old = [Value::Integer(1), Value::Text("a".into())];
        let new = [Value::Integer(1), Value::Text("b".into())];
        let mut encoder = Encoder::default();
        encoder.insert(table, id, &old);
        encoder.update(table, id, |column| old[column].borrow(), &new);
        encoder.delete(table, id);
        encoder.reserve(SequenceId(2), -5, true);
        let mut decoder = Decoder::new(&encoder.bytes);
        let columns = vec![(ColumnId(1), new[1].clone())];
        let expected = [
            Operation::Insert { table, id, row: old.to_vec() },
            Operation::Update { table, id, columns },
            Operation::Delete { table, id },
            Operation::Reserve { sequence: SequenceId(2), last: -5, called: true },
        ];
        for operation in expected {
            assert_eq!(decoder.operation(), Ok(operation));
        }
        assert!(decoder.is_empty());
    }
}
