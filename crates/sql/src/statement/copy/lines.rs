//! Bytes to fields: text and CSV lines, cut wherever the client's messages happen to end.

use engine::types::{Error, Result, SqlState};
use memchr::{memchr, memchr_iter, memchr2};

use super::options::Format;

/// What a line was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A row; its fields lie in [`Fields`].
    Row,
    /// `\.`: the client says that nothing more comes.
    End,
    /// Bytes are missing.
    Incomplete,
}

/// The fields of one line, in one buffer that is used again for the next.
#[derive(Debug, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

/// Where a field lies in the buffer.
#[derive(Clone, Copy, Debug)]
struct Field {
    start: usize,
    end: usize,
    is_null: bool,
}

impl Fields {
    /// Number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field's text; `None` for NULL.
    pub fn get(&self, position: usize) -> Result<Option<&str>> {
        let Field { start, end, is_null } = self.fields[position];
        if is_null {
            return Ok(None);
        }
        let bytes = &self.bytes[start..end];
        if memchr(0, bytes).is_some() {
            return Err(invalid_bytes("0x00"));
        }
        std::str::from_utf8(bytes).map(Some).map_err(|error| {
            let broken = &bytes[error.valid_up_to()..];
            let length = crate::text::sequence_length(broken[0]).min(broken.len());
            let shown: Vec<String> =
                broken[..length].iter().map(|byte| format!("0x{byte:02x}")).collect();
            invalid_bytes(&shown.join(" "))
        })
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }

    /// Ends the field that began where the one before ended.
    fn end(&mut self, is_null: bool) {
        let start = self.fields.last().map_or(0, |before| before.end);
        self.fields.push(Field { start, end: self.bytes.len(), is_null });
    }

    /// Takes a line that needs no unescaping as it is.
    fn take_plain(&mut self, line: &[u8], format: &Format) {
        self.bytes.extend_from_slice(line);
        let mut start = 0;
        for end in memchr_iter(format.delimiter, line).chain([line.len()]) {
            let is_null = line[start..end] == *format.null;
            self.fields.push(Field { start, end, is_null });
            start = end + 1;
        }
    }
}

fn invalid_bytes(bytes: &str) -> Error {
    let message = format!("invalid byte sequence for encoding \"UTF8\": {bytes}");
    Error::new(SqlState::InvalidByteSequence, message)
}

/// Reads one line from `input`; gives what it was and how many bytes it took. `last`: no more bytes
/// will come.
pub fn read(
    format: &Format,
    input: &[u8],
    last: bool,
    fields: &mut Fields,
) -> Result<(Line, usize)> {
    fields.clear();
    if format.csv {
        read_csv(format, input, last, fields)
    } else {
        read_text(format, input, last, fields)
    }
}

fn read_text(
    format: &Format,
    input: &[u8],
    last: bool,
    fields: &mut Fields,
) -> Result<(Line, usize)> {
    let Some((length, next)) = text_line(input, last) else { return Ok((Line::Incomplete, 0)) };
    let line = &input[..length];
    if line == b"\\." {
        return Ok((Line::End, next));
    }
    if memchr(b'\\', line).is_none() {
        fields.take_plain(line, format);
        return Ok((Line::Row, next));
    }
    let mut rest = line;
    loop {
        let end = field_end(rest, format.delimiter);
        let raw = &rest[..end];
        if raw == format.null.as_slice() {
            fields.end(true);
        } else {
            unescape(raw, &mut fields.bytes);
            fields.end(false);
        }
        match rest.get(end + 1..) {
            Some(after) if end < rest.len() => rest = after,
            _ => break,
        }
    }
    Ok((Line::Row, next))
}

/// The length of the first line, and where the next starts. A backslash before a newline keeps it
/// in the line.
fn text_line(input: &[u8], last: bool) -> Option<(usize, usize)> {
    let mut at = 0;
    while let Some(found) = memchr2(b'\n', b'\\', &input[at..]) {
        let position = at + found;
        if input[position] == b'\n' {
            let length = if input[..position].ends_with(b"\r") { position - 1 } else { position };
            return Some((length, position + 1));
        }
        at = (position + 2).min(input.len());
    }
    (last && !input.is_empty()).then_some((input.len(), input.len()))
}

fn field_end(line: &[u8], delimiter: u8) -> usize {
    let mut at = 0;
    while let Some(found) = memchr2(delimiter, b'\\', &line[at..]) {
        if line[at + found] == delimiter {
            return at + found;
        }
        at = (at + found + 2).min(line.len());
    }
    line.len()
}

fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some(found) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..found]);
        rest = escape_sequence(&rest[found + 1..], out);
    }
    out.extend_from_slice(rest);
}

/// Takes what follows a backslash.
fn escape_sequence<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some((first, after)) = rest.split_first() else {
        out.push(b'\\');
        return rest;
    };
    let plain = match first {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'0'..=b'7' => return numbered(rest, 8, 3, out),
        b'x' if after.first().is_some_and(u8::is_ascii_hexdigit) => {
            return numbered(after, 16, 2, out);
        }
        other => *other,
    };
    out.push(plain);
    after
}

fn numbered<'a>(digits: &'a [u8], radix: u32, most: usize, out: &mut Vec<u8>) -> &'a [u8] {
    let mut value = 0u32;
    let mut used = 0;
    while used < most
        && let Some(digit) = digits.get(used).and_then(|b| (*b as char).to_digit(radix))
    {
        value = value * radix + digit;
        used += 1;
    }
    out.push(value as u8);
    &digits[used..]
}

fn read_csv(
    format: &Format,
    input: &[u8],
    last: bool,
    fields: &mut Fields,
) -> Result<(Line, usize)> {
    if input.is_empty() {
        return Ok((Line::Incomplete, 0));
    }
    let mut at = 0;
    let mut start = 0;
    let mut was_quoted = false;
    while at < input.len() {
        let byte = input[at];
        if byte == format.quote {
            was_quoted = true;
            match quoted(format, input, at + 1, fields) {
                // The quote may be the first half of a doubled one.
                Some(after) if after == input.len() && !last => return Ok((Line::Incomplete, 0)),
                Some(after) => at = after,
                None if last => {
                    return Err(Error::new(
                        SqlState::BadCopyFormat,
                        "unterminated CSV quoted field",
                    ));
                }
                None => return Ok((Line::Incomplete, 0)),
            }
        } else if byte == format.delimiter {
            end_csv_field(format, fields, start, was_quoted);
            (start, was_quoted) = (fields.bytes.len(), false);
            at += 1;
        } else if byte == b'\n' || byte == b'\r' {
            if byte == b'\r' && at + 1 == input.len() && !last {
                return Ok((Line::Incomplete, 0));
            }
            let crlf = byte == b'\r' && input.get(at + 1) == Some(&b'\n');
            let next = at + 1 + usize::from(crlf);
            return Ok((finish_csv(format, &input[..at], fields, start, was_quoted), next));
        } else {
            fields.bytes.push(byte);
            at += 1;
        }
    }
    match last {
        true => Ok((finish_csv(format, input, fields, start, was_quoted), input.len())),
        false => Ok((Line::Incomplete, 0)),
    }
}

fn finish_csv(
    format: &Format,
    line: &[u8],
    fields: &mut Fields,
    start: usize,
    was_quoted: bool,
) -> Line {
    if line == b"\\." {
        return Line::End;
    }
    end_csv_field(format, fields, start, was_quoted);
    Line::Row
}

/// An unquoted field that spells NULL is NULL.
fn end_csv_field(format: &Format, fields: &mut Fields, start: usize, was_quoted: bool) {
    let is_null = !was_quoted && fields.bytes[start..] == *format.null;
    if is_null {
        fields.bytes.truncate(start);
    }
    fields.end(is_null);
}

/// Copies to the closing quote; gives the byte after it.
fn quoted(format: &Format, input: &[u8], start: usize, fields: &mut Fields) -> Option<usize> {
    let mut at = start;
    while at < input.len() {
        let byte = input[at];
        if byte == format.escape && (byte != format.quote || input.get(at + 1) == Some(&byte)) {
            let next = *input.get(at + 1)?;
            if next == format.quote || next == format.escape {
                fields.bytes.push(next);
                at += 2;
                continue;
            }
        }
        if byte == format.quote {
            return Some(at + 1);
        }
        fields.bytes.push(byte);
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::ast::{CopyLegacyOption, CopyOption, Ident};

    fn text() -> Format {
        Format::new(&[], &[], true).expect("valid")
    }

    fn csv() -> Format {
        Format::new(&[CopyOption::Format(Ident::new("csv"))], &[], true).expect("valid")
    }

    /// All rows, with the input cut after `step` bytes at a time.
    fn rows(format: &Format, input: &[u8], step: usize) -> Vec<Vec<Option<String>>> {
        let mut rows = Vec::new();
        let mut fields = Fields::default();
        let (mut pending, mut fed) = (Vec::new(), 0);
        loop {
            let last = fed == input.len();
            match read(format, &pending, last, &mut fields).expect("well formed") {
                (Line::Row, used) => {
                    let get = |i| fields.get(i).expect("utf8").map(str::to_owned);
                    rows.push((0..fields.len()).map(get).collect());
                    pending.drain(..used);
                }
                (Line::End, _) => return rows,
                (Line::Incomplete, _) if last => return rows,
                (Line::Incomplete, _) => {
                    let end = (fed + step).min(input.len());
                    pending.extend_from_slice(&input[fed..end]);
                    fed = end;
                }
            }
        }
    }

    fn row(fields: &[Option<&str>]) -> Vec<Option<String>> {
        fields.iter().map(|field| field.map(str::to_owned)).collect()
    }

    #[test]
    fn text_lines_are_unescaped_wherever_they_are_cut() {
        let input = b"1\ta\\tb\\\\\t\\N\n2\t\\x41\\101\tx\\\ny\r\n3\t\t\\.\n\\.\nignored\n";
        for step in [1, 2, 3, 7, 100] {
            let expected = vec![
                row(&[Some("1"), Some("a\tb\\"), None]),
                row(&[Some("2"), Some("AA"), Some("x\ny")]),
                row(&[Some("3"), Some(""), Some(".")]),
            ];
            assert_eq!(rows(&text(), input, step), expected, "step {step}");
        }
    }

    #[test]
    fn csv_fields_keep_quotes_and_newlines() {
        let input = b"1,\"a,\"\"b\"\"\n\",\n2,,\"\"\r\nx\"y\"z,3,4";
        for step in [1, 2, 5, 100] {
            let expected = vec![
                row(&[Some("1"), Some("a,\"b\"\n"), None]),
                row(&[Some("2"), None, Some("")]),
                row(&[Some("xyz"), Some("3"), Some("4")]),
            ];
            assert_eq!(rows(&csv(), input, step), expected, "step {step}");
        }
    }

    #[test]
    fn an_unclosed_quote_is_a_fault() {
        let fault = read(&csv(), b"\"abc", true, &mut Fields::default()).expect_err("open");
        assert_eq!(fault.state.code(), "22P04");
        let legacy = Format::new(&[], &[CopyLegacyOption::Delimiter('|')], true).expect("valid");
        assert_eq!(rows(&legacy, b"a|b\n", 1), [row(&[Some("a"), Some("b")])]);
    }
}
