//! CSV files: passed through as they are, so that the server counts the lines that an editor shows; the heading also
//! becomes a list of columns.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::escape::quoted;
use super::{Failure, Result};
use crate::client::PostgresClient;
use crate::report::Progress;

/// How the files are written.
#[derive(Clone, Debug, clap::Args)]
pub struct Format {
    /// Between fields: one character
    #[arg(long, value_name = "CHARACTER", default_value_t = ',')]
    delimiter: char,
    /// What stands for NULL where it is not quoted
    #[arg(long, value_name = "TEXT", default_value = "")]
    null: String,
    /// The first line is a row, not the names of the columns; the columns are the table's in order
    #[arg(long)]
    no_header: bool,
}

impl Default for Format {
    fn default() -> Format {
        Format { delimiter: ',', null: String::new(), no_header: false }
    }
}

const READ_BYTES: u64 = 64 * 1024;

/// Loads one file; returns the number of rows.
pub fn load(
    client: &mut PostgresClient,
    table: &str,
    path: &Path,
    format: &Format,
    progress: &Progress,
) -> Result<u64> {
    let failed = |error| Failure::File { path: path.to_owned(), error };
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    let (header, columns) = if format.no_header {
        (Vec::new(), String::new())
    } else {
        let header = read_record(&mut file).map_err(failed)?;
        let columns = column_list(&header, format.delimiter)
            .map_err(|message| Failure::Content { path: path.to_owned(), message })?;
        (header, columns)
    };
    let statement = copy_statement(table, &columns, format);
    let mut file = header.chain(file);
    let mut broken = None;
    let rows = client.copy_in_unless(&statement, |out| {
        let before = out.len();
        let read = file.by_ref().take(READ_BYTES).read_to_end(out).map_err(|error| {
            let reason = error.to_string();
            broken = Some(error);
            reason
        })?;
        progress.add((out.len() - before) as u64);
        Ok(read > 0)
    });
    match broken {
        Some(error) => Err(failed(error)),
        None => rows.map_err(|failure| Failure::of_copy(path, failure)),
    }
}

fn copy_statement(table: &str, columns: &str, format: &Format) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    format!(
        "COPY {table}{columns} FROM STDIN WITH (FORMAT csv, HEADER {}, DELIMITER {}, NULL {})",
        !format.no_header,
        literal(&format.delimiter.to_string()),
        literal(&format.null),
    )
}

/// The first record with its line end: quoted fields may hold line ends.
fn read_record(file: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut record = Vec::new();
    loop {
        let read = file.read_until(b'\n', &mut record)?;
        let quotes = record.iter().filter(|&&byte| byte == b'"').count();
        if read == 0 || quotes % 2 == 0 {
            return Ok(record);
        }
    }
}

/// ` ("a", "b")` from a heading.
fn column_list(header: &[u8], delimiter: char) -> std::result::Result<String, String> {
    let text = std::str::from_utf8(header).map_err(|_| "the heading is not UTF-8".to_owned())?;
    // Spreadsheets start files with a mark of the byte order.
    let text = text.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
    let mut names = Vec::new();
    let mut name = String::new();
    let mut inside = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if inside && characters.peek() == Some(&'"') => {
                characters.next();
                name.push('"');
            }
            '"' => inside = !inside,
            _ if character == delimiter && !inside => names.push(std::mem::take(&mut name)),
            _ => name.push(character),
        }
    }
    names.push(name);
    match names.iter().position(|name| name.trim().is_empty()) {
        Some(at) => Err(format!("column {} of the heading has no name", at + 1)),
        None => {
            let names: Vec<String> = names.iter().map(|name| quoted(name.trim())).collect();
            Ok(format!(" ({})", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_columns() {
        let list = |header: &str| column_list(header.as_bytes(), ',');
        assert_eq!(list("a,b\r\n").unwrap(), " (\"a\", \"b\")");
        assert_eq!(list("\u{feff}\"x,\"\"y\"\"\", b\n").unwrap(), " (\"x,\"\"y\"\"\", \"b\")");
        assert!(list("a,,b\n").is_err());
        assert!(column_list(&[0xff, b'\n'], ',').is_err());
    }

    #[test]
    fn a_record_may_span_lines() {
        let mut file = std::io::Cursor::new("\"a\nb\",c\n1,2\n");
        assert_eq!(read_record(&mut file).unwrap(), b"\"a\nb\",c\n");
        assert_eq!(read_record(&mut file).unwrap(), b"1,2\n");
        assert_eq!(read_record(&mut file).unwrap(), b"");
    }

    #[test]
    fn the_statement_quotes_what_it_is_given() {
        let format = Format { delimiter: ';', null: "it's".to_owned(), no_header: true };
        let expected =
            "COPY t FROM STDIN WITH (FORMAT csv, HEADER false, DELIMITER ';', NULL 'it''s')";
        assert_eq!(copy_statement("t", "", &format), expected);
    }
}
