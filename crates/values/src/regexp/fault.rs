//! What is wrong with a pattern, in PostgreSQL's words.

use crate::error::ValueError;

/// Why a pattern is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    BadPattern,
    CollatingElement,
    Class,
    Escape,
    BackReference,
    Brackets,
    Parentheses,
    Braces,
    Count,
    Range,
    Quantifier,
    Argument,
    Option,
    TooComplex,
}

impl Fault {
    fn text(self) -> &'static str {
        match self {
            Self::BadPattern => "invalid regexp (reg version 0.8)",
            Self::CollatingElement => "invalid collating element",
            Self::Class => "invalid character class",
            Self::Escape => "invalid escape \\ sequence",
            Self::BackReference => "invalid backreference number",
            Self::Brackets => "brackets [] not balanced",
            Self::Parentheses => "parentheses () not balanced",
            Self::Braces => "braces {} not balanced",
            Self::Count => "invalid repetition count(s)",
            Self::Range => "invalid character range",
            Self::Quantifier => "quantifier operand invalid",
            Self::Argument => "invalid argument to regex function",
            Self::Option => "invalid embedded option",
            Self::TooComplex => "regular expression is too complex",
        }
    }
}

impl From<Fault> for ValueError {
    fn from(fault: Fault) -> Self {
        Self::new("2201B", format!("invalid regular expression: {}", fault.text()))
    }
}

/// What a search gives when it would take more than it may.
pub(super) fn too_many_steps() -> ValueError {
    ValueError::new("54000", "regular expression failed: too many steps")
}

/// What a search gives when the automata of its parts get too large.
pub(super) fn too_large() -> ValueError {
    let text = Fault::TooComplex.text();
    ValueError::new("2201B", format!("regular expression failed: {text}"))
}
