//! The forms of values by type: texts in and out, and binary out.

use values::datum::Datum;
use values::error::Result;
use values::facts::TypeRow;
use values::form::{Form, form};
use values::kernel::{Context, Kernel, kernel};

use super::facts::{type_named, type_of};

/// What has a type's forms.
#[derive(Clone, Copy)]
enum Source {
    /// A table of forms: they are the same in all sessions.
    Form(&'static Form),
    /// The function that `pg_type` names.
    Kernel(&'static Kernel),
}

impl Source {
    fn of(row: &TypeRow, function: &str) -> Option<Source> {
        let by_form = || form(row.name).map(Source::Form);
        by_form().or_else(|| kernel(function).map(Source::Kernel))
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Source::Form(form) => form.type_name,
            Source::Kernel(kernel) => kernel.source,
        })
    }
}

/// Reads a type's text form.
#[derive(Clone, Copy, Debug)]
pub struct Input(Source);

impl Input {
    /// Of a type by its OID.
    pub fn of(type_oid: u32) -> Option<Input> {
        Input::of_row(type_of(type_oid)?)
    }

    /// Of a type by its name in `pg_type`.
    pub fn named(type_name: &str) -> Option<Input> {
        Input::of_row(type_named(type_name)?)
    }

    fn of_row(row: &TypeRow) -> Option<Input> {
        Source::of(row, row.input).map(Input)
    }

    /// The value that a text is, with the type's modifier.
    pub fn read(self, context: &Context, text: &str, typmod: i32) -> Result<Datum> {
        match self.0 {
            Source::Form(form) => (form.parse)(text),
            Source::Kernel(kernel) => {
                // Text, OID and modifier, as PostgreSQL calls them; none here asks for the OID.
                let arguments = [Datum::text(text), Datum::Int4(0), Datum::Int4(typmod)];
                (kernel.compute)(context, &arguments)
            }
        }
    }
}

/// Writes a type's text form.
#[derive(Clone, Copy, Debug)]
pub struct Output(Source);

impl Output {
    /// Of a type by its OID.
    pub fn of(type_oid: u32) -> Option<Output> {
        let row = type_of(type_oid)?;
        Source::of(row, row.output).map(Output)
    }

    /// A value's text; `None` for NULL.
    pub fn write(self, context: &Context, value: Datum) -> Result<Option<Box<str>>> {
        match (self.0, value) {
            (_, Datum::Null) => Ok(None),
            (Source::Form(_), Datum::Text(text)) => Ok(Some(text)),
            (Source::Form(form), value) => {
                let mut text = String::new();
                (form.write)(&value, &mut text);
                Ok(Some(text.into()))
            }
            (Source::Kernel(kernel), value) => match (kernel.compute)(context, &[value])? {
                Datum::Text(text) => Ok(Some(text)),
                other => unreachable!("an output function gives a text, not {other:?}"),
            },
        }
    }
}

/// Makes a type's binary form of its text form.
#[derive(Clone, Copy, Debug)]
pub struct Binary {
    input: Input,
    sent: Source,
}

impl Binary {
    /// Of a type by its OID.
    pub fn of(type_oid: u32) -> Option<Binary> {
        let row = type_of(type_oid)?;
        Some(Binary { input: Input::of_row(row)?, sent: Source::of(row, row.send)? })
    }

    /// Appends the binary form of the value that a text is.
    pub fn write(self, context: &Context, text: &str, out: &mut Vec<u8>) -> Result<()> {
        let value = self.input.read(context, text, -1)?;
        match self.sent {
            Source::Form(form) => (form.send)(&value, out),
            Source::Kernel(kernel) => match (kernel.compute)(context, &[value])? {
                Datum::Bytea(bytes) => out.extend_from_slice(&bytes),
                other => unreachable!("a send function gives bytes, not {other:?}"),
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_type_is_read_is_written_as_postgresql_writes_it() {
        let context = Context::default();
        let texts = [
            ("bool", "true", "t"),
            ("numeric", "1.50", "1.50"),
            ("float8", "1e3", "1000"),
            ("date", "J2451187", "1999-01-08"),
            ("time", "1:02", "01:02:00"),
            ("timetz", "1:02+3", "01:02:00+03"),
            ("interval", "26:00", "26:00:00"),
            ("timestamp", "2024-2-29", "2024-02-29 00:00:00"),
            ("uuid", "A0EEBC999C0B4EF8BB6D6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ];
        for (name, written, expected) in texts {
            let input = Input::named(name).expect(name);
            let output = Output::of(type_named(name).expect(name).oid).expect(name);
            let value = input.read(&context, written, -1).expect(name);
            let text = output.write(&context, value).expect(name);
            assert_eq!(text.as_deref(), Some(expected), "{name}");
        }
        let null = Output::of(23).expect("int4").write(&context, Datum::Null);
        assert_eq!(null, Ok(None));
    }
}
