//! Arguments of the type that a function takes: implicit casts, and literals that get their type from it.

use values::datum::Datum;
use values::error::ValueError;
use values::facts::{CastMethod, functions, types};
use values::form::{Form, form};
use values::kernel::{Context, Kernel, kernel};

use super::overloads::cast;

/// How an argument becomes what the function takes.
#[derive(Clone, Copy)]
pub enum Conversion {
    /// It is.
    Nothing,
    /// By the cast's function.
    Cast(&'static Kernel),
    /// A literal, by its type's form.
    Parse(&'static Form),
    /// A literal, by its type's input function.
    Input(&'static Kernel),
}

impl Conversion {
    /// From one type to another, by name; from `None` for a literal. `None` where nothing computes it.
    pub fn new(from: Option<&'static str>, to: &'static str) -> Option<Conversion> {
        let Some(from) = from else { return Conversion::of_literal(to) };
        if from == to {
            return Some(Conversion::Nothing);
        }
        match cast(from, to)?.method {
            CastMethod::Binary => Some(Conversion::Nothing),
            CastMethod::Text => None,
            CastMethod::Function(oid) => {
                let row = functions().iter().find(|row| row.oid == oid)?;
                kernel(row.source).map(Conversion::Cast)
            }
        }
    }

    fn of_literal(to: &'static str) -> Option<Conversion> {
        if let Some(form) = form(to) {
            return Some(Conversion::Parse(form));
        }
        let row = types().iter().find(|row| row.name == to)?;
        kernel(row.input).map(Conversion::Input)
    }

    /// The argument as the function takes it.
    pub fn convert(self, context: &Context, datum: Datum) -> Result<Datum, ValueError> {
        if datum.is_null() {
            return Ok(Datum::Null);
        }
        match self {
            Conversion::Nothing => Ok(datum),
            Conversion::Cast(kernel) | Conversion::Input(kernel) => {
                (kernel.compute)(context, &[datum])
            }
            Conversion::Parse(form) => match &datum {
                Datum::Text(text) => (form.parse)(text),
                other => unreachable!("{other:?} is no literal"),
            },
        }
    }
}
