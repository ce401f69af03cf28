//! COPY's options.

use datafusion::sql::sqlparser::ast::{CopyLegacyCsvOption, CopyLegacyOption, CopyOption, Ident};
use engine::types::{Error, Result, SqlState};

use crate::statement::constraint::unsupported;

/// How lines are cut into fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Binary, of which all else here says nothing.
    pub binary: bool,
    /// CSV rather than text.
    pub csv: bool,
    /// Between fields.
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: Vec<u8>,
    /// The first line names the columns.
    pub header: bool,
    /// CSV: around fields.
    pub quote: u8,
    /// CSV: before a quote inside quotes.
    pub escape: u8,
    /// CSV: columns that are quoted whatever is in them.
    pub force_quote: Vec<Ident>,
    /// CSV: columns that are never NULL.
    pub force_not_null: Vec<Ident>,
    /// CSV: columns that are NULL also where what stands for it is quoted.
    pub force_null: Vec<Ident>,
}

impl Format {
    /// The format that the options ask for.
    pub fn new(options: &[CopyOption], legacy: &[CopyLegacyOption], from: bool) -> Result<Format> {
        let mut given = Given::default();
        for option in options {
            given.take(option, from)?;
        }
        for option in legacy {
            given.take_legacy(option)?;
        }
        given.refuse_forced(from)?;
        given.finish()
    }
}

#[derive(Default)]
struct Given {
    binary: bool,
    csv: bool,
    delimiter: Option<char>,
    null: Option<String>,
    header: bool,
    quote: Option<char>,
    escape: Option<char>,
    force_quote: Vec<Ident>,
    force_not_null: Vec<Ident>,
    force_null: Vec<Ident>,
}

impl Given {
    fn take(&mut self, option: &CopyOption, from: bool) -> Result<()> {
        match option {
            CopyOption::Format(name) => match name.value.to_ascii_lowercase().as_str() {
                "text" => self.csv = false,
                "csv" => self.csv = true,
                "binary" => self.binary = true,
                other => {
                    let message = format!("COPY format \"{other}\" not recognized");
                    return Err(invalid(message));
                }
            },
            CopyOption::Freeze(_) if !from => {
                return Err(unsupported("COPY FREEZE with COPY TO"));
            }
            // Rows are visible to snapshots of their version only; there is nothing to freeze.
            CopyOption::Freeze(_) => {}
            CopyOption::Delimiter(c) => self.delimiter = Some(*c),
            CopyOption::Null(text) => self.null = Some(text.clone()),
            CopyOption::Header(header) => self.header = *header,
            CopyOption::Quote(c) => self.quote = Some(*c),
            CopyOption::Escape(c) => self.escape = Some(*c),
            CopyOption::ForceQuote(columns) => self.force_quote = columns.clone(),
            CopyOption::ForceNotNull(columns) => self.force_not_null = columns.clone(),
            CopyOption::ForceNull(columns) => self.force_null = columns.clone(),
            CopyOption::Encoding(name) => {
                let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
                if !plain.eq_ignore_ascii_case("utf8") {
                    return Err(unsupported(&format!("COPY in encoding {name}")));
                }
            }
        }
        Ok(())
    }

    fn take_legacy(&mut self, option: &CopyLegacyOption) -> Result<()> {
        match option {
            CopyLegacyOption::Csv(options) => {
                self.csv = true;
                for option in options {
                    match option {
                        CopyLegacyCsvOption::Header => self.header = true,
                        CopyLegacyCsvOption::Quote(c) => self.quote = Some(*c),
                        CopyLegacyCsvOption::Escape(c) => self.escape = Some(*c),
                        CopyLegacyCsvOption::ForceQuote(columns) => {
                            self.force_quote = columns.clone();
                        }
                        CopyLegacyCsvOption::ForceNotNull(columns) => {
                            self.force_not_null = columns.clone();
                        }
                    }
                }
            }
            CopyLegacyOption::Delimiter(c) => self.delimiter = Some(*c),
            CopyLegacyOption::Null(text) => self.null = Some(text.clone()),
            CopyLegacyOption::Header => self.header = true,
            CopyLegacyOption::Binary => self.binary = true,
            other => return Err(unsupported(&format!("COPY option {other}"))),
        }
        Ok(())
    }

    /// What is forced belongs to CSV, and each to one direction.
    fn refuse_forced(&self, from: bool) -> Result<()> {
        let forced = [
            (&self.force_quote, "quote", false),
            (&self.force_not_null, "not null", true),
            (&self.force_null, "null", true),
        ];
        for (columns, what, reads) in forced {
            if columns.is_empty() {
                continue;
            }
            if !self.csv {
                return Err(unavailable(&format!("force {what} available only in CSV mode")));
            }
            if reads != from {
                let way = if reads { "FROM" } else { "TO" };
                return Err(unavailable(&format!("force {what} only available using COPY {way}")));
            }
        }
        Ok(())
    }

    /// Binary format has no options.
    fn refuse_with_binary(&self) -> Result<()> {
        let given = if self.delimiter.is_some() {
            "DELIMITER"
        } else if self.null.is_some() {
            "NULL"
        } else if self.header {
            "HEADER"
        } else {
            return Ok(());
        };
        Err(Error::new(SqlState::SyntaxError, format!("cannot specify {given} in BINARY mode")))
    }

    fn finish(self) -> Result<Format> {
        if self.binary {
            self.refuse_with_binary()?;
        }
        if !self.csv && (self.quote.is_some() || self.escape.is_some()) {
            let what = if self.quote.is_some() { "quote" } else { "escape" };
            return Err(unsupported(&format!("COPY {what} outside CSV mode")));
        }
        let byte = |c: Option<char>, default: u8, what: &str| match c {
            None => Ok(default),
            Some(c) => u8::try_from(c)
                .ok()
                .filter(u8::is_ascii)
                .ok_or_else(|| unsupported(&format!("COPY with a {what} of more than one byte"))),
        };
        let delimiter = byte(self.delimiter, if self.csv { b',' } else { b'\t' }, "delimiter")?;
        let quote = byte(self.quote, b'"', "quote")?;
        if matches!(delimiter, b'\n' | b'\r') {
            return Err(invalid("COPY delimiter cannot be newline or carriage return"));
        }
        if self.csv && delimiter == quote {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        if !self.csv
            && (delimiter == b'\\' || delimiter.is_ascii_alphanumeric() || delimiter == b'.')
        {
            let message = format!("COPY delimiter cannot be \"{}\"", delimiter as char);
            return Err(invalid(message));
        }
        let null = self.null.unwrap_or_else(|| if self.csv { "" } else { "\\N" }.to_owned());
        if null.contains(['\n', '\r']) {
            return Err(invalid("COPY null representation cannot use newline or carriage return"));
        }
        Ok(Format {
            binary: self.binary,
            csv: self.csv,
            delimiter,
            null: null.into_bytes(),
            header: self.header,
            quote,
            escape: byte(self.escape, quote, "escape")?,
            force_quote: self.force_quote,
            force_not_null: self.force_not_null,
            force_null: self.force_null,
        })
    }
}

fn unavailable(what: &str) -> Error {
    Error::new(SqlState::FeatureNotSupported, format!("COPY {what}"))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_formats_are_refused() {
        let delimiter = |c| Format::new(&[CopyOption::Delimiter(c)], &[], true);
        assert_eq!(delimiter('\n').expect_err("newline").state.code(), "22023");
        assert_eq!(delimiter('a').expect_err("letter").state.code(), "22023");
        assert_eq!(delimiter('|').expect("fine").delimiter, b'|');
        let quote = Format::new(&[CopyOption::Quote('\'')], &[], true);
        assert_eq!(quote.expect_err("text has no quotes").state.code(), "0A000");
    }
}
