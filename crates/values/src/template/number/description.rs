//! Templates of numbers.

use crate::error::{Result, ValueError};
use crate::template::parse::{Node, Ordinal, literal};

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `9`
    Digit,
    /// `0`
    Zero,
    /// `.` and `D`
    Point,
    /// `,`
    Comma,
    /// `G`
    Group,
    /// `L`
    Currency,
    /// `MI`
    Minus,
    /// `PL`
    Plus,
    /// `SG`
    Sign,
    /// `RN`, and whether in capitals.
    Roman(bool),
    Ordinal(Ordinal),
    /// What stands for no place.
    Mark(Mark),
    /// What stands for itself.
    Letter(char),
}

/// Patterns that change what others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// `B`
    Blank,
    /// `FM`
    Fill,
    /// `S`
    Anchored,
    /// `PR`
    Brackets,
    /// `V`
    Multiplied,
    /// `EEEE`
    Scientific,
    /// `C` and `SP`, which PostgreSQL does not implement.
    Nothing,
}

/// Where the sign stands that is anchored to the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchored {
    Before,
    Behind,
}

/// What a template says in all.
#[derive(Debug, Default)]
pub(super) struct Description {
    pub(super) parts: Vec<Part>,
    /// Digits before and behind the point.
    pub(super) before: usize,
    pub(super) behind: usize,
    /// Digits behind `V`.
    pub(super) multiplied: usize,
    /// Digits before the first `0`, where there is one; digits up to the last.
    pub(super) zeros_from: Option<usize>,
    pub(super) zeros_to: usize,
    pub(super) anchored: Option<Anchored>,
    /// Digits before the sign that is anchored.
    pub(super) before_anchored: usize,
    pub(super) has_point: bool,
    pub(super) is_filled: bool,
    pub(super) is_blank: bool,
    pub(super) has_anchored_sign: bool,
    pub(super) has_brackets: bool,
    pub(super) has_minus: bool,
    pub(super) has_plus: bool,
    pub(super) is_roman: bool,
    pub(super) is_multiplied: bool,
    pub(super) is_scientific: bool,
}

/// Patterns by what they are written as; of those that begin alike, the first that fits.
const PATTERNS: &[(&str, Part)] = &[
    (",", Part::Comma),
    (".", Part::Point),
    ("0", Part::Zero),
    ("9", Part::Digit),
    ("B", Part::Mark(Mark::Blank)),
    ("C", Part::Mark(Mark::Nothing)),
    ("D", Part::Point),
    ("EEEE", Part::Mark(Mark::Scientific)),
    ("FM", Part::Mark(Mark::Fill)),
    ("G", Part::Group),
    ("L", Part::Currency),
    ("MI", Part::Minus),
    ("PL", Part::Plus),
    ("PR", Part::Mark(Mark::Brackets)),
    ("RN", Part::Roman(true)),
    ("SG", Part::Sign),
    ("SP", Part::Mark(Mark::Nothing)),
    ("S", Part::Mark(Mark::Anchored)),
    ("TH", Part::Ordinal(Ordinal::Upper)),
    ("V", Part::Mark(Mark::Multiplied)),
    ("b", Part::Mark(Mark::Blank)),
    ("c", Part::Mark(Mark::Nothing)),
    ("d", Part::Point),
    ("eeee", Part::Mark(Mark::Scientific)),
    ("fm", Part::Mark(Mark::Fill)),
    ("g", Part::Group),
    ("l", Part::Currency),
    ("mi", Part::Minus),
    ("pl", Part::Plus),
    ("pr", Part::Mark(Mark::Brackets)),
    ("rn", Part::Roman(false)),
    ("sg", Part::Sign),
    ("sp", Part::Mark(Mark::Nothing)),
    ("s", Part::Mark(Mark::Anchored)),
    ("th", Part::Ordinal(Ordinal::Lower)),
    ("v", Part::Mark(Mark::Multiplied)),
];

fn contradiction(message: impl Into<std::borrow::Cow<'static, str>>) -> ValueError {
    ValueError::new("42601", message)
}

impl Description {
    /// Reads a template.
    ///
    /// # Errors
    /// 42601 where patterns contradict each other.
    pub(super) fn of(template: &str) -> Result<Self> {
        let mut description = Self::default();
        let mut rest = template;
        while !rest.is_empty() {
            if let Some((name, part)) = PATTERNS.iter().find(|(name, _)| rest.starts_with(name)) {
                rest = &rest[name.len()..];
                description.add(*part)?;
                continue;
            }
            let mut nodes = Vec::new();
            literal(&mut rest, &mut nodes);
            let letters = nodes.into_iter().map(|node| match node {
                Node::Separator(c) | Node::Space(c) | Node::Text(c) => Part::Letter(c),
                Node::Pattern(_) => unreachable!("a literal is no pattern"),
            });
            description.parts.extend(letters);
        }
        Ok(description)
    }

    fn add(&mut self, part: Part) -> Result<()> {
        if self.is_scientific && part != Part::Mark(Mark::Scientific) {
            return Err(contradiction("\"EEEE\" must be the last pattern used"));
        }
        match part {
            Part::Digit => self.add_digit()?,
            Part::Zero => self.add_zero()?,
            Part::Point if self.has_point => return Err(contradiction("multiple decimal points")),
            Part::Point if self.is_multiplied => return Err(with_point()),
            Part::Point => self.has_point = true,
            Part::Minus | Part::Plus | Part::Sign => self.add_sign(part)?,
            Part::Roman(_) => self.is_roman = true,
            Part::Mark(mark) => self.mark(mark)?,
            Part::Comma | Part::Group | Part::Currency | Part::Ordinal(_) | Part::Letter(_) => {}
        }
        self.parts.push(part);
        Ok(())
    }

    fn add_digit(&mut self) -> Result<()> {
        if self.has_brackets {
            return Err(contradiction("\"9\" must be ahead of \"PR\""));
        }
        if self.is_multiplied {
            self.multiplied += 1;
        } else if self.has_point {
            self.behind += 1;
        } else {
            self.before += 1;
        }
        Ok(())
    }

    fn add_zero(&mut self) -> Result<()> {
        if self.has_brackets {
            return Err(contradiction("\"0\" must be ahead of \"PR\""));
        }
        if self.has_point {
            self.behind += 1;
        } else {
            self.zeros_from.get_or_insert(self.before);
            self.before += 1;
        }
        self.zeros_to = self.before + self.behind;
        Ok(())
    }

    fn add_sign(&mut self, part: Part) -> Result<()> {
        let name = match part {
            Part::Minus => "MI",
            Part::Plus => "PL",
            _ => "SG",
        };
        if self.has_anchored_sign {
            return Err(contradiction(format!("cannot use \"S\" and \"{name}\" together")));
        }
        self.has_minus |= part != Part::Plus;
        self.has_plus |= part != Part::Minus;
        Ok(())
    }

    fn mark(&mut self, mark: Mark) -> Result<()> {
        let has_sign = self.has_plus || self.has_minus;
        match mark {
            Mark::Blank => {
                self.is_blank |= self.before == 0 && self.behind == 0 && self.zeros_from.is_none();
            }
            Mark::Fill => self.is_filled = true,
            Mark::Anchored if self.has_anchored_sign => {
                return Err(contradiction("cannot use \"S\" twice"));
            }
            Mark::Anchored if has_sign || self.has_brackets => {
                let message = "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
                return Err(contradiction(message));
            }
            Mark::Anchored => {
                self.has_anchored_sign = true;
                if self.has_point {
                    self.anchored = Some(Anchored::Behind);
                } else {
                    (self.anchored, self.before_anchored) = (Some(Anchored::Before), self.before);
                }
            }
            Mark::Brackets if self.has_anchored_sign || has_sign => {
                let message = "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together";
                return Err(contradiction(message));
            }
            Mark::Brackets => self.has_brackets = true,
            Mark::Multiplied if self.has_point => return Err(with_point()),
            Mark::Multiplied => self.is_multiplied = true,
            Mark::Scientific => self.mark_scientific()?,
            Mark::Nothing => {}
        }
        Ok(())
    }

    fn mark_scientific(&mut self) -> Result<()> {
        if self.is_scientific {
            return Err(contradiction("cannot use \"EEEE\" twice"));
        }
        let has_other = self.is_blank
            || self.is_filled
            || self.has_anchored_sign
            || self.has_brackets
            || self.has_minus
            || self.has_plus
            || self.is_roman
            || self.is_multiplied;
        if has_other {
            let detail =
                "\"EEEE\" may only be used together with digit and decimal point patterns.";
            return Err(ValueError {
                detail: Some(detail.into()),
                ..contradiction("\"EEEE\" is incompatible with other formats")
            });
        }
        self.is_scientific = true;
        Ok(())
    }
}

fn with_point() -> ValueError {
    contradiction("cannot use \"V\" and decimal point together")
}
