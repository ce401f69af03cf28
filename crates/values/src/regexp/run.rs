//! Running automata over a text: where a match may end.

use super::automaton::{Automaton, Look, State};
use super::expression::Id;
use super::fault::{too_large, too_many_steps};
use super::find::Program;
use super::look::Looks;
use super::memory::{Memory, Side, Stand, Step};
use super::token::Anchor;
use super::{MOST_STATES, MOST_STEPS, STEPS_BETWEEN_CHECKS, automaton};
use crate::error::Result;
use crate::kernel::Interrupt;
use std::collections::HashMap;

/// The automata of a pattern's parts, as far as they were needed, and what running them has found out.
#[derive(Debug, Default)]
pub(super) struct Machines {
    /// By expression, and whether a match may begin anywhere.
    places: HashMap<(Id, bool), usize>,
    list: Vec<Machine>,
    states: usize,
}

#[derive(Debug)]
struct Machine {
    automaton: Automaton,
    /// Whether a match may begin at every place.
    searches: bool,
    memory: Memory,
    /// For each state the last closure that it was in.
    marks: Vec<u32>,
    closure: u32,
}

/// A text that is searched.
pub(super) struct Text<'t> {
    /// By character.
    pub(super) letters: &'t [char],
    pub(super) classes: Vec<u32>,
}

/// A search: a pattern, the text, and what is left of its steps.
pub(super) struct Run<'r> {
    pub(super) program: &'r Program,
    pub(super) machines: &'r mut Machines,
    pub(super) text: Text<'r>,
    pub(super) looks: Looks,
    interrupt: Interrupt,
    /// Before the interrupt is asked again.
    steps: u64,
    /// Behind those.
    steps_left: u64,
}

impl Machines {
    /// The machine of an expression.
    ///
    /// # Errors
    /// 2201B where it is too large.
    pub(super) fn machine(&mut self, program: &Program, id: Id, searches: bool) -> Result<usize> {
        if let Some(place) = self.places.get(&(id, searches)) {
            return Ok(*place);
        }
        let mut left = MOST_STATES - self.states;
        let automaton = automaton::build(&program.expressions, id, &mut left);
        let automaton = automaton.ok_or_else(too_large)?;
        self.states = MOST_STATES - left;
        let (marks, memory) =
            (vec![0; automaton.states.len()], Memory::new(program.classes.count()));
        self.list.push(Machine { automaton, searches, memory, marks, closure: 0 });
        self.places.insert((id, searches), self.list.len() - 1);
        Ok(self.list.len() - 1)
    }
}

impl<'r> Run<'r> {
    pub(super) fn new(
        program: &'r Program,
        machines: &'r mut Machines,
        letters: &'r [char],
        interrupt: Interrupt,
    ) -> Self {
        let class = |letter: &char| program.classes.class(u32::from(*letter));
        let classes = letters.iter().map(class).collect();
        let text = Text { letters, classes };
        let looks = Looks::default();
        // A short search asks nobody.
        let (steps, steps_left) = (STEPS_BETWEEN_CHECKS, MOST_STEPS - STEPS_BETWEEN_CHECKS);
        Self { program, machines, text, looks, interrupt, steps, steps_left }
    }

    /// Another match is looked for in the same text. What is left before the interrupt is asked again is left: many short matches ask
    /// as often as a long one.
    pub(super) fn begin(&mut self) {
        self.looks.begin();
        self.steps_left = MOST_STEPS - self.steps;
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<()> {
        let steps = steps as u64;
        if steps > self.steps {
            self.check(steps)?;
        }
        self.steps -= steps;
        Ok(())
    }

    /// Takes steps from those that are left, if the search may go on.
    #[cold]
    fn check(&mut self, steps: u64) -> Result<()> {
        (self.interrupt.0)()?;
        self.steps_left += std::mem::take(&mut self.steps);
        let taken = self.steps_left.min(STEPS_BETWEEN_CHECKS.max(steps));
        if taken < steps {
            return Err(too_many_steps());
        }
        (self.steps, self.steps_left) = (taken, self.steps_left - taken);
        Ok(())
    }

    fn class(&self, at: usize) -> u32 {
        match self.text.classes.get(at) {
            Some(class) => *class,
            None => self.program.classes.count() as u32,
        }
    }

    /// What stands at a place, or at the end.
    fn side(&self, at: Option<usize>) -> Side {
        match at.and_then(|at| self.text.classes.get(at)) {
            Some(class) => self.program.sides[*class as usize],
            None => Side::Edge,
        }
    }

    /// The longest match from `begin` that ends at `stop` or before.
    ///
    /// # Errors
    /// 54000 or 2201B beyond the bounds of searches, here and below.
    pub(super) fn longest(&mut self, id: Id, begin: usize, stop: usize) -> Result<Option<usize>> {
        let machine = self.machines.machine(self.program, id, false)?;
        let mut last = None;
        self.walk(machine, begin, stop, |at, _| {
            last = Some(at);
            false
        })?;
        Ok(last)
    }

    /// The shortest match from `begin` that ends at `least` or behind, up to `stop`.
    pub(super) fn shortest(
        &mut self,
        id: Id,
        begin: usize,
        least: usize,
        stop: usize,
    ) -> Result<Option<usize>> {
        let machine = self.machines.machine(self.program, id, false)?;
        let mut first = None;
        self.walk(machine, begin, stop, |at, _| {
            first = (at >= least).then_some(at);
            first.is_some()
        })?;
        Ok(first)
    }

    /// Where the first match that begins at `begin` or behind ends, and a place that no match begins before.
    pub(super) fn earliest(&mut self, id: Id, begin: usize) -> Result<Option<(usize, usize)>> {
        let machine = self.machines.machine(self.program, id, true)?;
        let mut found = None;
        let stop = self.text.letters.len();
        self.walk(machine, begin, stop, |at, cold| {
            found = Some((cold, at));
            true
        })?;
        Ok(found)
    }

    /// Each place where a match that begins at `begin` or behind ends, until one is enough.
    pub(super) fn ends(&mut self, id: Id, mut end: impl FnMut(usize)) -> Result<()> {
        let machine = self.machines.machine(self.program, id, true)?;
        let stop = self.text.letters.len();
        self.walk(machine, 0, stop, |at, _| {
            end(at);
            false
        })
    }

    /// Walks on from `begin` to `stop`, and tells each place where a match ends, with the last place where none had begun, until it is
    /// enough.
    fn walk(
        &mut self,
        machine: usize,
        begin: usize,
        stop: usize,
        mut ends: impl FnMut(usize, usize) -> bool,
    ) -> Result<()> {
        let own = &mut self.machines.list[machine];
        let before = match (own.automaton.has_anchors, begin.checked_sub(1)) {
            (false, _) => Side::Other,
            (true, None) => Side::Edge,
            (true, Some(before)) => self.program.sides[self.text.classes[before] as usize],
        };
        let start = own.automaton.start;
        let (is_kept, searches) = (own.automaton.looks.is_empty(), own.searches);
        let mut stand = own.memory.number(Stand { places: [start].into(), before });
        let mut cold = begin;
        for at in begin..=stop {
            let class = self.class(at);
            let memory = &self.machines.list[machine].memory;
            if searches && *memory.stand(stand).places == [start] {
                cold = at;
            }
            let known = if is_kept { memory.step(stand, class) } else { None };
            let step = match known {
                Some(step) => {
                    self.spend(1)?;
                    step
                }
                None => self.step(machine, stand, at, is_kept)?,
            };
            if step.accepts && ends(at, cold) {
                return Ok(());
            }
            stand = step.next;
            if at < stop && self.machines.list[machine].memory.stand(stand).places.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// What follows a stand at a place of the text.
    fn step(&mut self, machine: usize, number: u32, at: usize, is_kept: bool) -> Result<Step> {
        let class = self.class(at);
        let (after, is_end) = (self.side(Some(at)), at >= self.text.classes.len());
        let own = &mut self.machines.list[machine];
        let before = own.memory.stand(number).before;
        let mut pending: Vec<u32> = own.memory.stand(number).places.to_vec();
        own.closure += 1;
        let (mut next, mut accepts) = (Vec::new(), false);
        let mut visited = 1;
        while let Some(place) = pending.pop() {
            let own = &mut self.machines.list[machine];
            visited += 1;
            if std::mem::replace(&mut own.marks[place as usize], own.closure) == own.closure {
                continue;
            }
            match own.automaton.states[place as usize] {
                State::Accept => accepts = true,
                State::Split(first, second) => pending.extend([second, first]),
                State::Set(set, to) => {
                    if !is_end && self.program.has(set, class) {
                        next.push(to);
                    }
                }
                State::Anchor(anchor, to) => {
                    if self.program.holds(anchor, before, after) {
                        pending.push(to);
                    }
                }
                State::Look(look, to) => {
                    let look = own.automaton.looks[look as usize];
                    if self.looks_so(look, at)? {
                        pending.push(to);
                    }
                }
            }
        }
        self.spend(visited)?;
        let own = &mut self.machines.list[machine];
        if own.searches {
            next.push(own.automaton.start);
        }
        next.sort_unstable();
        next.dedup();
        let before = if own.automaton.has_anchors { after } else { Side::Other };
        let forgotten = own.memory.forgotten;
        let step = Step { accepts, next: own.memory.number(Stand { places: next.into(), before }) };
        if is_kept && own.memory.forgotten == forgotten {
            own.memory.keep(number, class, step);
        }
        Ok(step)
    }

    fn looks_so(&mut self, look: Look, at: usize) -> Result<bool> {
        let is_found = if look.is_ahead {
            self.is_ahead(look.body, at)?
        } else {
            self.is_behind(look.body, at)?
        };
        Ok(is_found == look.is_positive)
    }
}

impl Program {
    /// Whether a condition holds between what stands before and after a place.
    fn holds(&self, anchor: Anchor, before: Side, after: Side) -> bool {
        let is_line = |side| side == Side::Newline && self.anchors_at_newline;
        let (is_word, is_word_next) = (before == Side::Word, after == Side::Word);
        match anchor {
            Anchor::Start => before == Side::Edge || is_line(before),
            Anchor::End => after == Side::Edge || is_line(after),
            Anchor::TextStart => before == Side::Edge,
            Anchor::TextEnd => after == Side::Edge,
            Anchor::WordStart => !is_word && is_word_next,
            Anchor::WordEnd => is_word && !is_word_next,
            Anchor::WordEdge => is_word != is_word_next,
            Anchor::NoWordEdge => is_word == is_word_next,
        }
    }
}
