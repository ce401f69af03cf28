//! All rows of an input as one batch, for operators that keep one side whole before they begin.
//!
//! DataFusion's cross and nested loop joins put the batches of their left side together in one step that asks nobody: for a
//! large side that goes on for seconds after its statement has ended, and takes as much memory again, which nobody has
//! counted. In come the side's batches; out goes one, put together batch by batch as long as the statement runs, with both
//! copies counted. One batch put together with nothing else is not copied. Called by [`super::checked`].

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::{
    Array, ArrayData, ArrayRef, MutableArrayData, RecordBatch, RecordBatchOptions, make_array,
};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use futures::StreamExt;

use super::checked::check;

/// A side on its way to become one batch.
pub struct Collected {
    batches: Vec<RecordBatch>,
    counter: RecordBatchMemoryCounter,
    reservation: MemoryReservation,
    is_over: bool,
}

impl fmt::Debug for Collected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collected").field("batches", &self.batches.len()).finish_non_exhaustive()
    }
}

impl Collected {
    /// Nothing yet.
    pub fn new(context: &TaskContext) -> Collected {
        let consumer = MemoryConsumer::new("a join's side");
        Collected {
            batches: Vec::new(),
            counter: RecordBatchMemoryCounter::new(),
            reservation: consumer.register(context.memory_pool()),
            is_over: false,
        }
    }

    /// Reads all rows; gives them, then the end.
    pub fn poll(
        &mut self,
        rows: &mut SendableRecordBatchStream,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<RecordBatch>>> {
        while !self.is_over {
            match ready!(rows.poll_next_unpin(context)) {
                Some(batch) => {
                    if let Err(error) = batch.and_then(|batch| self.add(batch)) {
                        self.is_over = true;
                        return Poll::Ready(Some(Err(error)));
                    }
                }
                None => {
                    self.is_over = true;
                    return Poll::Ready(self.whole(&rows.schema()).transpose());
                }
            }
        }
        Poll::Ready(None)
    }

    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        self.reservation.try_grow(self.counter.count_batch(&batch))?;
        self.batches.push(batch);
        Ok(())
    }

    /// The rows, which from now on count where they are kept.
    fn whole(&mut self, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
        let batches = std::mem::take(&mut self.batches);
        let whole = match &batches[..] {
            [] => None,
            [batch] => Some(batch.clone()),
            batches => {
                self.reservation.try_grow(self.counter.memory_usage())?;
                Some(put_together(schema, batches)?)
            }
        };
        self.reservation.free();
        Ok(whole)
    }
}

fn put_together(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch> {
    let columns = (0..schema.fields().len()).map(|number| column(batches, number));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn column(batches: &[RecordBatch], number: usize) -> Result<ArrayRef> {
    check()?;
    let arrays: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(number)).collect();
    if !is_flat(arrays[0].data_type()) {
        let arrays: Vec<&dyn Array> = arrays.into_iter().map(AsRef::as_ref).collect();
        return Ok(concat(&arrays)?);
    }
    let rows = arrays.iter().map(|array| array.len()).sum();
    let parts: Vec<ArrayData> = arrays.iter().map(|array| array.to_data()).collect();
    let mut whole = MutableArrayData::new(parts.iter().collect(), false, rows);
    for (number, part) in parts.iter().enumerate() {
        check()?;
        whole.try_extend(number, 0, part.len())?;
    }
    Ok(make_array(whole.freeze()))
}

/// Whether values lie one behind the other, and there is nothing else to be merged.
fn is_flat(data_type: &DataType) -> bool {
    let is_bytes = data_type.is_string() || data_type.is_binary();
    data_type.is_primitive() || is_bytes || *data_type == DataType::Boolean
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use datafusion::arrow::array::{
        BinaryArray, BooleanArray, Int32Array, ListArray, StringViewArray,
    };
    use datafusion::arrow::compute::concat_batches;
    use datafusion::arrow::datatypes::Int64Type;
    use engine::types::limit::{Limit, within};
    use engine::types::{Error, SqlState};

    use super::*;

    fn batch(first: i32) -> RecordBatch {
        let numbers = Int32Array::from(vec![Some(first), None, Some(first + 2)]);
        let texts = vec![Some("short"), Some("one that is longer than twelve bytes"), None];
        let flags = BooleanArray::from(vec![Some(first % 2 == 0), None, Some(true)]);
        let bytes: Vec<Option<&[u8]>> = vec![Some(b"a"), None, Some(b"bc")];
        let one = |number: i32| Some(vec![Some(i64::from(number))]);
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([one(first), None, one(1)]);
        let columns: [(&str, ArrayRef); 5] = [
            ("number", Arc::new(numbers)),
            ("text", Arc::new(StringViewArray::from(texts))),
            ("flag", Arc::new(flags)),
            ("bytes", Arc::new(BinaryArray::from_opt_vec(bytes))),
            ("list", Arc::new(lists)),
        ];
        RecordBatch::try_from_iter(columns).expect("columns of a length")
    }

    #[test]
    fn batches_become_what_arrow_makes_of_them() {
        let batches: Vec<RecordBatch> = (0..5).map(|at| batch(10 * at).slice(0, 2)).collect();
        let whole = put_together(&batches[0].schema(), &batches).expect("it is not to end");
        assert_eq!(whole, concat_batches(&batches[0].schema(), &batches).expect("one schema"));
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let batch = batch(1).project(&[]).expect("no columns");
        let whole = put_together(&batch.schema(), &[batch.clone(), batch]).expect("two");
        assert_eq!((whole.num_rows(), whole.num_columns()), (6, 0));
    }

    /// Ends work when it is asked for so often.
    #[derive(Debug)]
    struct After(AtomicUsize);

    impl Limit for After {
        fn fault(&self) -> Option<Error> {
            let is_over = self.0.fetch_sub(1, Ordering::Relaxed) == 0;
            is_over.then(|| Error::new(SqlState::QueryCanceled, "cancelled"))
        }
    }

    #[test]
    fn it_ends_between_any_two_batches() {
        let batches: Vec<RecordBatch> = (0..5).map(batch).collect();
        // Each column once, and each batch of those that are flat.
        for asked in 0..5 + 4 * batches.len() {
            let limit = Arc::new(After(AtomicUsize::new(asked)));
            let ended = within(Some(limit), || put_together(&batches[0].schema(), &batches));
            assert!(ended.is_err(), "asked {asked} times before");
        }
    }
}
