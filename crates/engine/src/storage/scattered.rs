//! Integers and strings with codes of rows that jump from chunk to chunk, as those that a join has found do: each chunk's
//! slice is looked up once for all of its rows instead of once per run of them. Called by [`super::TableView::gather`].

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};

use super::gather::Validity;
use super::string_views::StringViews;
use super::{ColumnSlice, Dictionary, Nulls, Unsigned};
use crate::types::{ChunkId, ColumnId, DataType, Location, Value};

use super::TableView;

/// Fewer rows are not worth a list of slices.
const ROWS: usize = 512;
/// Rows per run from which on a look-up per run costs less than a decision per row.
const RUN: usize = 4;
/// Rows per chunk of the table from which on asking each chunk first pays: a large table's chunks are many.
const ROWS_PER_CHUNK: usize = 2;

/// A column as an array; `None` where its values are neither integers of 64 bits in every chunk nor strings with codes, or the
/// rows do not jump.
pub(super) fn scattered(
    view: &TableView,
    column: ColumnId,
    data_type: DataType,
    locations: &[Location],
) -> Option<ArrayRef> {
    use DataType::*;
    let may_be = matches!(
        data_type,
        SmallInt | Integer | BigInt | Date | Timestamp | TimestampTz | Numeric { .. }
    );
    if !(may_be || data_type.is_string()) || !jumps(locations) {
        return None;
    }
    if data_type.is_string() {
        let (codes, dictionary) = codes(view, column, locations, usize::MAX)?;
        return Some(StringViews::of_codes(&codes, dictionary));
    }
    let (values, nulls) = integers(view, column, locations)?;
    fn array<A: ArrowPrimitiveType>(
        values: Vec<i64>,
        nulls: Option<NullBuffer>,
        of: impl Fn(i64) -> A::Native,
    ) -> PrimitiveArray<A> {
        let values: Vec<A::Native> = values.into_iter().map(of).collect();
        PrimitiveArray::new(ScalarBuffer::from(values), nulls)
    }
    Some(match data_type {
        SmallInt => Arc::new(array::<Int16Type>(values, nulls, |value| value as i16)),
        Integer => Arc::new(array::<Int32Type>(values, nulls, |value| value as i32)),
        Date => Arc::new(array::<Date32Type>(values, nulls, |value| value as i32)),
        BigInt => Arc::new(array::<Int64Type>(values, nulls, |value| value)),
        Timestamp | TimestampTz => {
            let times = array::<TimestampMicrosecondType>(values, nulls, |value| value);
            Arc::new(times.with_data_type(data_type.arrow()))
        }
        _ => {
            let numbers = array::<Decimal128Type>(values, nulls, i128::from);
            Arc::new(numbers.with_data_type(data_type.arrow()))
        }
    })
}

/// Whether rows change chunks that often.
pub(super) fn jumps(locations: &[Location]) -> bool {
    let jumps = || locations.windows(2).filter(|pair| pair[0].chunk != pair[1].chunk).count();
    let is_long = locations.len() >= ROWS && first_run(locations) < locations.len();
    is_long && jumps() > locations.len() / RUN
}

/// Locations that are compared at a time, without a branch in between.
const BLOCK: usize = 64;

/// How many of the first rows lie in one chunk: usually all.
pub(super) fn first_run(locations: &[Location]) -> usize {
    let Some(first) = locations.first() else { return 0 };
    let differs = |block: &&[Location]| {
        block.iter().fold(0, |all, own| all | (own.chunk.0 ^ first.chunk.0)) != 0
    };
    let blocks = locations.chunks(BLOCK).take_while(|block| !differs(block)).count();
    let same = locations.len().min(blocks * BLOCK);
    same + locations[same..].iter().take_while(|own| own.chunk == first.chunk).count()
}

/// The values, 0 for NULL, and which are not NULL.
pub(super) fn integers(
    view: &TableView,
    column: ColumnId,
    locations: &[Location],
) -> Option<(Vec<i64>, Option<NullBuffer>)> {
    match without_nulls(view, column, locations) {
        Some(values) => Some((values, None)),
        None => integers_one_by_one(view, column, locations),
    }
}

/// The values where no row is [`Location::NONE`], and no chunk has a NULL: then there is nothing to be noted of a row. Where
/// all chunks hold distances of one width a row takes no decision either.
fn without_nulls(view: &TableView, column: ColumnId, locations: &[Location]) -> Option<Vec<i64>> {
    let met = chunks_met(locations)?;
    let mut slices = vec![ColumnSlice::Constant(&Value::Null, 0); met.last()? + 1];
    for &number in &met {
        let slice = view.chunk(ChunkId(number as u32)).column(column);
        let has_nulls = match slice {
            ColumnSlice::Constant(value, _) => value.is_null(),
            other => !matches!(other.nulls(), Nulls::None),
        };
        slices[number] = (!has_nulls).then_some(slice)?;
    }
    if let Some(values) = of_one_width(&slices, &met, locations) {
        return Some(values);
    }
    let mut values = Vec::with_capacity(locations.len());
    for at in locations {
        values.push(integer(&slices[at.chunk.0 as usize], at.offset as usize)?);
    }
    Some(values)
}

/// The values of rows in the chunks met, where all of these hold distances of one width.
fn of_one_width(
    slices: &[ColumnSlice<'_>],
    met: &[usize],
    locations: &[Location],
) -> Option<Vec<i64>> {
    let mut by_width = (Vec::new(), Vec::new(), Vec::new());
    for &number in met {
        let ColumnSlice::Framed(base, distances, _) = slices[number] else { return None };
        match distances {
            Unsigned::Bits8(values) => by_width.0.push((number, base, values)),
            Unsigned::Bits16(values) => by_width.1.push((number, base, values)),
            Unsigned::Bits32(values) => by_width.2.push((number, base, values)),
        }
    }
    match by_width {
        (slices, b, c) if b.is_empty() && c.is_empty() => Some(of_width(&slices, locations)),
        (a, slices, c) if a.is_empty() && c.is_empty() => Some(of_width(&slices, locations)),
        (a, b, slices) if a.is_empty() && b.is_empty() => Some(of_width(&slices, locations)),
        _ => None,
    }
}

/// The chunks that rows are in, ascending; `None` where a row is [`Location::NONE`], or chunks may be many for so few rows.
fn chunks_met(locations: &[Location]) -> Option<Vec<usize>> {
    let most = locations.iter().map(|location| location.chunk.0).max()?;
    // That of no row is larger than any.
    if most as usize > locations.len() / ROWS_PER_CHUNK {
        return None;
    }
    let mut is_met = vec![false; most as usize + 1];
    locations.iter().for_each(|location| is_met[location.chunk.0 as usize] = true);
    Some((0..is_met.len()).filter(|number| is_met[*number]).collect())
}

/// The codes of strings; `None` where a row is NULL or [`Location::NONE`], or in a chunk whose strings have none, or there are
/// more codes than `most`.
pub(super) fn codes<'a>(
    view: &'a TableView,
    column: ColumnId,
    locations: &[Location],
    most: usize,
) -> Option<(Vec<u32>, &'a Dictionary)> {
    let met = chunks_met(locations)?;
    let mut slices = vec![Unsigned::Bits8(&[]); met.last()? + 1];
    let mut common = None;
    for number in met {
        let slice = view.chunk(ChunkId(number as u32)).column(column);
        let ColumnSlice::Codes(codes, dictionary, Nulls::None) = slice else { return None };
        (slices[number], common) = (codes, Some(dictionary));
    }
    let dictionary = common.filter(|dictionary| dictionary.len() <= most)?;
    let code = |at: &Location| slices[at.chunk.0 as usize].get(at.offset as usize);
    Some((locations.iter().map(code).collect(), dictionary))
}

/// The values of rows in chunks of these numbers.
fn of_width<T: Copy + Into<i64>>(
    slices: &[(usize, i64, &[T])],
    locations: &[Location],
) -> Vec<i64> {
    let chunks = slices.last().map_or(0, |(number, ..)| number + 1);
    let mut by_chunk: Vec<(i64, &[T])> = vec![(0, &[]); chunks];
    slices.iter().for_each(|&(number, base, values)| by_chunk[number] = (base, values));
    let value = |location: &Location| {
        let (base, values) = by_chunk[location.chunk.0 as usize];
        base + values[location.offset as usize].into()
    };
    locations.iter().map(value).collect()
}

fn integers_one_by_one(
    view: &TableView,
    column: ColumnId,
    locations: &[Location],
) -> Option<(Vec<i64>, Option<NullBuffer>)> {
    let mut slices: Vec<Option<ColumnSlice<'_>>> = Vec::new();
    let mut values = Vec::with_capacity(locations.len());
    let mut validity = Validity::default();
    for location in locations {
        if location.is_none() {
            values.push(0);
            validity.append(false, 1);
            continue;
        }
        let (number, row) = (location.chunk.0 as usize, location.offset as usize);
        if number >= slices.len() {
            slices.resize(number + 1, None);
        }
        let slice = slices[number].get_or_insert_with(|| view.chunk(location.chunk).column(column));
        values.push(integer(slice, row)?);
        let is_null = match slice {
            ColumnSlice::Constant(value, _) => value.is_null(),
            other => other.nulls().is_null(row),
        };
        validity.append(!is_null, 1);
    }
    Some((values, validity.finish()))
}

/// The value of a row, anything where it is NULL; `None` where the slice has no integers of 64 bits.
#[inline(always)]
pub(super) fn integer(slice: &ColumnSlice<'_>, row: usize) -> Option<i64> {
    Some(match slice {
        ColumnSlice::Framed(base, distances, _) => {
            base + match distances {
                Unsigned::Bits8(distances) => i64::from(distances[row]),
                Unsigned::Bits16(distances) => i64::from(distances[row]),
                Unsigned::Bits32(distances) => i64::from(distances[row]),
            }
        }
        ColumnSlice::Int16(values, _) => i64::from(values[row]),
        ColumnSlice::Int32(values, _) => i64::from(values[row]),
        ColumnSlice::Int64(values, _) => values[row],
        ColumnSlice::Constant(value, _) => match value {
            Value::SmallInt(value) => i64::from(*value),
            Value::Integer(value) | Value::Date(value) => i64::from(*value),
            Value::BigInt(value) | Value::Timestamp(value) | Value::TimestampTz(value) => *value,
            Value::Numeric(value, _) => i64::try_from(*value).ok()?,
            _ => 0,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::super::load::load_in_chunks;
    use super::super::twin::{stored_table, table_schema};
    use super::super::{CHUNK_ROWS, Chunk, Store, Table};
    use super::*;
    use crate::seeds::seeds;
    use crate::types::{ChunkId, ValueRef, Version, array_cell};

    const TYPES: [DataType; 9] = [
        DataType::SmallInt,
        DataType::Integer,
        DataType::BigInt,
        DataType::Date,
        DataType::Timestamp,
        DataType::Numeric { precision: 9, scale: 2 },
        DataType::Numeric { precision: 38, scale: 0 },
        DataType::Double,
        DataType::Text,
    ];

    /// Values of `width` bits at most; as many rows of one chunk are all equal or NULL.
    fn row(random: &mut StdRng, width: u32) -> Vec<Value> {
        let of = |data_type: &DataType, value: i64| match data_type {
            DataType::SmallInt => Value::SmallInt(value as i16),
            DataType::Integer => Value::Integer(value as i32),
            DataType::BigInt => Value::BigInt(value),
            DataType::Date => Value::Date(value as i32),
            DataType::Timestamp => Value::Timestamp(value),
            DataType::Numeric { precision: 9, .. } => Value::Numeric(i128::from(value % 1000), 2),
            DataType::Numeric { .. } => Value::Numeric(i128::from(value) << 60, 0),
            DataType::Text => Value::Text("a string ".repeat(value.rem_euclid(3) as usize).into()),
            _ => Value::Double(value as f64),
        };
        let mut value = |data_type| match random.random_bool(0.1) {
            true => Value::Null,
            false => of(data_type, random.random_range(0..1i64 << width) - 3),
        };
        TYPES.iter().map(&mut value).collect()
    }

    /// Chunks as a load makes them, and one that grew row by row.
    fn table_of_all_widths(random: &mut StdRng) -> Arc<Table> {
        let table = Store::new(1).create_table(table_schema(&TYPES, Vec::new()));
        for width in [1, 8, 16, 33] {
            let rows: Vec<Vec<Value>> = (0..90).map(|_| row(random, width)).collect();
            load_in_chunks(&table, &rows, 30, Version(1));
        }
        for _ in 0..50 {
            table.insert(&row(random, 40), Version(1));
        }
        table
    }

    fn locations(view: &TableView) -> Vec<Location> {
        let of_chunk = |(id, chunk): &(ChunkId, Arc<Chunk>)| {
            let id = *id;
            (0..chunk.rows() as u32).map(move |offset| Location { chunk: id, offset })
        };
        view.chunks().iter().flat_map(of_chunk).collect()
    }

    #[test]
    fn rows_of_many_chunks_keep_their_values() {
        seeds("scattered-rows").for_each(gather_rows_of_many_chunks);
    }

    fn gather_rows_of_many_chunks(seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let view = table_of_all_widths(&mut random).view(Version(1));
        let all: Vec<Location> = locations(&view).into_iter().chain([Location::NONE]).collect();
        let any = |_| all[random.random_range(0..all.len())];
        let locations: Vec<Location> = (0..2 * ROWS).map(any).collect();
        assert!(jumps(&locations), "seed {seed}");
        for (column, data_type) in TYPES.iter().enumerate() {
            let column = ColumnId(column as u32);
            let gathered = view.gather(column, &locations);
            assert_eq!(*gathered.data_type(), data_type.arrow(), "seed {seed}");
            for (i, location) in locations.iter().enumerate() {
                let expected = view.cell(column, *location);
                assert_eq!(array_cell(&gathered, i), expected, "{data_type:?}, seed {seed}");
            }
        }
    }

    #[test]
    fn strings_with_codes_are_gathered_by_these() {
        let (store, table) = stored_table(&[DataType::Text]);
        let text = |row: usize| Value::Text(format!("string {} of seven", row * row % 7).into());
        let rows: Vec<_> = (0..3 * CHUNK_ROWS).map(|row| [text(row)]).collect();
        table.insert_rows(&rows, Version(2));
        store.publish(Version(2));
        let view = table.view(Version(2));
        let all = locations(&view);
        let some: Vec<Location> = (0..2 * ROWS).map(|i| all[i * 8_209 % all.len()]).collect();
        let (codes, dictionary) = codes(&view, ColumnId(0), &some, 20).expect("few strings");
        let gathered = view.gather(ColumnId(0), &some);
        for (i, (location, code)) in some.iter().zip(codes).enumerate() {
            let expected = view.cell(ColumnId(0), *location);
            assert_eq!(array_cell(&gathered, i), expected);
            assert_eq!(ValueRef::Text(dictionary.get(code)), expected);
        }
        assert!(super::codes(&view, ColumnId(0), &some, 2).is_none());
        let none = [some[0], Location::NONE];
        assert!(super::codes(&view, ColumnId(0), &none, 20).is_none());
    }

    #[test]
    fn whole_numbers_are_what_the_cells_hold() {
        seeds("scattered-numbers").for_each(gather_whole_numbers);
    }

    fn gather_whole_numbers(seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let view = table_of_all_widths(&mut random).view(Version(1));
        let all = locations(&view);
        let mut known = 0;
        for run in 0..400 {
            let rows = if run % 8 == 0 { 2 * ROWS } else { random.random_range(1..8) };
            let mut some: Vec<_> =
                (0..rows).map(|_| all[random.random_range(0..all.len())]).collect();
            if run % 2 == 0 {
                some.sort_unstable_by_key(|at| (at.chunk, at.offset));
            }
            for (column, data_type) in (0..).map(ColumnId).zip(TYPES) {
                let expected = some.iter().map(|&at| digits(view.cell(column, at)));
                let expected: Option<Vec<i64>> = expected.collect();
                let given = view.whole_numbers(column, &some);
                known += usize::from(given.is_some());
                match data_type {
                    DataType::Numeric { precision: 38, .. } => {
                        assert!(given.is_none() || given == expected)
                    }
                    _ => assert_eq!(given, expected, "{data_type:?}, seed {seed}"),
                }
            }
        }
        assert!(known > 500, "{known}, seed {seed}");
    }

    #[test]
    fn the_first_run_ends_with_its_chunk() {
        let at = |chunk| Location { chunk: ChunkId(chunk), offset: 7 };
        for length in [0, 1, 63, 64, 65, 200] {
            for others in [0, 1, 100] {
                let mut all = vec![at(5); length];
                all.extend(vec![at(6); others]);
                let expected = if length == 0 { others } else { length };
                assert_eq!(super::first_run(&all), expected, "{length} and {others}");
            }
        }
    }

    /// An integer, or a numeric's digits.
    fn digits(value: ValueRef<'_>) -> Option<i64> {
        match value {
            ValueRef::SmallInt(number) => Some(number.into()),
            ValueRef::Integer(number) | ValueRef::Date(number) => Some(number.into()),
            ValueRef::BigInt(number) => Some(number),
            ValueRef::Numeric(digits, _) => digits.try_into().ok(),
            _ => None,
        }
    }

    #[test]
    fn rows_of_chunks_without_nulls_keep_their_values() {
        for width in [7, 15, 31, 33] {
            let table = Store::new(1).create_table(table_schema(&[DataType::BigInt], Vec::new()));
            let value = |row: i64| row * 0x5DEE_CE66D % (1 << width) - 3;
            let rows: Vec<Vec<Value>> =
                (0..90).map(|row| vec![Value::BigInt(value(row))]).collect();
            load_in_chunks(&table, &rows, 30, Version(1));
            if width == 7 {
                // A chunk that grows has its values as they are.
                table.insert(&[Value::BigInt(5)], Version(1));
            }
            let view = table.view(Version(1));
            let all = locations(&view);
            let some: Vec<Location> = (0..2 * ROWS).map(|i| all[i * 37 % all.len()]).collect();
            let expected =
                some.iter().map(|at| digits(view.cell(ColumnId(0), *at)).expect("digits"));
            let given = without_nulls(&view, ColumnId(0), &some);
            assert_eq!(given, Some(expected.collect()), "{width} bits");
            let none = [some[0], Location::NONE];
            assert_eq!(without_nulls(&view, ColumnId(0), &none), None);
        }
    }
}
