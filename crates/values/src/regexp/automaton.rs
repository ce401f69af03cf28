//! Expressions as automata whose states are places in them.

use super::MOST_STATES;
use super::expression::{Expression, Expressions, Id};
use super::token::Anchor;

/// A state.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// On to the second after a character of the set.
    Set(u32, u32),
    Split(u32, u32),
    Anchor(Anchor, u32),
    /// Where a look ahead or behind, by its place in the automaton's list, says so.
    Look(u32, u32),
    /// A match ends here.
    Accept,
}

/// A look ahead or behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Look {
    pub(super) is_ahead: bool,
    pub(super) is_positive: bool,
    pub(super) body: Id,
}

/// An expression's automaton.
#[derive(Debug)]
pub(super) struct Automaton {
    pub(super) states: Vec<State>,
    pub(super) start: u32,
    pub(super) looks: Vec<Look>,
    pub(super) has_anchors: bool,
}

/// The automaton of an expression; `None` where it has more states than are `left`, which is what is left of all that a pattern may have.
pub(super) fn build(expressions: &Expressions, id: Id, left: &mut usize) -> Option<Automaton> {
    let automaton =
        Automaton { states: Vec::new(), start: 0, looks: Vec::new(), has_anchors: false };
    let mut builder = Builder { expressions, automaton, most: (*left).min(MOST_STATES) };
    let accept = builder.push(State::Accept)?;
    let first = builder.place(id, accept, false)?;
    // One that no other leads to.
    let start = builder.push(State::Split(first, first))?;
    *left -= builder.automaton.states.len().min(*left);
    builder.automaton.start = start;
    Some(builder.automaton)
}

struct Builder<'e> {
    expressions: &'e Expressions,
    automaton: Automaton,
    most: usize,
}

impl Builder<'_> {
    fn push(&mut self, state: State) -> Option<u32> {
        let states = &mut self.automaton.states;
        if states.len() >= self.most {
            return None;
        }
        states.push(state);
        Some(states.len() as u32 - 1)
    }

    /// Places an expression in front of a state; gives where it begins. Conditions are left out of bare ones.
    fn place(&mut self, id: Id, next: u32, is_bare: bool) -> Option<u32> {
        match self.expressions.get(id) {
            Expression::Empty => Some(next),
            Expression::Set(set) => self.push(State::Set(*set, next)),
            Expression::Sequence(list, from, to) => {
                let mut next = next;
                for item in list[*from as usize..*to as usize].iter().rev() {
                    next = self.place(*item, next, is_bare)?;
                }
                Some(next)
            }
            Expression::Either(list) => {
                let mut starts = list.iter().rev();
                let mut start = self.place(*starts.next()?, next, is_bare)?;
                for item in starts {
                    let other = self.place(*item, next, is_bare)?;
                    start = self.push(State::Split(other, start))?;
                }
                Some(start)
            }
            Expression::Repeat(body, least, most) => {
                self.repeat(*body, *least, *most, next, is_bare)
            }
            Expression::Bare(body) => self.place(*body, next, true),
            Expression::Anchor(_) | Expression::Look { .. } if is_bare => Some(next),
            Expression::Anchor(anchor) => {
                self.automaton.has_anchors = true;
                self.push(State::Anchor(*anchor, next))
            }
            Expression::Look { is_ahead, is_positive, body } => {
                let look = Look { is_ahead: *is_ahead, is_positive: *is_positive, body: *body };
                self.automaton.looks.push(look);
                self.push(State::Look(self.automaton.looks.len() as u32 - 1, next))
            }
        }
    }

    fn repeat(
        &mut self,
        body: Id,
        least: u32,
        most: Option<u32>,
        next: u32,
        is_bare: bool,
    ) -> Option<u32> {
        let mut start = next;
        match most {
            None => {
                let again = self.push(State::Split(next, next))?;
                let first = self.place(body, again, is_bare)?;
                self.automaton.states[again as usize] = State::Split(first, next);
                start = again;
            }
            Some(most) => {
                for _ in least..most {
                    let first = self.place(body, start, is_bare)?;
                    start = self.push(State::Split(first, next))?;
                }
            }
        }
        for _ in 0..least {
            start = self.place(body, start, is_bare)?;
        }
        Some(start)
    }
}
