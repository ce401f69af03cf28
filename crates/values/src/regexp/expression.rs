//! What parts of a pattern match, without regard to groups: regular expressions in the plain sense, with conditions on places.

use std::rc::Rc;

use super::MOST_DEPTH;
use super::fault::Fault;
use super::token::Anchor;

/// An expression's place in [`Expressions`].
pub(super) type Id = u32;

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Empty,
    /// A character of the set at a place.
    Set(u32),
    /// Some of the expressions of a list, one behind the other: many parts share the list of their branch.
    Sequence(Rc<[Id]>, u32, u32),
    Either(Box<[Id]>),
    /// The least and most repetitions.
    Repeat(Id, u32, Option<u32>),
    Anchor(Anchor),
    Look {
        is_ahead: bool,
        is_positive: bool,
        body: Id,
    },
    /// Without its conditions on places.
    Bare(Id),
}

/// The expressions of a pattern. Invariant: each stands behind those that it consists of, and none is deeper than four levels for each
/// level of groups.
#[derive(Debug, Default)]
pub(super) struct Expressions {
    list: Vec<Expression>,
    depths: Vec<u32>,
}

impl Expressions {
    pub(super) fn get(&self, id: Id) -> &Expression {
        &self.list[id as usize]
    }

    /// # Errors
    /// Where it would be too deep.
    pub(super) fn push(&mut self, expression: Expression) -> Result<Id, Fault> {
        let below = match &expression {
            Expression::Empty | Expression::Set(_) | Expression::Anchor(_) => 0,
            Expression::Sequence(list, ..) => self.deepest(list),
            Expression::Either(list) => self.deepest(list),
            Expression::Repeat(body, ..) | Expression::Bare(body) => self.deepest(&[*body]),
            Expression::Look { body, .. } => self.deepest(&[*body]),
        };
        self.push_over(below, expression)
    }

    /// How deep the deepest of some expressions is.
    pub(super) fn deepest(&self, list: &[Id]) -> u32 {
        list.iter().map(|id| self.depths[*id as usize]).max().unwrap_or(0)
    }

    /// An expression over others, of which the deepest is as deep as `below`.
    ///
    /// # Errors
    /// Where it would be too deep.
    pub(super) fn push_over(&mut self, below: u32, expression: Expression) -> Result<Id, Fault> {
        if below as usize >= 4 * MOST_DEPTH {
            return Err(Fault::TooComplex);
        }
        self.list.push(expression);
        self.depths.push(below + 1);
        Ok(self.list.len() as Id - 1)
    }
}
