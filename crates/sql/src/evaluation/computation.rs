//! What computes one value, and how it runs.

use analysis::tree::Test;
use engine::env::memory;
use values::datum::Datum;
use values::error::Result;
use values::kernel::{Context, Kernel};

use super::form::{Input, Output};
use crate::text::to_values;

/// Bytes of values before which nobody is asked.
const LARGE: usize = 64 << 10;

/// A kernel makes at most so many times of its arguments: bytes that are no letters become four, `\\ooo`.
const MOST: usize = 4;

/// An expression without columns, ready to run. Operands are of the types that their kernels take: analysis has made every cast explicit.
pub enum Computation {
    /// A constant.
    Value(Datum),
    /// A parameter, from 0.
    Parameter(usize),
    /// A call of a kernel; a strict one is not called with NULL.
    Call(Call),
    /// A number of one type as one of another with the same bits: oid and its like from integer.
    Identifier(Box<Computation>),
    /// The operand of the innermost CASE, in its conditions.
    CaseOperand,
    /// CASE.
    Case(Box<Case>),
    /// AND of all.
    And(Vec<Computation>),
    /// OR of all.
    Or(Vec<Computation>),
    /// NOT.
    Not(Box<Computation>),
    /// IS NULL and its like of a value, or of all fields of a row.
    Test(Test, Vec<Computation>),
    /// IS DISTINCT FROM, by an equality that is called with values only.
    Distinct(Box<Pair>),
    /// NULLIF, by an equality.
    NullIf(Box<Pair>),
    /// The first that is not NULL.
    Coalesce(Vec<Computation>),
    /// The greatest or least of those that are not NULL.
    Extreme(Extreme),
    /// A value compared with each of a list.
    Elements(Box<Elements>),
    /// Rows compared from the left to the right.
    Rows(Vec<Field>, RowOrder),
    /// The value's text form, read as another type.
    Recast(Box<Recast>),
}

/// A call.
pub struct Call {
    pub kernel: &'static Kernel,
    pub is_strict: bool,
    pub arguments: Vec<Computation>,
}

/// CASE.
pub struct Case {
    pub operand: Option<Computation>,
    pub whens: Vec<(Computation, Computation)>,
    pub otherwise: Computation,
}

/// A cast by way of the text form.
pub struct Recast {
    pub operand: Computation,
    pub output: Output,
    pub input: Input,
}

/// Two values and their equality.
pub struct Pair {
    pub equal: &'static Kernel,
    pub values: [Computation; 2],
}

/// GREATEST or LEAST.
pub struct Extreme {
    pub is_greatest: bool,
    pub less: &'static Kernel,
    pub arguments: Vec<Computation>,
}

/// ANY or ALL of a list.
pub struct Elements {
    pub compare: Call,
    pub is_any: bool,
    pub elements: Vec<Computation>,
}

/// A column of two rows that are compared.
pub struct Field {
    pub less: &'static Kernel,
    pub equal: &'static Kernel,
    pub values: [Computation; 2],
}

/// What a comparison of rows asks for.
#[derive(Clone, Copy)]
pub struct RowOrder {
    pub less: bool,
    pub equal: bool,
    pub greater: bool,
}

/// What a run depends on: the session's settings, parameters and the operand of the CASE around.
#[derive(Clone, Copy)]
struct Scope<'a> {
    context: &'a Context,
    parameters: &'a [Datum],
    case: &'a Datum,
}

impl Computation {
    /// The value, with the parameters' values.
    ///
    /// # Errors
    /// What the kernels say.
    pub fn run(&self, context: &Context, parameters: &[Datum]) -> Result<Datum> {
        Scope { context, parameters, case: &Datum::Null }.value(self)
    }
}

fn truth(value: &Datum) -> Option<bool> {
    match value {
        Datum::Bool(value) => Some(*value),
        Datum::Null => None,
        other => unreachable!("a condition is a boolean, not {other:?}"),
    }
}

fn boolean(value: Option<bool>) -> Datum {
    value.map_or(Datum::Null, Datum::Bool)
}

impl Scope<'_> {
    fn value(self, computation: &Computation) -> Result<Datum> {
        match computation {
            Computation::Value(value) => Ok(value.clone()),
            Computation::Parameter(at) => {
                let value = &self.parameters[*at];
                self.ask(value.heap())?;
                Ok(value.clone())
            }
            Computation::Call(call) => self.call(call),
            Computation::Identifier(inner) => self.value(inner).map(identifier),
            Computation::CaseOperand => Ok(self.case.clone()),
            Computation::Case(case) => self.case(case),
            Computation::And(all) => self.joined(all, false),
            Computation::Or(all) => self.joined(all, true),
            Computation::Not(inner) => Ok(boolean(truth(&self.value(inner)?).map(|value| !value))),
            Computation::Test(test, fields) => self.test(*test, fields),
            Computation::Distinct(pair) => self.distinct(pair),
            Computation::NullIf(pair) => self.null_if(pair),
            Computation::Coalesce(all) => self.first(all),
            Computation::Extreme(extreme) => self.extreme(extreme),
            Computation::Elements(elements) => self.elements(elements),
            Computation::Rows(fields, order) => self.rows(fields, *order),
            Computation::Recast(recast) => {
                let value = self.value(&recast.operand)?;
                self.ask(MOST * value.heap())?;
                match recast.output.write(self.context, value)? {
                    Some(text) => recast.input.read(self.context, &text, -1),
                    None => Ok(Datum::Null),
                }
            }
        }
    }

    fn all(self, all: &[Computation]) -> Result<Vec<Datum>> {
        all.iter().map(|one| self.value(one)).collect()
    }

    fn call(self, call: &Call) -> Result<Datum> {
        let arguments = self.all(&call.arguments)?;
        self.called(call, &arguments)
    }

    fn called(self, call: &Call, arguments: &[Datum]) -> Result<Datum> {
        if call.is_strict && arguments.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        self.ask(MOST * arguments.iter().map(Datum::heap).sum::<usize>())?;
        (call.kernel.compute)(self.context, arguments)
    }

    /// Asks for the memory of a large value before it is made, and whether the statement goes on: what doubles a text within what doubles
    /// one grows without bound.
    fn ask(self, bytes: usize) -> Result<()> {
        if bytes < LARGE {
            return Ok(());
        }
        (self.context.interrupt.0)()?;
        memory::process().ask(bytes).map_err(to_values)
    }

    /// What a comparison says of two values.
    fn holds(self, kernel: &Kernel, a: &Datum, b: &Datum) -> Result<bool> {
        let answer = (kernel.compute)(self.context, &[a.clone(), b.clone()])?;
        Ok(truth(&answer) == Some(true))
    }

    /// Results of branches that are not taken are not computed.
    fn case(self, case: &Case) -> Result<Datum> {
        let operand = case.operand.as_ref().map(|operand| self.value(operand)).transpose()?;
        let within = Scope { case: operand.as_ref().unwrap_or(self.case), ..self };
        for (condition, result) in &case.whens {
            if truth(&within.value(condition)?) == Some(true) {
                return self.value(result);
            }
        }
        self.value(&case.otherwise)
    }

    /// AND or OR: ends at the first value that decides.
    fn joined(self, all: &[Computation], decisive: bool) -> Result<Datum> {
        let mut is_known = true;
        for one in all {
            match truth(&self.value(one)?) {
                Some(value) if value == decisive => return Ok(Datum::Bool(decisive)),
                Some(_) => {}
                None => is_known = false,
            }
        }
        Ok(boolean(is_known.then_some(!decisive)))
    }

    fn test(self, test: Test, fields: &[Computation]) -> Result<Datum> {
        let values = self.all(fields)?;
        let is = |expected: Option<bool>| values.iter().all(|value| truth(value) == expected);
        Ok(Datum::Bool(match test {
            Test::Null => values.iter().all(Datum::is_null),
            Test::NotNull => !values.iter().any(Datum::is_null),
            Test::True => is(Some(true)),
            Test::NotTrue => !is(Some(true)),
            Test::False => is(Some(false)),
            Test::NotFalse => !is(Some(false)),
            Test::Unknown => is(None),
            Test::NotUnknown => !is(None),
        }))
    }

    fn distinct(self, pair: &Pair) -> Result<Datum> {
        let [a, b] = [self.value(&pair.values[0])?, self.value(&pair.values[1])?];
        let is_distinct = match (a.is_null(), b.is_null()) {
            (true, true) => false,
            (false, false) => !self.holds(pair.equal, &a, &b)?,
            _ => true,
        };
        Ok(Datum::Bool(is_distinct))
    }

    fn null_if(self, pair: &Pair) -> Result<Datum> {
        let [a, b] = [self.value(&pair.values[0])?, self.value(&pair.values[1])?];
        let is_null = !a.is_null() && !b.is_null() && self.holds(pair.equal, &a, &b)?;
        Ok(if is_null { Datum::Null } else { a })
    }

    fn first(self, all: &[Computation]) -> Result<Datum> {
        for one in all {
            let value = self.value(one)?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        Ok(Datum::Null)
    }

    fn extreme(self, extreme: &Extreme) -> Result<Datum> {
        let mut best = Datum::Null;
        for value in self.all(&extreme.arguments)? {
            if value.is_null() {
                continue;
            }
            let is_better = best.is_null()
                || match extreme.is_greatest {
                    true => self.holds(extreme.less, &best, &value)?,
                    false => self.holds(extreme.less, &value, &best)?,
                };
            if is_better {
                best = value;
            }
        }
        Ok(best)
    }

    fn elements(self, elements: &Elements) -> Result<Datum> {
        let [value] = &elements.compare.arguments[..] else {
            unreachable!("one value is compared with the elements")
        };
        let (value, others) = (self.value(value)?, self.all(&elements.elements)?);
        let mut is_known = true;
        for other in others {
            match truth(&self.called(&elements.compare, &[value.clone(), other])?) {
                Some(answer) if answer == elements.is_any => return Ok(Datum::Bool(answer)),
                Some(_) => {}
                None => is_known = false,
            }
        }
        Ok(boolean(is_known.then_some(!elements.is_any)))
    }

    /// The first columns that differ decide; a NULL among them decides nothing.
    fn rows(self, fields: &[Field], order: RowOrder) -> Result<Datum> {
        for field in fields {
            let [a, b] = [self.value(&field.values[0])?, self.value(&field.values[1])?];
            if a.is_null() || b.is_null() {
                return Ok(Datum::Null);
            }
            if !self.holds(field.equal, &a, &b)? {
                let is_less = self.holds(field.less, &a, &b)?;
                return Ok(Datum::Bool(if is_less { order.less } else { order.greater }));
            }
        }
        Ok(Datum::Bool(order.equal))
    }
}

fn identifier(value: Datum) -> Datum {
    match value {
        Datum::Int4(value) => Datum::Oid(values::oid::Oid(value as u32)),
        Datum::Oid(value) => Datum::Int4(value.0 as i32),
        other => other,
    }
}

impl std::fmt::Debug for Computation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Computation::Value(value) => write!(f, "{value:?}"),
            Computation::Call(call) => write!(f, "{}{:?}", call.kernel.source, call.arguments),
            _ => f.write_str("Computation"),
        }
    }
}
