//! Columns of rows that lie anywhere, as Arrow arrays.
//!
//! Rows come in runs of one chunk: the column's slice is looked up once per run, and the loop
//! inside knows its type.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, ScalarBuffer};

use super::string_views::StringViews;
use super::{Chunk, ColumnSlice, Nulls, Unsigned, each_width};
use crate::types::{ColumnId, DataType, Location, Value};

/// A row's place in its chunk.
pub(super) trait Position: Copy {
    /// Rows before it.
    fn offset(self) -> usize;
}

impl Position for Location {
    #[inline]
    fn offset(self) -> usize {
        self.offset as usize
    }
}

impl Position for u32 {
    #[inline]
    fn offset(self) -> usize {
        self as usize
    }
}

/// A run of rows in one chunk; without a chunk the rows are [`Location::NONE`].
pub(super) struct PositionRun<'a, P> {
    pub chunk: Option<&'a Chunk>,
    pub positions: &'a [P],
}

/// A column of rows, run by run; `rows` is how many there are in all.
pub(super) fn gather<'a, P: Position + 'a>(
    runs: impl Iterator<Item = PositionRun<'a, P>>,
    rows: usize,
    column: ColumnId,
    data_type: DataType,
) -> ArrayRef {
    let source = Source { runs, rows, column };
    match data_type {
        DataType::Boolean => source.booleans(),
        DataType::SmallInt => Arc::new(source.int16()),
        DataType::Integer => Arc::new(source.int32::<Int32Type>()),
        DataType::Date => Arc::new(source.int32::<Date32Type>()),
        DataType::BigInt => Arc::new(source.int64::<Int64Type>()),
        DataType::Timestamp | DataType::TimestampTz => {
            let times = source.int64::<TimestampMicrosecondType>();
            Arc::new(times.with_data_type(data_type.arrow()))
        }
        DataType::Numeric { .. } => Arc::new(source.numerics().with_data_type(data_type.arrow())),
        DataType::Real => Arc::new(source.float32()),
        DataType::Double => Arc::new(source.float64()),
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => source.strings(),
        DataType::Bytea => source.bytes(),
    }
}

struct Source<I> {
    runs: I,
    rows: usize,
    column: ColumnId,
}

/// Which values of the array are not NULL; no bits as long as all are.
#[derive(Default)]
pub(super) struct Validity {
    length: usize,
    bits: Option<BooleanBufferBuilder>,
}

impl Validity {
    /// Says the same of `count` further values.
    pub fn append(&mut self, valid: bool, count: usize) {
        let before = self.length;
        self.length += count;
        if self.bits.is_none() && !valid {
            let mut bits = BooleanBufferBuilder::new(before + count);
            bits.append_n(before, true);
            self.bits = Some(bits);
        }
        if let Some(bits) = &mut self.bits {
            bits.append_n(count, valid);
        }
    }

    /// Looks up a run of values.
    pub fn append_run<P: Position>(&mut self, slice: ColumnSlice<'_>, run: &[P]) {
        match (slice, slice.nulls()) {
            (ColumnSlice::Constant(value, _), _) => self.append(!value.is_null(), run.len()),
            (_, Nulls::None) => self.append(true, run.len()),
            (_, nulls) => run.iter().for_each(|position| {
                self.append(!nulls.is_null(position.offset()), 1);
            }),
        }
    }

    /// The bits, if any value is NULL.
    pub fn finish(self) -> Option<NullBuffer> {
        self.bits.map(|mut bits| NullBuffer::new(bits.finish()))
    }
}

macro_rules! fixed {
    ($name:ident, $arrow:ty, $variant:ident, $constant:pat => $value:expr) => {
        fn $name(self) -> PrimitiveArray<$arrow> {
            self.primitive(|slice, run, out| match slice {
                ColumnSlice::$variant(values, _) => take(values, run, out),
                ColumnSlice::Constant($constant, _) => out.extend(repeat_n($value, run.len())),
                ColumnSlice::Constant(..) => out.resize(out.len() + run.len(), Default::default()),
                other => unreachable!("{other:?} in a column of another type"),
            })
        }
    };
}

impl<'a, P: Position + 'a, I: Iterator<Item = PositionRun<'a, P>>> Source<I> {
    fn collect<T: Copy + Default>(
        self,
        append: impl Fn(ColumnSlice<'a>, &[P], &mut Vec<T>),
    ) -> (Vec<T>, Option<NullBuffer>) {
        let mut values = Vec::with_capacity(self.rows);
        let mut validity = Validity::default();
        for PositionRun { chunk, positions } in self.runs {
            match chunk.map(|chunk| chunk.column(self.column)) {
                Some(slice) => {
                    append(slice, positions, &mut values);
                    validity.append_run(slice, positions);
                }
                None => {
                    values.resize(values.len() + positions.len(), T::default());
                    validity.append(false, positions.len());
                }
            }
        }
        (values, validity.finish())
    }

    fn primitive<A: ArrowPrimitiveType>(
        self,
        append: impl Fn(ColumnSlice<'a>, &[P], &mut Vec<A::Native>),
    ) -> PrimitiveArray<A> {
        let (values, nulls) = self.collect(append);
        PrimitiveArray::new(ScalarBuffer::from(values), nulls)
    }

    fixed!(float32, Float32Type, Float32, Value::Real(value) => *value);
    fixed!(float64, Float64Type, Float64, Value::Double(value) => *value);

    fn int16(self) -> PrimitiveArray<Int16Type> {
        self.primitive(|slice, run, out| match slice {
            ColumnSlice::Int16(values, _) => take(values, run, out),
            ColumnSlice::Framed(base, distances, _) => {
                take_framed(distances, |distance| (base + i64::from(distance)) as i16, run, out);
            }
            ColumnSlice::Constant(Value::SmallInt(value), _) => {
                out.extend(repeat_n(*value, run.len()));
            }
            _ => out.extend(repeat_n(0, run.len())),
        })
    }

    fn int32<A: ArrowPrimitiveType<Native = i32>>(self) -> PrimitiveArray<A> {
        self.primitive(|slice, run, out| match slice {
            ColumnSlice::Int32(values, _) => take(values, run, out),
            ColumnSlice::Framed(base, distances, _) => {
                take_framed(distances, |distance| (base + i64::from(distance)) as i32, run, out);
            }
            ColumnSlice::Constant(Value::Integer(value) | Value::Date(value), _) => {
                out.extend(repeat_n(*value, run.len()));
            }
            _ => out.extend(repeat_n(0, run.len())),
        })
    }

    fn int64<A: ArrowPrimitiveType<Native = i64>>(self) -> PrimitiveArray<A> {
        self.primitive(|slice, run, out| match slice {
            ColumnSlice::Int64(values, _) => take(values, run, out),
            ColumnSlice::Framed(base, distances, _) => {
                take_framed(distances, |distance| base + i64::from(distance), run, out);
            }
            ColumnSlice::Constant(
                Value::BigInt(value) | Value::Timestamp(value) | Value::TimestampTz(value),
                _,
            ) => out.extend(repeat_n(*value, run.len())),
            _ => out.extend(repeat_n(0, run.len())),
        })
    }

    fn numerics(self) -> PrimitiveArray<Decimal128Type> {
        self.primitive(|slice, run, out| match slice {
            ColumnSlice::Int64(values, _) => {
                out.extend(run.iter().map(|position| i128::from(values[position.offset()])));
            }
            ColumnSlice::Framed(base, distances, _) => {
                let value = |distance| i128::from(base + i64::from(distance));
                take_framed(distances, value, run, out);
            }
            ColumnSlice::Int128(values, _) => take(values, run, out),
            ColumnSlice::Constant(Value::Numeric(value, _), _) => {
                out.extend(repeat_n(*value, run.len()));
            }
            _ => out.extend(repeat_n(0, run.len())),
        })
    }

    fn booleans(self) -> ArrayRef {
        let (values, nulls) = self.collect(|slice, run, out| match slice {
            ColumnSlice::Boolean(values, _) => take(values, run, out),
            ColumnSlice::Constant(value, _) => {
                out.extend(repeat_n(u8::from(*value == Value::Boolean(true)), run.len()));
            }
            other => unreachable!("{other:?} in a boolean column"),
        });
        let bits = BooleanBuffer::collect_bool(values.len(), |row| values[row] != 0);
        Arc::new(BooleanArray::new(bits, nulls))
    }

    fn strings(self) -> ArrayRef {
        let mut views = StringViews::with_capacity(self.rows);
        for PositionRun { chunk, positions } in self.runs {
            match chunk {
                Some(chunk) => views.append_run(chunk, self.column, positions),
                None => views.append_nulls(positions.len()),
            }
        }
        views.finish()
    }

    fn bytes(self) -> ArrayRef {
        let mut builder = BinaryBuilder::with_capacity(self.rows, 0);
        for PositionRun { chunk, positions } in self.runs {
            let slice = chunk.map(|chunk| chunk.column(self.column));
            for position in positions {
                match slice {
                    Some(ColumnSlice::Bytes(values, nulls))
                        if !nulls.is_null(position.offset()) =>
                    {
                        builder.append_value(values.bytes(position.offset()));
                    }
                    Some(ColumnSlice::Constant(Value::Bytea(value), _)) => {
                        builder.append_value(value);
                    }
                    _ => builder.append_null(),
                }
            }
        }
        Arc::new(builder.finish())
    }
}

fn take_framed<T, P: Position>(
    distances: Unsigned<'_>,
    value: impl Fn(u32) -> T,
    run: &[P],
    out: &mut Vec<T>,
) {
    fn of<D: Copy + Into<u32>, T, P: Position>(
        distances: &[D],
        value: impl Fn(u32) -> T,
        run: &[P],
        out: &mut Vec<T>,
    ) {
        out.extend(run.iter().map(|position| value(distances[position.offset()].into())));
    }
    each_width!(distances, distances => of(distances, value, run, out));
}

fn take<T: Copy, P: Position>(values: &[T], run: &[P], out: &mut Vec<T>) {
    out.extend(run.iter().map(|position| values[position.offset()]));
}
