//! Rows in bulk, column by column: what COPY parses into, what the log and checkpoints carry.

use super::{DataType, NARROW_PRECISION, TableSchema, Value, ValueRef, int32, int64, scale};

/// A run of rows, column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct RowBlock {
    rows: usize,
    columns: Vec<BlockColumn>,
}

/// One column of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockColumn {
    data_type: DataType,
    values: BlockValues,
    /// One bit per row, 1 means NULL; words that are missing at the end have no NULL.
    nulls: Vec<u64>,
}

/// Values by representation. NULL positions hold zero or an empty string.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockValues {
    /// The column was dropped: every row is NULL.
    Absent,
    /// `boolean`: 0 or 1
    Boolean(Vec<u8>),
    /// `smallint`
    Int16(Vec<i16>),
    /// `integer`, `date`
    Int32(Vec<i32>),
    /// `bigint`, `timestamp`, `timestamptz`, `numeric` of precision up to 18 (unscaled)
    Int64(Vec<i64>),
    /// wider `numeric` (unscaled)
    Int128(Vec<i128>),
    /// `real`
    Float32(Vec<f32>),
    /// `double precision`
    Float64(Vec<f64>),
    /// Strings, one after the other, and where each ends.
    Text(String, Vec<u32>),
    /// `bytea`, likewise.
    Bytes(Vec<u8>, Vec<u32>),
}

impl RowBlock {
    /// No rows of a table.
    pub fn new(schema: &TableSchema) -> RowBlock {
        let columns = schema.columns.iter().map(|c| BlockColumn::new(c.data_type, c.dropped));
        RowBlock { rows: 0, columns: columns.collect() }
    }

    /// Rows of which all columns are there; `None` where the columns have other lengths.
    pub fn from_columns(rows: usize, columns: Vec<BlockColumn>) -> Option<RowBlock> {
        columns.iter().all(|column| column.fits(rows)).then_some(RowBlock { rows, columns })
    }

    /// The rows of these values, of the columns' own types.
    pub fn from_rows<R: AsRef<[Value]>>(schema: &TableSchema, rows: &[R]) -> RowBlock {
        let mut block = RowBlock::new(schema);
        for row in rows {
            assert_eq!(row.as_ref().len(), block.columns.len(), "one value per column");
            for (column, value) in block.columns.iter_mut().zip(row.as_ref()) {
                column.push(value.borrow());
            }
            block.end_row();
        }
        block
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns, by [`super::ColumnId`].
    pub fn columns(&self) -> &[BlockColumn] {
        &self.columns
    }

    /// A column, to be given the next row's value.
    #[inline]
    pub fn column_mut(&mut self, column: usize) -> &mut BlockColumn {
        &mut self.columns[column]
    }

    /// Every column was given its value of one more row.
    #[inline]
    pub fn end_row(&mut self) {
        self.rows += 1;
        debug_assert!(self.columns.iter().all(|column| column.fits(self.rows)));
    }

    /// Takes back the values of a row that was not ended.
    pub fn abandon_row(&mut self) {
        self.columns.iter_mut().for_each(|column| column.truncate(self.rows));
    }

    /// Whether these are rows of a table with this definition.
    pub fn is_of(&self, schema: &TableSchema) -> bool {
        let is_absent = |column: &BlockColumn| matches!(column.values, BlockValues::Absent);
        self.columns.len() == schema.columns.len()
            && self.columns.iter().zip(&schema.columns).all(|(own, column)| {
                own.data_type == column.data_type && is_absent(own) == column.dropped
            })
    }

    /// Bytes that strings take.
    pub fn heap(&self) -> usize {
        self.columns.iter().map(BlockColumn::heap).sum()
    }

    /// One value.
    #[inline]
    pub fn value(&self, row: usize, column: usize) -> ValueRef<'_> {
        self.columns[column].value(row)
    }

    /// The rows at these positions.
    pub fn select(&self, positions: &[usize]) -> RowBlock {
        let columns = self.columns.iter().map(|column| {
            let dropped = matches!(column.values, BlockValues::Absent);
            let mut selected = BlockColumn::new(column.data_type, dropped);
            positions.iter().for_each(|row| selected.push(column.value(*row)));
            selected
        });
        RowBlock { rows: positions.len(), columns: columns.collect() }
    }

    /// The values of a row.
    pub fn row(&self, row: usize) -> Vec<Value> {
        self.columns.iter().map(|column| column.value(row).to_owned()).collect()
    }
}

impl BlockColumn {
    /// No values.
    pub fn new(data_type: DataType, dropped: bool) -> BlockColumn {
        use BlockValues as B;
        let values = match data_type {
            _ if dropped => B::Absent,
            DataType::Boolean => B::Boolean(Vec::new()),
            DataType::SmallInt => B::Int16(Vec::new()),
            DataType::Integer | DataType::Date => B::Int32(Vec::new()),
            DataType::BigInt | DataType::Timestamp | DataType::TimestampTz => B::Int64(Vec::new()),
            DataType::Numeric { precision, .. } if precision <= NARROW_PRECISION => {
                B::Int64(Vec::new())
            }
            DataType::Numeric { .. } => B::Int128(Vec::new()),
            DataType::Real => B::Float32(Vec::new()),
            DataType::Double => B::Float64(Vec::new()),
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) => {
                B::Text(String::new(), Vec::new())
            }
            DataType::Bytea => B::Bytes(Vec::new(), Vec::new()),
        };
        BlockColumn { data_type, values, nulls: Vec::new() }
    }

    /// A column of these values; `None` where they are not represented as the type's are.
    pub fn from_values(
        data_type: DataType,
        values: BlockValues,
        nulls: Vec<u64>,
    ) -> Option<BlockColumn> {
        let dropped = matches!(values, BlockValues::Absent);
        let expected = BlockColumn::new(data_type, dropped).values;
        let alike = std::mem::discriminant(&expected) == std::mem::discriminant(&values);
        (alike && ends_are_valid(&values)).then_some(BlockColumn { data_type, values, nulls })
    }

    /// The type.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The values.
    pub fn values(&self) -> &BlockValues {
        &self.values
    }

    /// One bit per row, 1 means NULL; missing words have none.
    pub fn nulls(&self) -> &[u64] {
        &self.nulls
    }

    fn fits(&self, rows: usize) -> bool {
        matches!(self.values, BlockValues::Absent) || self.values.len() == rows
    }

    /// Whether a row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
            || matches!(self.values, BlockValues::Absent)
    }

    /// The first row that is NULL.
    pub fn first_null(&self) -> Option<usize> {
        let at = self.nulls.iter().position(|word| *word != 0)?;
        Some(at * 64 + self.nulls[at].trailing_zeros() as usize)
    }

    /// Bytes that strings take.
    pub fn heap(&self) -> usize {
        match &self.values {
            BlockValues::Text(heap, _) => heap.len(),
            BlockValues::Bytes(heap, _) => heap.len(),
            _ => 0,
        }
    }

    /// Adds a value of the column's type.
    #[inline]
    pub fn push(&mut self, value: ValueRef<'_>) {
        use BlockValues as B;
        use ValueRef as V;
        match (&mut self.values, value) {
            (B::Absent, _) => {}
            (_, V::Null) => self.push_null(),
            (B::Boolean(to), V::Boolean(v)) => to.push(u8::from(v)),
            (B::Int16(to), V::SmallInt(v)) => to.push(v),
            (B::Int32(to), V::Integer(v) | V::Date(v)) => to.push(v),
            (B::Int64(to), V::BigInt(v) | V::Timestamp(v) | V::TimestampTz(v)) => to.push(v),
            (B::Int64(to), V::Numeric(v, _)) => {
                to.push(i64::try_from(v).expect("a numeric of at most 18 digits"));
            }
            (B::Int128(to), V::Numeric(v, _)) => to.push(v),
            (B::Float32(to), V::Real(v)) => to.push(v),
            (B::Float64(to), V::Double(v)) => to.push(v),
            (B::Text(heap, ends), V::Text(v)) => {
                heap.push_str(v);
                ends.push(end_of(heap.len()));
            }
            (B::Bytes(heap, ends), V::Bytea(v)) => {
                heap.extend_from_slice(v);
                ends.push(end_of(heap.len()));
            }
            (_, other) => panic!("{other:?} is no {}", self.data_type),
        }
    }

    fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows.div_ceil(64));
        if let Some(word) = self.nulls.get_mut(rows / 64) {
            *word &= (1 << (rows % 64)) - 1;
        }
    }

    fn push_null(&mut self) {
        let row = self.values.len();
        self.nulls.resize(self.nulls.len().max(row / 64 + 1), 0);
        self.nulls[row / 64] |= 1 << (row % 64);
        self.values.push_placeholder();
    }

    /// The value of a row.
    #[inline]
    pub fn value(&self, row: usize) -> ValueRef<'_> {
        use BlockValues as B;
        if self.is_null(row) {
            return ValueRef::Null;
        }
        match &self.values {
            B::Absent => ValueRef::Null,
            B::Boolean(values) => ValueRef::Boolean(values[row] != 0),
            B::Int16(values) => ValueRef::SmallInt(values[row]),
            B::Int32(values) => int32(values[row], self.data_type),
            B::Int64(values) => int64(values[row], self.data_type),
            B::Int128(values) => ValueRef::Numeric(values[row], scale(self.data_type)),
            B::Float32(values) => ValueRef::Real(values[row]),
            B::Float64(values) => ValueRef::Double(values[row]),
            B::Text(heap, ends) => ValueRef::Text(&heap[start(ends, row)..ends[row] as usize]),
            B::Bytes(heap, ends) => ValueRef::Bytea(&heap[start(ends, row)..ends[row] as usize]),
        }
    }
}

impl BlockValues {
    fn len(&self) -> usize {
        match self {
            BlockValues::Absent => 0,
            BlockValues::Boolean(values) => values.len(),
            BlockValues::Int16(values) => values.len(),
            BlockValues::Int32(values) => values.len(),
            BlockValues::Int64(values) => values.len(),
            BlockValues::Int128(values) => values.len(),
            BlockValues::Float32(values) => values.len(),
            BlockValues::Float64(values) => values.len(),
            BlockValues::Text(_, ends) | BlockValues::Bytes(_, ends) => ends.len(),
        }
    }

    fn truncate(&mut self, rows: usize) {
        let end = |ends: &[u32]| rows.checked_sub(1).map_or(0, |last| ends[last] as usize);
        match self {
            BlockValues::Absent => {}
            BlockValues::Boolean(values) => values.truncate(rows),
            BlockValues::Int16(values) => values.truncate(rows),
            BlockValues::Int32(values) => values.truncate(rows),
            BlockValues::Int64(values) => values.truncate(rows),
            BlockValues::Int128(values) => values.truncate(rows),
            BlockValues::Float32(values) => values.truncate(rows),
            BlockValues::Float64(values) => values.truncate(rows),
            BlockValues::Text(heap, ends) => {
                heap.truncate(end(ends));
                ends.truncate(rows);
            }
            BlockValues::Bytes(heap, ends) => {
                heap.truncate(end(ends));
                ends.truncate(rows);
            }
        }
    }

    fn push_placeholder(&mut self) {
        match self {
            BlockValues::Absent => {}
            BlockValues::Boolean(values) => values.push(0),
            BlockValues::Int16(values) => values.push(0),
            BlockValues::Int32(values) => values.push(0),
            BlockValues::Int64(values) => values.push(0),
            BlockValues::Int128(values) => values.push(0),
            BlockValues::Float32(values) => values.push(0.0),
            BlockValues::Float64(values) => values.push(0.0),
            BlockValues::Text(heap, ends) => ends.push(end_of(heap.len())),
            BlockValues::Bytes(heap, ends) => ends.push(end_of(heap.len())),
        }
    }
}

#[inline]
fn start(ends: &[u32], row: usize) -> usize {
    if row == 0 { 0 } else { ends[row - 1] as usize }
}

fn end_of(length: usize) -> u32 {
    u32::try_from(length).expect("a block of at most 4 GiB")
}

/// Whether every value lies inside the heap, and strings begin and end at characters.
fn ends_are_valid(values: &BlockValues) -> bool {
    let ascending = |ends: &[u32], length: usize| {
        ends.is_sorted() && ends.last().map_or(0, |end| *end as usize) == length
    };
    match values {
        BlockValues::Text(heap, ends) => {
            ascending(ends, heap.len())
                && ends.iter().all(|end| heap.is_char_boundary(*end as usize))
        }
        BlockValues::Bytes(heap, ends) => ascending(ends, heap.len()),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(data_type: DataType, values: &[Value]) -> BlockColumn {
        let mut column = BlockColumn::new(data_type, false);
        values.iter().for_each(|value| column.push(value.borrow()));
        column
    }

    #[test]
    fn values_come_back_as_they_went() {
        let numeric = |precision| DataType::Numeric { precision, scale: 2 };
        let columns = [
            (DataType::Boolean, Value::Boolean(true)),
            (DataType::SmallInt, Value::SmallInt(-3)),
            (DataType::Date, Value::Date(7)),
            (DataType::TimestampTz, Value::TimestampTz(-1)),
            (numeric(18), Value::Numeric(-12_345, 2)),
            (numeric(38), Value::Numeric(i128::MAX, 2)),
            (DataType::Real, Value::Real(0.5)),
            (DataType::Double, Value::Double(1e300)),
            (DataType::Varchar(9), Value::Text("äö".into())),
            (DataType::Bytea, Value::Bytea([0, 255].as_slice().into())),
        ];
        for (data_type, value) in columns {
            let values = [value.clone(), Value::Null, value];
            let column = column(data_type, &values);
            let found: Vec<Value> = (0..3).map(|row| column.value(row).to_owned()).collect();
            assert_eq!(found, values);
            assert_eq!(column.first_null(), Some(1));
        }
    }

    #[test]
    fn an_abandoned_row_leaves_no_trace() {
        let values = [Value::Null, Value::Text("ab".into())];
        let whole = column(DataType::Text, &values);
        let mut block = RowBlock::from_columns(2, vec![whole.clone()]).expect("two rows");
        for more in [Value::Null, Value::Text("cd".into())] {
            block.column_mut(0).push(more.borrow());
            block.abandon_row();
            assert_eq!(block.columns(), std::slice::from_ref(&whole));
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let ends = |ends: Vec<u32>| BlockValues::Text("äb".to_owned(), ends);
        let text = |values| BlockColumn::from_values(DataType::Text, values, Vec::new());
        assert!(text(ends(vec![2, 3])).is_some());
        assert!(text(ends(vec![1, 3])).is_none(), "inside a character");
        assert!(text(ends(vec![3, 2])).is_none(), "not ascending");
        assert!(text(ends(vec![2, 4])).is_none(), "outside");
        assert!(text(BlockValues::Int32(vec![1])).is_none(), "another type");
        let two = text(ends(vec![2, 3])).expect("valid");
        assert!(RowBlock::from_columns(3, vec![two.clone()]).is_none());
        assert_eq!(RowBlock::from_columns(2, vec![two]).map(|block| block.rows()), Some(2));
    }
}
