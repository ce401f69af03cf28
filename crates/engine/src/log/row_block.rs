//! Blocks of rows as bytes: column by column, values of fixed width as they lie in memory (little-endian), so
//! that writing and reading them back costs little more than copying.

use super::column_type::{get_type, put_type};
use super::{Decoder, Encoder, Malformed};
use crate::types::{BlockColumn, BlockValues, RowBlock};

/// Tag of a dropped column; others say by their type how they are represented.
const ABSENT: u8 = 0;
const PRESENT: u8 = 1;

impl Encoder {
    /// Rows.
    pub fn block(&mut self, block: &RowBlock) {
        self.unsigned(block.rows() as u64);
        self.list(block.columns(), Encoder::column);
    }

    fn column(&mut self, column: &BlockColumn) {
        use BlockValues as B;
        put_type(self, column.data_type());
        self.byte(if matches!(column.values(), B::Absent) { ABSENT } else { PRESENT });
        self.unsigned(column.nulls().len() as u64);
        self.numbers(column.nulls(), u64::to_le_bytes);
        match column.values() {
            B::Absent => {}
            B::Boolean(values) => self.bytes.extend_from_slice(values),
            B::Int16(values) => self.numbers(values, i16::to_le_bytes),
            B::Int32(values) => self.numbers(values, i32::to_le_bytes),
            B::Int64(values) => self.numbers(values, i64::to_le_bytes),
            B::Int128(values) => self.numbers(values, i128::to_le_bytes),
            B::Float32(values) => self.numbers(values, f32::to_le_bytes),
            B::Float64(values) => self.numbers(values, f64::to_le_bytes),
            B::Text(heap, ends) => {
                self.text(heap);
                self.numbers(ends, u32::to_le_bytes);
            }
            B::Bytes(heap, ends) => {
                self.slice(heap);
                self.numbers(ends, u32::to_le_bytes);
            }
        }
    }

    fn numbers<T: Copy, const N: usize>(&mut self, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
        let start = self.bytes.len();
        self.bytes.resize(start + values.len() * N, 0);
        let (target, _) = self.bytes[start..].as_chunks_mut();
        target.iter_mut().zip(values).for_each(|(to, value)| *to = bytes(*value));
    }
}

impl Decoder<'_> {
    /// See [`Encoder::block`].
    pub fn block(&mut self) -> Result<RowBlock, Malformed> {
        let rows = usize::try_from(self.unsigned()?).map_err(|_| Malformed)?;
        let columns = self.list(|from| from.column(rows))?;
        RowBlock::from_columns(rows, columns).ok_or(Malformed)
    }

    fn column(&mut self, rows: usize) -> Result<BlockColumn, Malformed> {
        use BlockValues as B;
        let data_type = get_type(self)?;
        let dropped = match self.byte()? {
            ABSENT => true,
            PRESENT => false,
            _ => return Err(Malformed),
        };
        let words = usize::try_from(self.unsigned()?).map_err(|_| Malformed)?;
        if words > rows.div_ceil(64) {
            return Err(Malformed);
        }
        let nulls = self.numbers(words, u64::from_le_bytes)?;
        let values = match BlockColumn::new(data_type, dropped).values() {
            B::Absent => B::Absent,
            B::Boolean(_) => B::Boolean(self.numbers(rows, |[byte]: [u8; 1]| byte)?),
            B::Int16(_) => B::Int16(self.numbers(rows, i16::from_le_bytes)?),
            B::Int32(_) => B::Int32(self.numbers(rows, i32::from_le_bytes)?),
            B::Int64(_) => B::Int64(self.numbers(rows, i64::from_le_bytes)?),
            B::Int128(_) => B::Int128(self.numbers(rows, i128::from_le_bytes)?),
            B::Float32(_) => B::Float32(self.numbers(rows, f32::from_le_bytes)?),
            B::Float64(_) => B::Float64(self.numbers(rows, f64::from_le_bytes)?),
            B::Text(..) => {
                let heap = self.text()?.to_owned();
                B::Text(heap, self.numbers(rows, u32::from_le_bytes)?)
            }
            B::Bytes(..) => {
                let heap = self.slice()?.to_vec();
                B::Bytes(heap, self.numbers(rows, u32::from_le_bytes)?)
            }
        };
        BlockColumn::from_values(data_type, values, nulls).ok_or(Malformed)
    }

    fn numbers<T, const N: usize>(
        &mut self,
        count: usize,
        number: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, Malformed> {
        let bytes = self.take(count.checked_mul(N).ok_or(Malformed)?)?;
        let (numbers, _) = bytes.as_chunks();
        Ok(numbers.iter().map(|bytes| number(*bytes)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{DataType, Value};

    fn block() -> RowBlock {
        let numeric = |precision| DataType::Numeric { precision, scale: 1 };
        let columns = [
            (DataType::Boolean, Value::Boolean(true)),
            (DataType::SmallInt, Value::SmallInt(-3)),
            (DataType::Integer, Value::Integer(i32::MIN)),
            (DataType::TimestampTz, Value::TimestampTz(-1)),
            (numeric(18), Value::Numeric(-12_345, 1)),
            (numeric(38), Value::Numeric(i128::MAX, 1)),
            (DataType::Real, Value::Real(0.5)),
            (DataType::Double, Value::Double(1e300)),
            (DataType::Varchar(9), Value::Text("äö".into())),
            (DataType::Bytea, Value::Bytea([0, 255].as_slice().into())),
        ];
        let filled = columns.into_iter().map(|(data_type, value)| {
            let mut column = BlockColumn::new(data_type, false);
            (0..70).for_each(|row| match row % 3 {
                0 => column.push(Value::Null.borrow()),
                _ => column.push(value.borrow()),
            });
            column
        });
        let dropped = BlockColumn::new(DataType::Text, true);
        RowBlock::from_columns(70, filled.chain([dropped]).collect()).expect("70 rows each")
    }

    #[test]
    fn blocks_come_back_as_they_went() {
        let block = block();
        let mut encoder = Encoder::default();
        encoder.block(&block);
        let mut decoder = Decoder::new(&encoder.bytes);
        assert_eq!(decoder.block(), Ok(block));
        assert!(decoder.is_empty());
    }

    #[test]
    fn no_bytes_make_the_decoder_panic() {
        let mut encoder = Encoder::default();
        encoder.block(&block());
        for at in 0..encoder.bytes.len() {
            assert_eq!(Decoder::new(&encoder.bytes[..at]).block(), Err(Malformed));
            for flip in [1, 0x80, 0xFF] {
                let mut bytes = encoder.bytes.clone();
                bytes[at] ^= flip;
                if let Ok(block) = Decoder::new(&bytes).block() {
                    (0..block.rows()).for_each(|row| drop(block.row(row)));
                }
            }
        }
    }
}
