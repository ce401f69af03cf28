//! Parquet files: columns of numbers, texts, dates and times, decoded batch by batch into COPY text.
//!
//! Lists, maps and structures are refused: a table has no place for them.

use std::fs::File;
use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray, Int96};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::escape::{append_bytes, append_text, quoted};
use super::{Failure, Result};
use crate::bookstore::{date_text, timestamp_text};
use crate::client::PostgresClient;
use crate::report::Progress;

/// Rows decoded at a time.
const BATCH: usize = 4_096;

/// What the values of a column mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Boolean,
    Integer {
        bits: u8,
    },
    /// 64 bits without sign: more than `bigint` holds.
    Unsigned,
    Real,
    Double,
    Decimal {
        precision: i32,
        scale: i32,
    },
    Text,
    Bytes,
    Uuid,
    Date,
    /// So many of its units are a second.
    Timestamp {
        per_second: i64,
        utc: bool,
    },
    /// The old form of twelve bytes.
    Int96,
}

impl Form {
    fn of(column: &ColumnDescriptor) -> std::result::Result<Form, String> {
        let refused = || Err(format!("column {} has a type without counterpart", column.name()));
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Err(format!("column {} is nested", column.path()));
        }
        if let Some(logical) = column.logical_type_ref() {
            return Form::of_logical(logical).map_or_else(refused, Ok);
        }
        let decimal =
            Form::Decimal { precision: column.type_precision(), scale: column.type_scale() };
        Ok(match column.converted_type() {
            ConvertedType::NONE => return Ok(Form::of_physical(column.physical_type())),
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Form::Text,
            ConvertedType::DECIMAL => decimal,
            ConvertedType::DATE => Form::Date,
            ConvertedType::TIMESTAMP_MILLIS => Form::Timestamp { per_second: 1_000, utc: true },
            ConvertedType::TIMESTAMP_MICROS => Form::Timestamp { per_second: 1_000_000, utc: true },
            ConvertedType::INT_8 | ConvertedType::INT_16 | ConvertedType::UINT_8 => {
                Form::Integer { bits: 16 }
            }
            ConvertedType::INT_32 | ConvertedType::UINT_16 => Form::Integer { bits: 32 },
            ConvertedType::INT_64 | ConvertedType::UINT_32 => Form::Integer { bits: 64 },
            ConvertedType::UINT_64 => Form::Unsigned,
            _ => return refused(),
        })
    }

    fn of_logical(logical: &LogicalType) -> Option<Form> {
        Some(match logical {
            LogicalType::String | LogicalType::Enum | LogicalType::Json => Form::Text,
            LogicalType::Decimal(of) => Form::Decimal { precision: of.precision, scale: of.scale },
            LogicalType::Date => Form::Date,
            LogicalType::Timestamp(of) => {
                let per_second = match of.unit {
                    TimeUnit::MILLIS => 1_000,
                    TimeUnit::MICROS => 1_000_000,
                    TimeUnit::NANOS => 1_000_000_000,
                };
                Form::Timestamp { per_second, utc: of.is_adjusted_to_u_t_c }
            }
            LogicalType::Integer(of) => match (of.bit_width, of.is_signed) {
                (8, _) | (16, true) => Form::Integer { bits: 16 },
                (16, false) | (32, true) => Form::Integer { bits: 32 },
                (32, false) | (_, true) => Form::Integer { bits: 64 },
                (_, false) => Form::Unsigned,
            },
            LogicalType::Uuid => Form::Uuid,
            _ => return None,
        })
    }

    fn of_physical(physical: PhysicalType) -> Form {
        match physical {
            PhysicalType::BOOLEAN => Form::Boolean,
            PhysicalType::INT32 => Form::Integer { bits: 32 },
            PhysicalType::INT64 => Form::Integer { bits: 64 },
            PhysicalType::INT96 => Form::Int96,
            PhysicalType::FLOAT => Form::Real,
            PhysicalType::DOUBLE => Form::Double,
            PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => Form::Bytes,
        }
    }

    fn sql_type(self) -> String {
        match self {
            Form::Boolean => "boolean".to_owned(),
            Form::Integer { bits: 16 } => "smallint".to_owned(),
            Form::Integer { bits: 32 } => "integer".to_owned(),
            Form::Integer { .. } => "bigint".to_owned(),
            Form::Unsigned => "numeric(20, 0)".to_owned(),
            Form::Real => "real".to_owned(),
            Form::Double => "double precision".to_owned(),
            Form::Decimal { precision, scale } => format!("numeric({precision}, {scale})"),
            Form::Text => "text".to_owned(),
            Form::Bytes => "bytea".to_owned(),
            Form::Uuid => "uuid".to_owned(),
            Form::Date => "date".to_owned(),
            Form::Timestamp { utc: true, .. } => "timestamptz".to_owned(),
            Form::Timestamp { .. } | Form::Int96 => "timestamp".to_owned(),
        }
    }

    /// Appends a value that is kept as an integer.
    fn append_integer(self, value: i64, out: &mut Vec<u8>) {
        let text = match self {
            Form::Decimal { scale, .. } => decimal_text(value.into(), scale),
            Form::Unsigned => (value as u64).to_string(),
            // The unsigned ones of 32 bits and less are in signed 32.
            Form::Integer { bits: 64 } => value.to_string(),
            Form::Date => date_text(value as i32),
            Form::Timestamp { per_second, utc } => {
                let micros = i128::from(value) * 1_000_000 / i128::from(per_second);
                let zone = if utc { "+00" } else { "" };
                format!("{}{zone}", instant_text(micros as i64))
            }
            _ => value.to_string(),
        };
        out.extend_from_slice(text.as_bytes());
    }

    /// Appends a value that is kept as bytes.
    fn append_bytes(self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Form::Text => append_text(out, bytes),
            Form::Decimal { scale, .. } => {
                out.extend_from_slice(decimal_text(big_endian(bytes), scale).as_bytes());
            }
            Form::Uuid => {
                bytes.iter().for_each(|b| out.extend_from_slice(format!("{b:02x}").as_bytes()))
            }
            _ => append_bytes(out, bytes),
        }
    }
}

/// With six digits after the second.
fn instant_text(micros: i64) -> String {
    format!("{}.{:06}", timestamp_text(micros), micros.rem_euclid(1_000_000))
}

/// Two's complement of at most 16 bytes: what a decimal of 38 digits needs.
fn big_endian(bytes: &[u8]) -> i128 {
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let start = if negative { -1 } else { 0 };
    bytes.iter().fold(start, |value: i128, &byte| (value << 8) | i128::from(byte))
}

fn decimal_text(unscaled: i128, scale: i32) -> String {
    let scale = scale.max(0) as usize;
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Decoded values of one column, without the NULLs.
enum Values {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<Int96>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// One column of a row group, a batch at a time.
struct Column {
    form: Form,
    unsigned_32: bool,
    nullable: bool,
    reader: ColumnReader,
    levels: Vec<i16>,
    values: Values,
    next_value: usize,
}

impl Column {
    fn new(descriptor: &ColumnDescriptor, form: Form, reader: ColumnReader) -> Column {
        let values = match &reader {
            ColumnReader::BoolColumnReader(_) => Values::Boolean(Vec::new()),
            ColumnReader::Int32ColumnReader(_) => Values::Int32(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::Int64(Vec::new()),
            ColumnReader::Int96ColumnReader(_) => Values::Int96(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::Float(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::Double(Vec::new()),
            ColumnReader::ByteArrayColumnReader(_) => Values::Bytes(Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(_) => Values::Fixed(Vec::new()),
        };
        let nullable = descriptor.max_def_level() > 0;
        let unsigned_32 =
            descriptor.physical_type() == PhysicalType::INT32 && form == Form::Integer { bits: 64 };
        Column { form, unsigned_32, nullable, reader, levels: Vec::new(), values, next_value: 0 }
    }

    /// Reads the next `rows` rows.
    fn fill(&mut self, rows: usize) -> std::result::Result<(), ParquetError> {
        self.next_value = 0;
        let levels = &mut self.levels;
        match (&mut self.reader, &mut self.values) {
            (ColumnReader::BoolColumnReader(r), Values::Boolean(v)) => read(r, rows, levels, v),
            (ColumnReader::Int32ColumnReader(r), Values::Int32(v)) => read(r, rows, levels, v),
            (ColumnReader::Int64ColumnReader(r), Values::Int64(v)) => read(r, rows, levels, v),
            (ColumnReader::Int96ColumnReader(r), Values::Int96(v)) => read(r, rows, levels, v),
            (ColumnReader::FloatColumnReader(r), Values::Float(v)) => read(r, rows, levels, v),
            (ColumnReader::DoubleColumnReader(r), Values::Double(v)) => read(r, rows, levels, v),
            (ColumnReader::ByteArrayColumnReader(r), Values::Bytes(v)) => read(r, rows, levels, v),
            (ColumnReader::FixedLenByteArrayColumnReader(r), Values::Fixed(v)) => {
                read(r, rows, levels, v)
            }
            _ => unreachable!("values are of the reader's type"),
        }
    }

    /// Appends the value of a row; rows are asked for in order.
    fn append(&mut self, row: usize, out: &mut Vec<u8>) {
        if self.nullable && self.levels[row] == 0 {
            out.extend_from_slice(b"\\N");
            return;
        }
        let at = self.next_value;
        self.next_value += 1;
        match &self.values {
            Values::Boolean(values) => out.push(if values[at] { b't' } else { b'f' }),
            Values::Int32(values) if self.unsigned_32 => {
                self.form.append_integer(i64::from(values[at] as u32), out);
            }
            Values::Int32(values) => self.form.append_integer(values[at].into(), out),
            Values::Int64(values) => self.form.append_integer(values[at], out),
            Values::Int96(values) => {
                out.extend_from_slice(instant_text(values[at].to_micros()).as_bytes());
            }
            Values::Float(values) => append_float(values[at].into(), &values[at].to_string(), out),
            Values::Double(values) => append_float(values[at], &values[at].to_string(), out),
            Values::Bytes(values) => self.form.append_bytes(values[at].data(), out),
            Values::Fixed(values) => self.form.append_bytes(values[at].data(), out),
        }
    }
}

/// PostgreSQL's words for what is no number.
fn append_float(value: f64, text: &str, out: &mut Vec<u8>) {
    let text = match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => text,
    };
    out.extend_from_slice(text.as_bytes());
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> std::result::Result<(), ParquetError> {
    levels.clear();
    values.clear();
    let mut done = 0;
    while done < rows {
        let (records, _, _) = reader.read_records(rows - done, Some(levels), None, values)?;
        if records == 0 {
            return Err(ParquetError::EOF(format!("{} rows are missing", rows - done)));
        }
        done += records;
    }
    Ok(())
}

/// One opened file.
struct Source<'a> {
    path: &'a Path,
    reader: SerializedFileReader<File>,
    forms: Vec<Form>,
}

impl<'a> Source<'a> {
    fn open(path: &'a Path) -> Result<Source<'a>> {
        let file =
            File::open(path).map_err(|error| Failure::File { path: path.to_owned(), error })?;
        let reader = SerializedFileReader::new(file).map_err(|error| broken(path, &error))?;
        let columns = reader.metadata().file_metadata().schema_descr().columns();
        let forms =
            columns.iter().map(|column| Form::of(column)).collect::<std::result::Result<_, _>>();
        let forms = forms.map_err(|message| Failure::Content { path: path.to_owned(), message })?;
        Ok(Source { path, reader, forms })
    }

    fn columns(&self) -> impl Iterator<Item = (&ColumnDescriptor, Form)> {
        let columns = self.reader.metadata().file_metadata().schema_descr().columns();
        columns.iter().map(|column| &**column).zip(self.forms.iter().copied())
    }

    /// Hands batches of rows as COPY text to `take`; the number is that of the row group's bytes done so far.
    fn rows(&self, mut take: impl FnMut(Vec<u8>, u64) -> bool) -> Result<()> {
        let failed = |error: ParquetError| broken(self.path, &error);
        for number in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(number).map_err(failed)?;
            let mut columns = Vec::with_capacity(self.forms.len());
            for (at, (descriptor, form)) in self.columns().enumerate() {
                let reader = group.get_column_reader(at).map_err(failed)?;
                columns.push(Column::new(descriptor, form, reader));
            }
            let total = group.metadata().num_rows() as usize;
            let bytes = group.metadata().compressed_size() as u64;
            for start in (0..total).step_by(BATCH) {
                let rows = BATCH.min(total - start);
                columns.iter_mut().try_for_each(|column| column.fill(rows)).map_err(failed)?;
                let done = bytes * rows as u64 / total as u64;
                if !take(lines(&mut columns, rows), done) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

fn lines(columns: &mut [Column], rows: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows * columns.len() * 8);
    for row in 0..rows {
        for (at, column) in columns.iter_mut().enumerate() {
            if at > 0 {
                out.push(b'\t');
            }
            column.append(row, &mut out);
        }
        out.push(b'\n');
    }
    out
}

fn broken(path: &Path, error: &ParquetError) -> Failure {
    Failure::Content { path: path.to_owned(), message: error.to_string() }
}

/// `CREATE TABLE` with the columns of a file.
pub fn create_statement(table: &str, path: &Path) -> Result<String> {
    let source = Source::open(path)?;
    let columns: Vec<String> = source
        .columns()
        .map(|(column, form)| {
            let missing = if column.max_def_level() == 0 { " NOT NULL" } else { "" };
            format!("{} {}{missing}", quoted(column.name()), form.sql_type())
        })
        .collect();
    Ok(format!("CREATE TABLE {table} ({})", columns.join(", ")))
}

/// Loads one file into columns of the same names; returns the number of rows.
pub fn load(
    client: &mut PostgresClient,
    table: &str,
    path: &Path,
    progress: &Progress,
) -> Result<u64> {
    let source = Source::open(path)?;
    let names: Vec<String> = source.columns().map(|(column, _)| quoted(column.name())).collect();
    let statement = format!("COPY {table} ({}) FROM STDIN", names.join(", "));
    // Decoding and sending overlap.
    let (sender, receiver) = std::sync::mpsc::sync_channel::<(Vec<u8>, u64)>(4);
    std::thread::scope(|scope| {
        let decoder =
            scope.spawn(move || source.rows(|rows, done| sender.send((rows, done)).is_ok()));
        let mut decoder = Some(decoder);
        let mut outcome = Ok(());
        let rows = client.copy_in_unless(&statement, |out| match receiver.recv() {
            Ok((rows, done)) => {
                out.extend_from_slice(&rows);
                progress.add(done);
                Ok(true)
            }
            Err(_) => {
                let ended = decoder.take().expect("the channel closes once");
                outcome = ended.join().expect("the decoder panicked");
                match &outcome {
                    Ok(()) => Ok(false),
                    Err(failure) => Err(failure.to_string()),
                }
            }
        });
        drop(receiver);
        outcome?;
        rows.map_err(|failure| Failure::of_copy(path, failure))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::data_type::{
        BoolType, ByteArrayType, DoubleType, FixedLenByteArrayType, Int32Type, Int64Type,
    };
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    const SCHEMA: &str = "message t {
        required int32 id;
        optional binary name (UTF8);
        required int32 day (DATE);
        optional int64 at (TIMESTAMP(MICROS,false));
        required int64 price (DECIMAL(15,2));
        required fixed_len_byte_array(3) wide (DECIMAL(5,1));
        optional boolean flag;
        required double ratio;
        required int32 count (INTEGER(32,false));
    }";

    fn file(folder: &Path, schema: &str) -> std::path::PathBuf {
        let path = folder.join("t.parquet");
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let target = File::create(&path).unwrap();
        let mut writer = SerializedFileWriter::new(target, schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let name = [ByteArray::from("a\tb\\")];
        macro_rules! column {
            ($type:ty, $values:expr, $levels:expr) => {
                let mut column = group.next_column().unwrap().unwrap();
                column.typed::<$type>().write_batch($values, $levels, None).unwrap();
                column.close().unwrap();
            };
        }
        column!(Int32Type, &[1, -2], None);
        column!(ByteArrayType, &name, Some(&[1, 0]));
        column!(Int32Type, &[0, 10_957], None);
        column!(Int64Type, &[1_500_000], Some(&[0, 1]));
        column!(Int64Type, &[-5, 123_456], None);
        let wide = [vec![0xff, 0xff, 0xf6], vec![0, 1, 0]];
        let wide = wide.map(|bytes| FixedLenByteArray::from(ByteArray::from(bytes)));
        column!(FixedLenByteArrayType, &wide, None);
        column!(BoolType, &[true], Some(&[1, 0]));
        column!(DoubleType, &[0.5, f64::NEG_INFINITY], None);
        column!(Int32Type, &[7, -1], None);
        group.close().unwrap();
        writer.close().unwrap();
        path
    }

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn values_become_copy_text() {
        let folder = folder("parquet-values");
        let path = file(&folder, SCHEMA);
        let mut text = Vec::new();
        let source = Source::open(&path).unwrap();
        source
            .rows(|rows, _| {
                text.extend_from_slice(&rows);
                true
            })
            .unwrap();
        let expected = "1\ta\\tb\\\\\t1970-01-01\t\\N\t-0.05\t-1.0\tt\t0.5\t7\n\
                        -2\t\\N\t2000-01-01\t1970-01-01 00:00:01.500000\t1234.56\t25.6\t\\N\t-Infinity\t4294967295\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        let create = create_statement("t", &path).unwrap();
        let expected = "CREATE TABLE t (\"id\" integer NOT NULL, \"name\" text, \"day\" date NOT NULL, \
                        \"at\" timestamp, \"price\" numeric(15, 2) NOT NULL, \"wide\" numeric(5, 1) NOT NULL, \
                        \"flag\" boolean, \"ratio\" double precision NOT NULL, \"count\" bigint NOT NULL)";
        assert_eq!(create, expected);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_parquet_is_refused() {
        let folder = folder("parquet-broken");
        let path = folder.join("t.parquet");
        std::fs::write(&path, "PAR1 but no more").unwrap();
        assert!(matches!(Source::open(&path), Err(Failure::Content { .. })));
        let absent = folder.join("absent");
        assert!(matches!(Source::open(&absent), Err(Failure::File { .. })));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn lists_are_refused() {
        let schema = "message t { optional group l (LIST) { repeated group list { optional int32 element; } } }";
        let schema = parse_message_type(schema).unwrap();
        let descriptor = parquet::schema::types::SchemaDescriptor::new(Arc::new(schema));
        assert!(Form::of(&descriptor.column(0)).unwrap_err().contains("nested"));
    }

    #[test]
    fn decimals_of_any_width() {
        assert_eq!(decimal_text(big_endian(&[0x80, 0]), 3), "-32.768");
        assert_eq!(decimal_text(big_endian(&[0x7f, 0xff]), 0), "32767");
        assert_eq!(decimal_text(big_endian(&[]), 2), "0.00");
    }
}
