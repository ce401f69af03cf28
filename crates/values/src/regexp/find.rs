//! Patterns ready to search with.

use super::class::Class;
use super::dissect::Dissection;
use super::expression::Expressions;
use super::fault::Fault;
use super::flags::Flags;
use super::memory::Side;
use super::parse::{Parsed, parse};
use super::run::{Machines, Run};
use super::set::{Classes, Set};
use super::tree::{Part, PartId};
use crate::error::{Result, ValueError};
use crate::kernel::Interrupt;

/// A pattern's parts, and how its characters are told apart.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) expressions: Expressions,
    pub(super) parts: Vec<Part>,
    pub(super) root: PartId,
    pub(super) classes: Classes,
    /// By set, as ranges of classes.
    sets: Vec<Box<[(u32, u32)]>>,
    /// By class.
    pub(super) sides: Vec<Side>,
    pub(super) is_any_case: bool,
    pub(super) anchors_at_newline: bool,
    groups: usize,
}

/// A regular expression.
#[derive(Debug)]
pub struct Regexp {
    program: Program,
    machines: Machines,
}

/// Where a match and its groups are, in characters from the text's start; none of a group that has no part in it.
pub type Match = Vec<Option<(usize, usize)>>;

impl Program {
    fn of(parsed: Parsed) -> Self {
        let Parsed { sets, expressions, parts, root, groups, flags } = parsed;
        let (words, newline) = (Class::Word.set(false), Set::range(10, 10));
        let classes = Classes::of(sets.iter().chain([&words, &newline]));
        let side = |class: u32, set: &Set| in_ranges(&classes.ranges(set), class);
        let sides = (0..classes.count() as u32).map(|class| match class {
            class if side(class, &newline) => Side::Newline,
            class if side(class, &words) => Side::Word,
            _ => Side::Other,
        });
        let sides = sides.collect();
        let sets = sets.iter().map(|set| classes.ranges(set)).collect();
        let Flags { is_any_case, anchors_at_newline, .. } = flags;
        Self {
            expressions,
            parts,
            root,
            classes,
            sets,
            sides,
            is_any_case,
            anchors_at_newline,
            groups,
        }
    }

    /// Whether a set has a class of characters.
    pub(super) fn has(&self, set: u32, class: u32) -> bool {
        in_ranges(&self.sets[set as usize], class)
    }
}

fn in_ranges(ranges: &[(u32, u32)], class: u32) -> bool {
    match ranges {
        [] => false,
        [(first, last)] => (*first..=*last).contains(&class),
        _ => {
            let at = ranges.partition_point(|(_, last)| *last < class);
            ranges.get(at).is_some_and(|(first, _)| *first <= class)
        }
    }
}

impl Regexp {
    /// Reads a pattern.
    ///
    /// # Errors
    /// 2201B for what is no pattern, and for one that is too complex.
    pub fn new(pattern: &str, flags: Flags) -> Result<Self> {
        let codes: Vec<u32> = pattern.chars().map(u32::from).collect();
        let program = Program::of(parse(&codes, flags)?);
        let mut machines = Machines::default();
        let root = program.parts[program.root as usize].expression;
        let is_built = machines.machine(&program, root, true).is_ok();
        if !is_built {
            return Err(ValueError::from(Fault::TooComplex));
        }
        Ok(Self { program, machines })
    }

    /// How many groups capture.
    pub fn groups(&self) -> usize {
        self.program.groups
    }

    /// Whether a text has a match.
    ///
    /// # Errors
    /// 54000 when it takes too many steps, 2201B when it takes too much memory; here and below.
    pub fn is_match(&mut self, text: &[char], interrupt: Interrupt) -> Result<bool> {
        let root = &self.program.parts[self.program.root as usize];
        if root.traits.refers {
            return Ok(self.search(text, interrupt).find(0)?.is_some());
        }
        let expression = root.expression;
        let mut run = Run::new(&self.program, &mut self.machines, text, interrupt);
        Ok(run.earliest(expression, 0)?.is_some())
    }

    /// A search for matches in a text, one behind the other.
    pub fn search<'r>(&'r mut self, text: &'r [char], interrupt: Interrupt) -> Search<'r> {
        let run = Run::new(&self.program, &mut self.machines, text, interrupt);
        Search { dissection: Dissection::new(run, self.program.groups) }
    }
}

/// A search in a text. What is found out about the text is found out once for all of its matches.
pub struct Search<'r> {
    dissection: Dissection<'r>,
}

impl Search<'_> {
    /// The first match that begins at a place or behind it, with its groups.
    ///
    /// # Errors
    /// 54000 when it takes too many steps, 2201B when it takes too much memory, and why the statement is to end, if it is.
    pub fn find(&mut self, from: usize) -> Result<Option<Match>> {
        self.dissection.find(from)
    }
}

#[cfg(test)]
mod tests {
    use super::super::replace::replaced;
    use super::*;

    fn state(pattern: &str, text: &str) -> std::result::Result<bool, &'static str> {
        let letters: Vec<char> = text.chars().collect();
        let found = Regexp::new(pattern, Flags::ADVANCED)
            .and_then(|mut regexp| regexp.search(&letters, Interrupt::default()).find(0))
            .map(|found| found.is_some());
        found.map_err(|error| error.sqlstate)
    }

    #[test]
    fn what_would_take_too_much_is_refused() {
        let nested = ["(".repeat(100_000), ")".repeat(100_000)].concat();
        assert_eq!(state(&nested, "a"), Err("2201B"));
        assert_eq!(state("(((a{255}){255}){255})", "a"), Err("2201B"));
        assert_eq!(state(&"(a)".repeat(1_000), &"a".repeat(1_000)), Err("2201B"));
        assert_eq!(state(&"[a-z]".repeat(500_000), "a"), Err("2201B"));
    }

    #[test]
    fn a_search_ends_when_its_statement_does() {
        let text = vec!['a'; 1_000_000];
        let ended = || ValueError::new("57014", "ended");
        let stop = Interrupt(|| Err(ValueError::new("57014", "ended")));
        let mut regexp = Regexp::new("(a|b)*c", Flags::ADVANCED).expect("a pattern");
        assert_eq!(regexp.search(&text, stop).find(0), Err(ended()));
        assert_eq!(regexp.is_match(&text, stop), Err(ended()));
        let mut search = regexp.search(&text[..1_000], Interrupt::default());
        assert_eq!(search.find(0), Ok(None), "nothing is left of it");
    }

    #[test]
    fn a_text_is_looked_at_once_for_all_of_its_matches() {
        let text = "ab".repeat(30_000);
        let mut regexp = Regexp::new("a.*?b(?=a|$)", Flags::ADVANCED).expect("a pattern");
        let replaced = replaced(&mut regexp, &text, "x", 0, 0, Interrupt::default());
        assert_eq!(replaced, Ok("x".repeat(30_000)));
    }

    #[test]
    fn what_others_try_in_vain_ends() {
        let text = "a".repeat(2_000);
        assert_eq!(state("(a*)*b", &text[..500]), Ok(false));
        assert_eq!(state("(a|aa)+$", &text), Ok(true));
        assert_eq!(state("(a|a)*(a|a)*(a|a)*[^a]", &text[..500]), Ok(false));
        assert_eq!(state("(?:a?){200}a{200}", &text[..200]), Ok(true));
    }
}
