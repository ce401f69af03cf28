//! Arrays as text: what `array_in` and `array_out` do in PostgreSQL 15.
//!
//! In comes an array literal, out go the texts of its elements, or PostgreSQL's fault; the other way round an element's text goes
//! out as a literal has it.

use engine::types::{Error, Result, SqlState};

/// PostgreSQL's limit of dimensions.
const MOST_DIMENSIONS: usize = 6;

/// What an array literal says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayText {
    /// Lower bound and length, dimension by dimension; none where there are no elements.
    pub dimensions: Vec<(i32, usize)>,
    /// The elements' texts, `None` for NULL.
    pub elements: Vec<Option<String>>,
}

/// Reads an array literal.
pub fn parse_array(text: &str) -> Result<ArrayText> {
    let (given, body) = given_dimensions(text)?;
    let lengths = lengths(text, body)?;
    let dimensions = match given {
        None => lengths.iter().map(|length| (1, *length)).collect(),
        Some(given) => {
            if !given.iter().map(|(_, length)| length).eq(&lengths) {
                let detail = "Specified array dimensions do not match array contents.";
                return Err(malformed(text, detail));
            }
            given
        }
    };
    let elements = if lengths.is_empty() { Vec::new() } else { elements(body) };
    Ok(ArrayText { dimensions, elements })
}

fn malformed(text: &str, detail: impl Into<String>) -> Error {
    let message = format!("malformed array literal: \"{text}\"");
    Error::new(SqlState::InvalidTextRepresentation, message).detail(detail)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn without_space(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

type Dimensions = Vec<(i32, usize)>;

/// `[1:3]=` in front of the braces, and what is behind it.
fn given_dimensions(text: &str) -> Result<(Option<Dimensions>, &str)> {
    let mut rest = without_space(text);
    let mut given = Vec::new();
    while let Some(inner) = rest.strip_prefix('[') {
        if given.len() == MOST_DIMENSIONS {
            return Err(too_many(given.len() + 1));
        }
        let (bounds, behind) = bounds(text, inner)?;
        given.push(bounds);
        rest = without_space(behind);
    }
    if given.is_empty() {
        let detail = "Array value must start with \"{\" or dimension information.";
        return match rest.starts_with('{') {
            true => Ok((None, rest)),
            false => Err(malformed(text, detail)),
        };
    }
    let Some(body) = rest.strip_prefix('=') else {
        return Err(malformed(text, "Missing \"=\" after array dimensions."));
    };
    let body = without_space(body);
    match body.starts_with('{') {
        true => Ok((Some(given), body)),
        false => Err(malformed(text, "Array contents must start with \"{\".")),
    }
}

/// `1:3]` or `3]`: the lower bound and the length of a dimension.
fn bounds<'a>(text: &str, inner: &'a str) -> Result<((i32, usize), &'a str)> {
    let (first, mut rest) = number(inner);
    if first.is_empty() {
        let detail = "\"[\" must introduce explicitly-specified array dimensions.";
        return Err(malformed(text, detail));
    }
    let (mut lower, mut upper) = (1, value(first));
    if let Some(behind) = rest.strip_prefix(':') {
        let (second, behind) = number(behind);
        if second.is_empty() {
            return Err(malformed(text, "Missing array dimension value."));
        }
        (lower, upper, rest) = (value(first), value(second), behind);
    }
    let Some(rest) = rest.strip_prefix(']') else {
        return Err(malformed(text, "Missing \"]\" after array dimensions."));
    };
    if upper < lower {
        let message = "upper bound cannot be less than lower bound";
        return Err(Error::new(SqlState::ArraySubscript, message));
    }
    let length = i64::from(upper) - i64::from(lower) + 1;
    Ok(((lower, usize::try_from(length).unwrap_or(0)), rest))
}

/// The characters of a number, and what is behind them.
fn number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-' && c != '+');
    text.split_at(end.unwrap_or(text.len()))
}

/// C's `atoi`: what is no number counts as far as it is one.
fn value(text: &str) -> i32 {
    let digits = text.trim_start_matches(['+', '-']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let magnitude: i32 = digits[..end].parse().unwrap_or(0);
    if text.starts_with('-') { -magnitude } else { magnitude }
}

fn too_many(dimensions: usize) -> Error {
    let message = format!(
        "number of array dimensions ({dimensions}) exceeds the maximum allowed ({MOST_DIMENSIONS})"
    );
    Error::new(SqlState::ProgramLimit, message)
}

/// What has been read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nothing,
    LevelStarted,
    ElementStarted,
    QuotedStarted,
    QuotedCompleted,
    ElementDelimited,
    LevelCompleted,
    LevelDelimited,
}

/// Counts what lies between braces, and refuses what is no array.
struct Count<'a> {
    text: &'a str,
    state: State,
    in_quotes: bool,
    is_empty: bool,
    level: usize,
    dimensions: usize,
    /// Elements of each level so far, those of the array that is open, and those of the last one of that level.
    lengths: [usize; MOST_DIMENSIONS],
    open: [usize; MOST_DIMENSIONS],
    last: [usize; MOST_DIMENSIONS],
}

/// The lengths of an array's dimensions, by its braces; none where it is empty.
fn lengths(text: &str, body: &str) -> Result<Vec<usize>> {
    let mut count = Count {
        text,
        state: State::Nothing,
        in_quotes: false,
        is_empty: true,
        level: 0,
        dimensions: 1,
        lengths: [1; MOST_DIMENSIONS],
        open: [1; MOST_DIMENSIONS],
        last: [1; MOST_DIMENSIONS],
    };
    let end = count.run(body.as_bytes())?;
    if body.as_bytes()[end..].iter().any(|byte| !is_space(*byte)) {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    match count.is_empty {
        true => Ok(Vec::new()),
        false => Ok(count.lengths[..count.dimensions].to_vec()),
    }
}

impl Count<'_> {
    fn fault<T>(&self, detail: &str) -> Result<T> {
        Err(malformed(self.text, detail))
    }

    fn unexpected<T>(&self, byte: char) -> Result<T> {
        self.fault(&format!("Unexpected \"{byte}\" character."))
    }

    fn is_one_of(&self, states: &[State]) -> bool {
        states.contains(&self.state)
    }

    /// Reads up to the brace that closes the array; the place behind it.
    fn run(&mut self, body: &[u8]) -> Result<usize> {
        let mut place = 0;
        loop {
            self.is_empty &= !self.is_one_of(&[State::ElementStarted, State::QuotedStarted]);
            let Some(byte) = body.get(place) else { return self.fault("Unexpected end of input.") };
            match byte {
                b'\\' => {
                    self.escape()?;
                    place += 1;
                    if place == body.len() {
                        return self.fault("Unexpected end of input.");
                    }
                }
                b'"' => self.quote()?,
                _ if self.in_quotes => {}
                b'{' => self.enter()?,
                b'}' => {
                    let is_outermost = self.leave()?;
                    if is_outermost {
                        self.lengths[self.dimensions - 1] += 1;
                        return Ok(place + 1);
                    }
                }
                b',' => self.delimit()?,
                byte if !is_space(*byte) => self.character()?,
                _ => {}
            }
            place += 1;
        }
    }

    fn escape(&mut self) -> Result<()> {
        use State::*;
        if !self.is_one_of(&[LevelStarted, ElementStarted, QuotedStarted, ElementDelimited]) {
            return self.unexpected('\\');
        }
        if self.state != QuotedStarted {
            self.state = ElementStarted;
        }
        Ok(())
    }

    fn quote(&mut self) -> Result<()> {
        if !self.is_one_of(&[State::LevelStarted, State::QuotedStarted, State::ElementDelimited]) {
            return self.fault("Unexpected array element.");
        }
        self.in_quotes = !self.in_quotes;
        self.state = if self.in_quotes { State::QuotedStarted } else { State::QuotedCompleted };
        Ok(())
    }

    fn enter(&mut self) -> Result<()> {
        if !self.is_one_of(&[State::Nothing, State::LevelStarted, State::LevelDelimited]) {
            return self.unexpected('{');
        }
        self.state = State::LevelStarted;
        if self.level == MOST_DIMENSIONS {
            return Err(too_many(self.level + 1));
        }
        self.lengths[self.level] = 0;
        self.level += 1;
        self.dimensions = self.dimensions.max(self.level);
        Ok(())
    }

    /// Whether this was the outermost brace.
    fn leave(&mut self) -> Result<bool> {
        use State::*;
        let is_empty = self.level == 1 && self.state == LevelStarted;
        if !is_empty && !self.is_one_of(&[ElementStarted, QuotedCompleted, LevelCompleted]) {
            return self.unexpected('}');
        }
        self.state = LevelCompleted;
        self.level -= 1;
        let (open, last) = (self.open[self.level], self.last[self.level]);
        if last != 1 && open != last {
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            return self.fault(detail);
        }
        self.last[self.level] = open;
        self.open[self.level] = 1;
        match self.level.checked_sub(1) {
            None => Ok(true),
            Some(outer) => {
                self.lengths[outer] += 1;
                Ok(false)
            }
        }
    }

    fn delimit(&mut self) -> Result<()> {
        use State::*;
        if !self.is_one_of(&[ElementStarted, QuotedCompleted, LevelCompleted]) {
            return self.unexpected(',');
        }
        self.state = if self.state == LevelCompleted { LevelDelimited } else { ElementDelimited };
        self.open[self.level - 1] += 1;
        // An element ends here, as does the array.
        self.lengths[self.dimensions - 1] += 1;
        Ok(())
    }

    fn character(&mut self) -> Result<()> {
        use State::*;
        if !self.is_one_of(&[LevelStarted, ElementStarted, ElementDelimited]) {
            return self.fault("Unexpected array element.");
        }
        self.state = ElementStarted;
        Ok(())
    }
}

/// The elements of an array that is known to be none but well formed and not empty, innermost ones in order.
fn elements(body: &str) -> Vec<Option<String>> {
    let mut elements = Vec::new();
    let mut element = Element::default();
    let mut characters = body.chars();
    let mut level = 0;
    while let Some(c) = characters.next() {
        match c {
            '\\' => element.add_literal(characters.next().unwrap_or('\\')),
            '"' => {
                element.in_quotes = !element.in_quotes;
                element.is_literal = true;
            }
            c if element.in_quotes => element.add_literal(c),
            '{' => level += 1,
            ',' | '}' => {
                elements.extend(std::mem::take(&mut element).finished());
                level -= usize::from(c == '}');
                if level == 0 {
                    break;
                }
            }
            c => element.add(c),
        }
    }
    elements
}

/// An element as far as it is read.
#[derive(Default)]
struct Element {
    text: String,
    /// Up to where blanks at the end belong to it.
    kept: usize,
    in_quotes: bool,
    /// Whether a part of it was quoted or escaped, so that it is not NULL.
    is_literal: bool,
}

impl Element {
    fn add_literal(&mut self, c: char) {
        self.text.push(c);
        self.kept = self.text.len();
        self.is_literal = true;
    }

    fn add(&mut self, c: char) {
        let is_blank = c.is_ascii() && is_space(c as u8);
        if is_blank && self.text.is_empty() {
            return;
        }
        self.text.push(c);
        if !is_blank {
            self.kept = self.text.len();
        }
    }

    /// The element, if there was one: behind a brace there is none.
    fn finished(mut self) -> Option<Option<String>> {
        self.text.truncate(self.kept);
        match (self.is_literal, self.text.as_str()) {
            (false, "") => None,
            (false, text) if text.eq_ignore_ascii_case("null") => Some(None),
            _ => Some(Some(self.text)),
        }
    }
}

/// Appends an element's text as an array literal has it, with quotes where it needs them.
pub fn write_element(text: &str, out: &mut String) {
    let is_special = |byte: u8| is_space(byte) || matches!(byte, b'{' | b'}' | b',' | b'"' | b'\\');
    let is_quoted =
        text.is_empty() || text.bytes().any(is_special) || text.eq_ignore_ascii_case("null");
    if !is_quoted {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Option<String>> {
        parse_array(text).expect("an array").elements
    }

    fn texts(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn elements_are_read_as_postgresql_does() {
        assert_eq!(read("{a,b}"), texts(&["a", "b"]));
        assert_eq!(read(" { a b , c } "), texts(&["a b", "c"]));
        assert_eq!(read("{}"), texts(&[]));
        assert_eq!(read("{ }"), texts(&[]));
        assert_eq!(read(r#"{"",",","}","a\"b","\\"}"#), texts(&["", ",", "}", "a\"b", "\\"]));
        assert_eq!(read(r"{a\ ,\{}"), texts(&["a ", "{"]));
        assert_eq!(read(r#"{NULL,null,"NULL",nul\l}"#)[..2], [None, None]);
        assert_eq!(read(r#"{NULL,null,"NULL",nul\l}"#)[2..], texts(&["NULL", "null"]));
        assert_eq!(read("{{1,2},{3,4}}"), texts(&["1", "2", "3", "4"]));
        assert_eq!(read("{äö,ü}"), texts(&["äö", "ü"]));
    }

    #[test]
    fn dimensions_have_bounds() {
        let dimensions = |text| parse_array(text).expect("an array").dimensions;
        assert_eq!(dimensions("{}"), []);
        assert_eq!(dimensions("{a,b}"), [(1, 2)]);
        assert_eq!(dimensions("{{1,2},{3,4},{5,6}}"), [(1, 3), (1, 2)]);
        assert_eq!(dimensions("[2:4]={a,b,c}"), [(2, 3)]);
        assert_eq!(dimensions(" [2] [-1:0] = {{a,b},{c,d}}"), [(1, 2), (-1, 2)]);
    }

    #[test]
    fn what_is_no_array_is_told_why() {
        let detail = |text| {
            let error = parse_array(text).expect_err("no array");
            assert_eq!(error.state, SqlState::InvalidTextRepresentation);
            error.detail.as_deref().unwrap_or_default().to_owned()
        };
        for (text, wanted) in [
            ("a", "Array value must start with \"{\" or dimension information."),
            ("", "Array value must start with \"{\" or dimension information."),
            ("{a", "Unexpected end of input."),
            ("{a}b", "Junk after closing right brace."),
            ("{a,}", "Unexpected \"}\" character."),
            ("{,a}", "Unexpected \",\" character."),
            ("{a,,b}", "Unexpected \",\" character."),
            ("{\"a\"b}", "Unexpected array element."),
            ("{a\"b\"}", "Unexpected array element."),
            ("{a{b}}", "Unexpected \"{\" character."),
            ("{{a},b}", "Unexpected array element."),
            ("{{},{}}", "Unexpected \"}\" character."),
            (
                "{{1,2},{3}}",
                "Multidimensional arrays must have sub-arrays with matching dimensions.",
            ),
            ("{\\", "Unexpected end of input."),
            ("[1:2]{a,b}", "Missing \"=\" after array dimensions."),
            ("[1:2]=a", "Array contents must start with \"{\"."),
            ("[1:2]={a}", "Specified array dimensions do not match array contents."),
            ("[]={a}", "\"[\" must introduce explicitly-specified array dimensions."),
            ("[1:]={a}", "Missing array dimension value."),
            ("[1={a}", "Missing \"]\" after array dimensions."),
        ] {
            assert_eq!(detail(text), wanted, "{text}");
        }
        assert_eq!(parse_array("[2:1]={}").expect_err("no array").state.code(), "2202E");
        assert_eq!(parse_array("{{{{{{{1}}}}}}}").expect_err("deep").state.code(), "54000");
    }

    #[test]
    fn elements_are_quoted_where_needed() {
        let written = |text| {
            let mut out = String::new();
            write_element(text, &mut out);
            out
        };
        assert_eq!(written("plain"), "plain");
        assert_eq!(written("a b"), "\"a b\"");
        assert_eq!(written("Null"), "\"Null\"");
        assert_eq!(written(""), "\"\"");
        assert_eq!(written("a\"\\"), "\"a\\\"\\\\\"");
    }
}
