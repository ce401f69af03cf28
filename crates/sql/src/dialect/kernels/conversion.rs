//! Arguments of the type that a function takes: implicit casts, and literals that get their type from it.

use values::datum::Datum;
use values::error::ValueError;
use values::facts::CastMethod;
use values::kernel::{Context, Kernel};

use super::overloads::cast;
use crate::evaluation::{Input, computed};

const NO_MODIFIER: i32 = -1;

/// How an argument becomes what the function takes.
#[derive(Clone, Copy)]
pub enum Conversion {
    /// It is.
    Nothing,
    /// By the cast's function.
    Cast(&'static Kernel),
    /// A literal, as its type reads it.
    Literal(Input),
}

impl Conversion {
    /// From one type to another, by name; from `None` for a literal. `None` where nothing computes it.
    pub fn new(from: Option<&'static str>, to: &'static str) -> Option<Conversion> {
        let Some(from) = from else { return Input::named(to).map(Conversion::Literal) };
        if from == to {
            return Some(Conversion::Nothing);
        }
        match cast(from, to)?.method {
            CastMethod::Binary => Some(Conversion::Nothing),
            CastMethod::Text => None,
            CastMethod::Function(oid) => {
                computed(oid).map(|computed| Conversion::Cast(computed.kernel))
            }
        }
    }

    /// The argument as the function takes it.
    pub fn convert(self, context: &Context, datum: Datum) -> Result<Datum, ValueError> {
        if datum.is_null() {
            return Ok(Datum::Null);
        }
        match self {
            Conversion::Nothing => Ok(datum),
            Conversion::Cast(kernel) => (kernel.compute)(context, &[datum]),
            Conversion::Literal(input) => match &datum {
                Datum::Text(text) => input.read(context, text, NO_MODIFIER),
                other => unreachable!("{other:?} is no literal"),
            },
        }
    }
}
