//! The options of a pattern: those that functions take, and those that a pattern begins with.

use super::fault::Fault;
use crate::error::{Result, ValueError};

/// How a pattern is read, and what its parts match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags {
    /// With the operators of extended expressions; else a basic one.
    pub(super) is_extended: bool,
    /// With the escapes of advanced expressions.
    pub(super) is_advanced: bool,
    /// A literal text.
    pub(super) is_literal: bool,
    /// Letters of ASCII match in either case.
    pub(super) is_any_case: bool,
    /// With white space and comments that mean nothing.
    pub(super) is_expanded: bool,
    /// `.` and `[^` do not match a newline.
    pub(super) stops_at_newline: bool,
    /// `^` and `$` match around a newline.
    pub(super) anchors_at_newline: bool,
}

impl Flags {
    /// Advanced expressions, as the operator `~` reads them.
    pub const ADVANCED: Self = Self {
        is_extended: true,
        is_advanced: true,
        is_literal: false,
        is_any_case: false,
        is_expanded: false,
        stops_at_newline: false,
        anchors_at_newline: false,
    };

    /// As `~*` reads them.
    pub const ANY_CASE: Self = Self { is_any_case: true, ..Self::ADVANCED };

    /// The options that functions take as text, and whether `g`, for all matches, is among them.
    ///
    /// # Errors
    /// 22023 for a letter that is no option.
    pub fn of_options(options: &str) -> Result<(Self, bool)> {
        let mut flags = Self::ADVANCED;
        let mut is_global = false;
        for letter in options.chars() {
            match letter {
                'g' => is_global = true,
                // An `e` makes a basic expression in PostgreSQL 15, too.
                'b' | 'e' => flags.set_syntax(false, false, false),
                'q' => flags.set_syntax(false, false, true),
                other if flags.set(other) => {}
                other => return Err(invalid_option(other)),
            }
        }
        Ok((flags, is_global))
    }

    fn set_syntax(&mut self, is_extended: bool, is_advanced: bool, is_literal: bool) {
        (self.is_extended, self.is_advanced, self.is_literal) =
            (is_extended, is_advanced, is_literal);
    }

    /// Sets what an option other than those of the syntax says; false where it is none.
    fn set(&mut self, letter: char) -> bool {
        match letter {
            'c' => self.is_any_case = false,
            'i' => self.is_any_case = true,
            'm' | 'n' => self.set_newline(true, true),
            'p' => self.set_newline(true, false),
            's' => self.set_newline(false, false),
            'w' => self.set_newline(false, true),
            't' => self.is_expanded = false,
            'x' => self.is_expanded = true,
            _ => return false,
        }
        true
    }

    fn set_newline(&mut self, stops: bool, anchors: bool) {
        (self.stops_at_newline, self.anchors_at_newline) = (stops, anchors);
    }

    /// Whether the options contradict each other.
    pub(super) fn are_contradictory(&self) -> bool {
        let has_more = self.is_extended
            || self.is_advanced
            || self.is_expanded
            || self.stops_at_newline
            || self.anchors_at_newline;
        (self.is_literal && has_more) || (self.is_advanced && !self.is_extended)
    }

    /// Takes `***` and the options in parentheses that a pattern begins with; gives where the rest begins.
    ///
    /// # Errors
    /// What PostgreSQL says about those that mean nothing.
    pub(super) fn take_prefix(&mut self, pattern: &[u32]) -> std::result::Result<usize, Fault> {
        let mut at = 0;
        let letter = |at: usize| pattern.get(at).and_then(|code| char::from_u32(*code));
        if self.is_literal {
            return Ok(0);
        }
        if pattern.len() >= 4 && (0..3).all(|at| letter(at) == Some('*')) {
            match letter(3) {
                Some('?') => return Err(Fault::BadPattern),
                Some('=') => {
                    self.become_literal();
                    return Ok(4);
                }
                Some(':') => {
                    (self.is_extended, self.is_advanced) = (true, true);
                    at = 4;
                }
                _ => return Err(Fault::Quantifier),
            }
        }
        let is_letter = |at: usize| letter(at).filter(char::is_ascii_alphabetic);
        let has_options = letter(at) == Some('(') && letter(at + 1) == Some('?');
        if !self.is_advanced || !has_options || is_letter(at + 2).is_none() {
            return Ok(at);
        }
        at += 2;
        while let Some(option) = is_letter(at) {
            match option {
                'b' => self.set_syntax(false, false, false),
                'e' => self.set_syntax(true, false, false),
                'q' => self.set_syntax(false, false, true),
                other if self.set(other) => {}
                _ => return Err(Fault::Option),
            }
            at += 1;
        }
        if letter(at) != Some(')') {
            return Err(Fault::Option);
        }
        if self.is_literal {
            self.become_literal();
        }
        Ok(at + 1)
    }

    fn become_literal(&mut self) {
        self.set_syntax(false, false, true);
        self.is_expanded = false;
        self.set_newline(false, false);
    }
}

fn invalid_option(letter: char) -> ValueError {
    ValueError::new("22023", format!("invalid regular expression option: \"{letter}\""))
}
