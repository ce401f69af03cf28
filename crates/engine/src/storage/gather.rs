//! Columns of rows that lie anywhere, as Arrow arrays.
//!
//! Rows come in runs of one chunk: the column's slice is looked up once per run, and the loop inside knows its
//! type.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringViewBuilder};
use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, ScalarBuffer};

use super::{ColumnSlice, Nulls, TableView};
use crate::types::{ColumnId, DataType, Location, Value, ValueRef};

/// A column of the rows at `locations`.
pub(super) fn gather(view: &TableView, column: ColumnId, locations: &[Location]) -> ArrayRef {
    let data_type = view.schema().columns[column.index()].data_type;
    let source = Source { view, column, locations };
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

struct Source<'a> {
    view: &'a TableView,
    column: ColumnId,
    locations: &'a [Location],
}

/// Which values of the array are not NULL; no bits as long as all are.
struct Validity {
    length: usize,
    bits: Option<BooleanBufferBuilder>,
}

impl Validity {
    fn append(&mut self, valid: bool, count: usize) {
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

    fn append_run(&mut self, slice: ColumnSlice<'_>, run: &[Location]) {
        match (slice, slice.nulls()) {
            (ColumnSlice::Constant(value, _), _) => self.append(!value.is_null(), run.len()),
            (_, Nulls::None) => self.append(true, run.len()),
            (_, nulls) => run.iter().for_each(|location| {
                self.append(!nulls.is_null(location.offset as usize), 1);
            }),
        }
    }

    fn finish(self) -> Option<NullBuffer> {
        self.bits.map(|mut bits| NullBuffer::new(bits.finish()))
    }
}

macro_rules! fixed {
    ($name:ident, $arrow:ty, $variant:ident, $constant:pat => $value:expr) => {
        fn $name(&self) -> PrimitiveArray<$arrow> {
            self.primitive(|slice, run, out| match slice {
                ColumnSlice::$variant(values, _) => take(values, run, out),
                ColumnSlice::Constant($constant, _) => out.extend(repeat_n($value, run.len())),
                ColumnSlice::Constant(..) => out.resize(out.len() + run.len(), Default::default()),
                other => unreachable!("{other:?} in a column of another type"),
            })
        }
    };
}

impl<'a> Source<'a> {
    /// Calls `each` with every run of locations in one chunk; `None` for a run of [`Location::NONE`].
    fn runs(&self, mut each: impl FnMut(Option<ColumnSlice<'a>>, &'a [Location])) {
        for run in self.locations.chunk_by(|a, b| a.chunk == b.chunk) {
            let slice =
                (!run[0].is_none()).then(|| self.view.chunk(run[0].chunk).column(self.column));
            each(slice, run);
        }
    }

    fn collect<T: Copy + Default>(
        &self,
        append: impl Fn(ColumnSlice<'a>, &[Location], &mut Vec<T>),
    ) -> (Vec<T>, Option<NullBuffer>) {
        let mut values = Vec::with_capacity(self.locations.len());
        let mut validity = Validity { length: 0, bits: None };
        self.runs(|slice, run| match slice {
            Some(slice) => {
                append(slice, run, &mut values);
                validity.append_run(slice, run);
            }
            None => {
                values.extend(repeat_n(T::default(), run.len()));
                validity.append(false, run.len());
            }
        });
        (values, validity.finish())
    }

    fn primitive<A: ArrowPrimitiveType>(
        &self,
        append: impl Fn(ColumnSlice<'a>, &[Location], &mut Vec<A::Native>),
    ) -> PrimitiveArray<A> {
        let (values, nulls) = self.collect(append);
        PrimitiveArray::new(ScalarBuffer::from(values), nulls)
    }

    fixed!(int16, Int16Type, Int16, Value::SmallInt(value) => *value);
    fixed!(float32, Float32Type, Float32, Value::Real(value) => *value);
    fixed!(float64, Float64Type, Float64, Value::Double(value) => *value);

    fn int32<A: ArrowPrimitiveType<Native = i32>>(&self) -> PrimitiveArray<A> {
        self.primitive(|slice, run, out| match slice {
            ColumnSlice::Int32(values, _) => take(values, run, out),
            ColumnSlice::Constant(Value::Integer(value) | Value::Date(value), _) => {
                out.extend(repeat_n(*value, run.len()));
            }
            _ => out.extend(repeat_n(0, run.len())),
        })
    }

    fn int64<A: ArrowPrimitiveType<Native = i64>>(&self) -> PrimitiveArray<A> {
        self.primitive(|slice, run, out| match slice {
            ColumnSlice::Int64(values, _) => take(values, run, out),
            ColumnSlice::Constant(
                Value::BigInt(value) | Value::Timestamp(value) | Value::TimestampTz(value),
                _,
            ) => out.extend(repeat_n(*value, run.len())),
            _ => out.extend(repeat_n(0, run.len())),
        })
    }

    fn numerics(&self) -> PrimitiveArray<Decimal128Type> {
        self.primitive(|slice, run, out| match slice {
            ColumnSlice::Int64(values, _) => {
                out.extend(run.iter().map(|l| i128::from(values[l.offset as usize])));
            }
            ColumnSlice::Int128(values, _) => take(values, run, out),
            ColumnSlice::Constant(Value::Numeric(value, _), _) => {
                out.extend(repeat_n(*value, run.len()));
            }
            _ => out.extend(repeat_n(0, run.len())),
        })
    }

    fn booleans(&self) -> ArrayRef {
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

    fn strings(&self) -> ArrayRef {
        let mut builder = StringViewBuilder::with_capacity(self.locations.len());
        for location in self.locations {
            match self.view.cell(self.column, *location) {
                ValueRef::Text(text) => builder.append_value(text),
                _ => builder.append_null(),
            }
        }
        Arc::new(builder.finish())
    }

    fn bytes(&self) -> ArrayRef {
        let mut builder = BinaryBuilder::with_capacity(self.locations.len(), 0);
        for location in self.locations {
            match self.view.cell(self.column, *location) {
                ValueRef::Bytea(bytes) => builder.append_value(bytes),
                _ => builder.append_null(),
            }
        }
        Arc::new(builder.finish())
    }
}

fn take<T: Copy>(values: &[T], run: &[Location], out: &mut Vec<T>) {
    out.extend(run.iter().map(|location| values[location.offset as usize]));
}
