//! The text forms of values, by type.

use values::datum::Datum;
use values::error::Result;
use values::form::{Form, form};
use values::kernel::{Context, Kernel, kernel};

use super::facts::type_of;

/// Reads a type's text form.
#[derive(Clone, Copy)]
pub enum Input {
    /// Its text says all.
    Form(&'static Form),
    /// It depends on the session, or on a typmod.
    Kernel(&'static Kernel),
}

impl Input {
    /// Of a type by its OID.
    pub fn of(type_oid: u32) -> Option<Input> {
        let row = type_of(type_oid)?;
        let by_form = || form(row.name).map(Input::Form);
        by_form().or_else(|| kernel(row.input).map(Input::Kernel))
    }

    /// The value that a text is, with the type's OID and modifier as input functions take them.
    pub fn read(self, context: &Context, text: &str, typmod: i32) -> Result<Datum> {
        match self {
            Input::Form(form) => (form.parse)(text),
            Input::Kernel(kernel) => {
                let arguments = [Datum::text(text), Datum::Int4(0), Datum::Int4(typmod)];
                (kernel.compute)(context, &arguments)
            }
        }
    }
}

/// Writes a type's text form.
#[derive(Clone, Copy)]
pub enum Output {
    /// It is the same in all sessions.
    Form(&'static Form),
    /// It is not.
    Kernel(&'static Kernel),
}

impl Output {
    /// Of a type by its OID.
    pub fn of(type_oid: u32) -> Option<Output> {
        let row = type_of(type_oid)?;
        let by_form = || form(row.name).map(Output::Form);
        by_form().or_else(|| kernel(row.output).map(Output::Kernel))
    }

    /// A value's text; `None` for NULL.
    pub fn write(self, context: &Context, value: Datum) -> Result<Option<Box<str>>> {
        match (self, value) {
            (_, Datum::Null) => Ok(None),
            (Output::Form(_), Datum::Text(text)) => Ok(Some(text)),
            (Output::Form(form), value) => {
                let mut text = String::new();
                (form.write)(&value, &mut text);
                Ok(Some(text.into()))
            }
            (Output::Kernel(kernel), value) => match (kernel.compute)(context, &[value])? {
                Datum::Text(text) => Ok(Some(text)),
                other => unreachable!("an output function gives a text, not {other:?}"),
            },
        }
    }
}

/// Writes a type's binary form.
#[derive(Clone, Copy)]
pub struct Binary {
    input: Input,
    sent: Output,
}

impl Binary {
    /// Of a type by its OID.
    pub fn of(type_oid: u32) -> Option<Binary> {
        let row = type_of(type_oid)?;
        let by_form = || form(row.name).map(Output::Form);
        let sent = by_form().or_else(|| kernel(row.send).map(Output::Kernel))?;
        Some(Binary { input: Input::of(type_oid)?, sent })
    }

    /// Appends the binary form of the value that a text is.
    pub fn write(self, context: &Context, text: &str, out: &mut Vec<u8>) -> Result<()> {
        let value = self.input.read(context, text, -1)?;
        match self.sent {
            Output::Form(form) => (form.send)(&value, out),
            Output::Kernel(kernel) => match (kernel.compute)(context, &[value])? {
                Datum::Bytea(bytes) => out.extend_from_slice(&bytes),
                other => unreachable!("a send function gives bytes, not {other:?}"),
            },
        }
        Ok(())
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Input")
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}

#[cfg(test)]
mod tests {
    use values::facts::types;

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
            let oid = types().iter().find(|row| row.name == name).expect(name).oid;
            let (input, output) = (Input::of(oid).expect(name), Output::of(oid).expect(name));
            let value = input.read(&context, written, -1).expect(name);
            let text = output.write(&context, value).expect(name);
            assert_eq!(text.as_deref(), Some(expected), "{name}");
        }
        let null = Output::of(23).expect("int4").write(&context, Datum::Null);
        assert_eq!(null, Ok(None));
    }
}
