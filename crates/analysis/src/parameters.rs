//! Parameters, whose types the first context decides that would decide a literal's.

use crate::analyzer::Analyzer;
use crate::error::{Location, Result, fault};
use crate::facts::{Oid, oid};
use crate::tree::{Expression, ExpressionKind, Part, Query};

/// As many as the protocol counts.
const MOST: usize = 65_535;

/// Types by number; 0 of one that nobody named yet, `unknown` of one that nobody decided.
pub(crate) struct Parameters {
    types: Vec<Oid>,
}

impl Parameters {
    pub fn new(given: &[Oid]) -> Self {
        let types = given.iter().map(|oid| if *oid == oid::UNKNOWN { 0 } else { *oid }).collect();
        Self { types }
    }

    /// A use of a parameter.
    ///
    /// # Errors
    /// 42P02 for a number that none has.
    pub fn used(&mut self, number: i32, at: Location) -> Result<Expression> {
        let number = usize::try_from(number).unwrap_or(0);
        if number == 0 || number > MOST {
            return Err(fault("42P02", at, format!("there is no parameter ${number}")));
        }
        if self.types.len() < number {
            self.types.resize(number, 0);
        }
        let slot = &mut self.types[number - 1];
        if *slot == 0 {
            *slot = oid::UNKNOWN;
        }
        Ok(Expression::new(ExpressionKind::Parameter(number), *slot, at))
    }

    /// Decides the type of one whose use has none yet.
    ///
    /// # Errors
    /// 42P08 where another use decided otherwise.
    pub fn decide(
        &mut self,
        number: usize,
        target: Oid,
        format: impl Fn(Oid) -> String,
        at: Location,
    ) -> Result<()> {
        let slot = &mut self.types[number - 1];
        if *slot == oid::UNKNOWN {
            *slot = target;
        } else if *slot != target {
            let message = format!("inconsistent types deduced for parameter ${number}");
            let detail = format!("{} versus {}", format(*slot), format(target));
            return Err(fault("42P08", at, message).detail(detail));
        }
        Ok(())
    }

    /// The types of all.
    ///
    /// # Errors
    /// 42P18 where one is not decided; 42P08 where a use of one in the query is not.
    pub fn decided(self, query: &Query) -> Result<Vec<Oid>> {
        if !self.types.is_empty() {
            self.check(Part::Query(query))?;
        }
        let undecided = self.types.iter().position(|oid| *oid == 0 || *oid == oid::UNKNOWN);
        match undecided {
            Some(place) => Err(undecidable("42P18", place + 1, -1)),
            None => Ok(self.types),
        }
    }

    fn check(&self, part: Part<'_>) -> Result<()> {
        let mut result = Ok(());
        let mut see = |part: Part<'_>| {
            if result.is_ok() {
                result = self.check(part);
            }
        };
        match part {
            Part::Expression(expression) => {
                if let ExpressionKind::Parameter(number) = expression.kind
                    && expression.type_oid != self.types[number - 1]
                {
                    return Err(undecidable("42P08", number, expression.location));
                }
                expression.parts(&mut see);
            }
            Part::Query(query) => query.parts(&mut see),
        }
        result
    }
}

fn undecidable(
    sqlstate: &'static str,
    number: usize,
    at: Location,
) -> Box<crate::error::AnalysisError> {
    fault(sqlstate, at, format!("could not determine data type of parameter ${number}"))
}

impl Analyzer<'_, '_> {
    /// A parameter of a type.
    pub(crate) fn parameter(
        &mut self,
        mut expression: Expression,
        number: usize,
        target: Oid,
        at: Location,
    ) -> Result<Expression> {
        let mut parameters = std::mem::replace(&mut self.parameters, Parameters::new(&[]));
        let decided =
            parameters.decide(number, target, |oid| self.type_words(oid), expression.location);
        self.parameters = parameters;
        decided?;
        expression.type_oid = target;
        expression.collation = self.collation_of(target);
        expression.location = crate::error::leftmost(expression.location, at);
        Ok(expression)
    }
}
