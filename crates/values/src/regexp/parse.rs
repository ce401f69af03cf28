//! Patterns to parts and expressions.

use super::MOST_DEPTH;
use super::expression::{Expression, Expressions, Id};
use super::fault::Fault;
use super::flags::Flags;
use super::lexer::Lexer;
use super::set::{LAST, Set};
use super::token::Token;
use super::tree::{Kind, Part, PartId, Traits};

type Result<T> = std::result::Result<T, Fault>;

/// The most that a number of repetitions may be.
const MOST_REPETITIONS: u32 = 255;

/// A pattern that was parsed.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) sets: Vec<Set>,
    pub(super) expressions: Expressions,
    pub(super) parts: Vec<Part>,
    pub(super) root: PartId,
    /// How many groups capture.
    pub(super) groups: usize,
    pub(super) flags: Flags,
}

/// Parses a pattern.
///
/// # Errors
/// What PostgreSQL says about a pattern that is none.
pub(super) fn parse(pattern: &[u32], flags: Flags) -> Result<Parsed> {
    let lexer = Lexer::new(pattern, flags)?;
    let mut parser = Parser {
        flags: lexer.flags,
        lexer,
        token: Token::Start,
        sets: Vec::new(),
        expressions: Expressions::default(),
        parts: Vec::new(),
        group_parts: vec![None],
        depth: 0,
    };
    parser.advance()?;
    let root = parser.alternatives(Within { stop: Token::End, is_look: false })?;
    let Parser { sets, expressions, parts, group_parts, flags, .. } = parser;
    Ok(Parsed { sets, expressions, parts, root, groups: group_parts.len() - 1, flags })
}

pub(super) struct Parser<'p> {
    lexer: Lexer<'p>,
    pub(super) token: Token,
    pub(super) flags: Flags,
    sets: Vec<Set>,
    expressions: Expressions,
    parts: Vec<Part>,
    /// By number the part of each group that was closed; the first is none.
    group_parts: Vec<Option<PartId>>,
    depth: usize,
}

/// What ends the parts that are parsed, and whether they are of a look ahead or behind, which captures nothing.
#[derive(Clone, Copy)]
struct Within {
    stop: Token,
    is_look: bool,
}

/// What a quantifier is put behind.
enum Atom {
    Simple(Id),
    Part { part: PartId, captures: bool },
    Reference(u32),
}

/// A quantifier; where there is none, once.
#[derive(Clone, Copy)]
struct Quantifier {
    least: u32,
    most: Option<u32>,
    prefers: Traits,
}

/// A part of a branch that must be told apart, with what stands before it.
struct Segment {
    /// Where what stands before it begins, and where it stands itself in the branch's list.
    from: usize,
    at: usize,
    /// The traits of what stands before it, and of the part with its quantifier.
    before: Traits,
    traits: Traits,
    part: PartId,
}

impl Parser<'_> {
    pub(super) fn advance(&mut self) -> Result<()> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    fn push_set(&mut self, set: Set) -> Result<Id> {
        self.sets.push(set);
        self.expressions.push(Expression::Set(self.sets.len() as u32 - 1))
    }

    /// Groups up to now, of which a part has those behind.
    fn groups(&self) -> u32 {
        self.group_parts.len() as u32
    }

    fn push(&mut self, kind: Kind, traits: Traits, expression: Id, first: u32) -> PartId {
        let groups = (first, self.groups());
        self.parts.push(Part { kind, traits, group: 0, expression, groups });
        self.parts.len() as PartId - 1
    }

    fn part(&self, id: PartId) -> &Part {
        &self.parts[id as usize]
    }

    /// Branches with `|` between them, up to what ends them, which is not taken.
    fn alternatives(&mut self, within: Within) -> Result<PartId> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(Fault::TooComplex);
        }
        let first = self.groups();
        let mut branches = vec![self.branch(within)?];
        while self.token == Token::Or {
            self.advance()?;
            branches.push(self.branch(within)?);
        }
        if self.token != within.stop {
            return Err(Fault::Parentheses);
        }
        self.depth -= 1;
        if let [only] = branches[..] {
            return Ok(only);
        }
        let mut traits = Traits::LONG;
        for branch in &branches {
            traits = traits.or(traits.or(self.part(*branch).traits).inherited());
        }
        let list = branches.iter().map(|branch| self.part(*branch).expression).collect();
        let expression = self.expressions.push(Expression::Either(list))?;
        let kind = if traits.must_be_cut() { Kind::Either(branches.into()) } else { Kind::Plain };
        Ok(self.push(kind, traits, expression, first))
    }

    fn branch(&mut self, within: Within) -> Result<PartId> {
        let first = self.groups();
        let mut items = Vec::new();
        let mut segments: Vec<Segment> = Vec::new();
        let mut from = 0;
        let mut traits = Traits::default();
        while self.token != Token::Or && self.token != within.stop && self.token != Token::End {
            if let Some(condition) = self.condition()? {
                items.push(condition);
                continue;
            }
            let first = self.groups();
            let atom = self.atom(within)?;
            let quantifier = self.quantifier()?;
            if quantifier.most == Some(0) {
                items.push(self.expressions.push(Expression::Empty)?);
                continue;
            }
            let of_atom = self.traits(&atom);
            let with = traits.or(quantifier.prefers).or(of_atom);
            let is_told_apart = match atom {
                Atom::Simple(_) => false,
                Atom::Part { captures, .. } => captures,
                Atom::Reference(_) => true,
            };
            if !is_told_apart && !with.inherited().must_be_cut() {
                items.push(self.simply_repeated(&atom, quantifier)?);
                traits = with;
                continue;
            }
            let part = self.repeated(atom, quantifier, first)?;
            let at = items.len();
            items.push(self.part(part).expression);
            let own = quantifier.prefers.followed_by(of_atom);
            segments.push(Segment { from, at, before: traits, traits: own, part });
            (from, traits) = (items.len(), Traits::default());
        }
        self.joined(&items, segments, from, traits, first)
    }

    /// The part of a branch, from the parts that are told apart; `from` and `traits` are of what stands behind the last.
    fn joined(
        &mut self,
        items: &[Id],
        segments: Vec<Segment>,
        from: usize,
        traits: Traits,
        first: u32,
    ) -> Result<PartId> {
        let list: std::rc::Rc<[Id]> = items.into();
        let end = items.len();
        // Asked once: a branch may have many parts, each over the rest of it.
        let below = self.expressions.deepest(items);
        let sequence = |parser: &mut Self, from: usize, to: usize| match items[from..to] {
            [only] => Ok(only),
            _ => {
                let sequence = Expression::Sequence(list.clone(), from as u32, to as u32);
                parser.expressions.push_over(below, sequence)
            }
        };
        let mut rest = None;
        if from < end || segments.is_empty() {
            let expression = sequence(self, from, end)?;
            rest = Some(self.push(Kind::Plain, traits, expression, self.groups()));
        }
        for segment in segments.into_iter().rev() {
            let groups_from = self.part(segment.part).groups.0;
            let (tail, behind) = match rest {
                None => (segment.part, self.part(segment.part).traits),
                Some(rest) => {
                    let of_rest = self.part(rest).traits;
                    let traits = segment.traits.or(segment.traits.followed_by(of_rest));
                    let is_plain = |part: PartId| matches!(self.part(part).kind, Kind::Plain);
                    let both = self.part(segment.part).traits.or(of_rest).inherited();
                    let is_merged = segment.from < segment.at
                        && is_plain(segment.part)
                        && is_plain(rest)
                        && self.part(segment.part).group == 0
                        && !both.must_be_cut();
                    let kind = match is_merged {
                        true => Kind::Plain,
                        false => Kind::Sequence(segment.part, rest),
                    };
                    let expression = sequence(self, segment.at, end)?;
                    (self.push(kind, traits, expression, groups_from), traits)
                }
            };
            let traits = segment.before.or(segment.before.followed_by(behind));
            if segment.from == segment.at {
                // Nothing stands before it.
                if rest.is_some() {
                    self.parts[tail as usize].traits = traits;
                }
                rest = Some(tail);
                continue;
            }
            let before = sequence(self, segment.from, segment.at)?;
            let before = self.push(Kind::Plain, segment.before, before, self.groups());
            let expression = sequence(self, segment.from, end)?;
            rest = Some(self.push(Kind::Sequence(before, tail), traits, expression, groups_from));
        }
        let part = rest.expect("a branch has a part");
        self.parts[part as usize].groups.0 = first.min(self.part(part).groups.0);
        Ok(part)
    }

    fn traits(&self, atom: &Atom) -> Traits {
        match atom {
            Atom::Simple(_) => Traits::default(),
            Atom::Part { part, .. } => self.part(*part).traits,
            Atom::Reference(_) => Traits { refers: true, ..Traits::default() },
        }
    }

    fn simply_repeated(&mut self, atom: &Atom, quantifier: Quantifier) -> Result<Id> {
        let expression = match atom {
            Atom::Simple(expression) => *expression,
            Atom::Part { part, .. } => self.part(*part).expression,
            Atom::Reference(_) => unreachable!("references are told apart"),
        };
        self.repeat(expression, quantifier.least, quantifier.most)
    }

    fn repeat(&mut self, body: Id, least: u32, most: Option<u32>) -> Result<Id> {
        match (least, most) {
            (1, Some(1)) => Ok(body),
            (0, Some(0)) => self.expressions.push(Expression::Empty),
            _ => self.expressions.push(Expression::Repeat(body, least, most)),
        }
    }

    /// The part of an atom that is told apart, with its quantifier; `first` is the first group that may be in it.
    fn repeated(&mut self, atom: Atom, quantifier: Quantifier, first: u32) -> Result<PartId> {
        let Quantifier { least, most, prefers } = quantifier;
        let part = match atom {
            Atom::Reference(group) => return self.reference(group, quantifier),
            Atom::Part { part, .. } => part,
            Atom::Simple(expression) => {
                self.push(Kind::Plain, Traits::default(), expression, first)
            }
        };
        let Part { traits, expression, .. } = *self.part(part);
        let is_agreed = prefers == Traits::default()
            || !traits.has_preference()
            || (prefers.is_long, prefers.is_short, false)
                == (traits.is_long, traits.is_short, traits.is_mixed);
        if (least, most) == (1, Some(1)) && is_agreed {
            return Ok(part);
        }
        let with = prefers.followed_by(traits);
        if !traits.captures && !traits.refers {
            let expression = self.repeat(expression, least, most)?;
            return Ok(self.push(Kind::Plain, with, expression, first));
        }
        let whole = self.repeat(expression, least, most)?;
        if least > 0 && !traits.refers {
            // Only the last repetition's groups are told.
            let before = self.repeat(expression, least - 1, most.map(|most| most - 1))?;
            let before = self.push(Kind::Plain, with.preference(), before, first);
            return Ok(self.push(Kind::Sequence(before, part), with, whole, first));
        }
        Ok(self.push(Kind::Repeat(part, least, most), with, whole, first))
    }

    fn reference(&mut self, group: u32, quantifier: Quantifier) -> Result<PartId> {
        let Quantifier { least, most, prefers } = quantifier;
        let refers = Traits { refers: true, ..Traits::default() };
        let traits = refers.or(prefers.followed_by(refers));
        let part = self.group_parts[group as usize].expect("a reference is to a group");
        let bare = Expression::Bare(self.part(part).expression);
        let bare = self.expressions.push(bare)?;
        let expression = self.repeat(bare, least, most)?;
        let kind = Kind::Reference { group, least, most };
        Ok(self.push(kind, traits, expression, self.groups()))
    }

    /// Takes what matches a place, if it is next.
    fn condition(&mut self) -> Result<Option<Id>> {
        match self.token {
            Token::Anchor(anchor) => {
                self.advance()?;
                self.expressions.push(Expression::Anchor(anchor)).map(Some)
            }
            Token::Look { is_ahead, is_positive } => {
                self.advance()?;
                let body = self.alternatives(Within { stop: Token::Close, is_look: true })?;
                self.advance()?;
                let body = self.part(body).expression;
                let look = Expression::Look { is_ahead, is_positive, body };
                self.expressions.push(look).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn atom(&mut self, within: Within) -> Result<Atom> {
        match self.token {
            Token::Plain(code) => self.character(code),
            Token::Close => {
                // Extended expressions take a parenthesis that closes nothing literally.
                if self.flags.is_advanced || !self.flags.is_extended {
                    return Err(Fault::Parentheses);
                }
                self.character(u32::from(')'))
            }
            Token::Any => {
                self.advance()?;
                let any = Set::range(0, LAST);
                self.push_set(self.without_newline(any)).map(Atom::Simple)
            }
            Token::Class(class, is_complement) => {
                self.advance()?;
                let set = class.set(self.flags.is_any_case);
                let set = if is_complement { set.complement() } else { set };
                self.push_set(set).map(Atom::Simple)
            }
            Token::Bracket { is_complement } => {
                let set = self.bracket()?;
                self.advance()?;
                let set = if self.flags.is_any_case { set.in_any_case() } else { set };
                let set = match is_complement {
                    true => self.without_newline(set.complement()),
                    false => set,
                };
                self.push_set(set).map(Atom::Simple)
            }
            Token::Open { captures } => self.group(captures && !within.is_look, within),
            Token::BackReference(group) => {
                let is_known = self.group_parts.get(group as usize).is_some_and(Option::is_some);
                if within.is_look || !is_known {
                    return Err(Fault::BackReference);
                }
                self.advance()?;
                Ok(Atom::Reference(group))
            }
            _ => Err(Fault::Quantifier),
        }
    }

    fn without_newline(&self, set: Set) -> Set {
        if self.flags.stops_at_newline { set.without(u32::from('\n')) } else { set }
    }

    fn character(&mut self, code: u32) -> Result<Atom> {
        self.advance()?;
        let set = Set::range(code, code);
        let set = if self.flags.is_any_case { set.in_any_case() } else { set };
        self.push_set(set).map(Atom::Simple)
    }

    fn group(&mut self, captures: bool, within: Within) -> Result<Atom> {
        let number = self.group_parts.len();
        if captures {
            self.group_parts.push(None);
            self.lexer.groups += 1;
        }
        self.advance()?;
        let mut part = self.alternatives(Within { stop: Token::Close, ..within })?;
        self.advance()?;
        if captures {
            let inner = self.part(part).clone();
            let traits = Traits { captures: true, ..inner.traits };
            if inner.group != 0 {
                part = self.push(Kind::Group(part), traits, inner.expression, inner.groups.0);
            }
            let own = &mut self.parts[part as usize];
            (own.group, own.traits) = (number as u32, traits);
            own.groups.0 = own.groups.0.min(number as u32);
            self.group_parts[number] = Some(part);
        }
        Ok(Atom::Part { part, captures })
    }

    fn quantifier(&mut self) -> Result<Quantifier> {
        let preference = |is_greedy| if is_greedy { Traits::LONG } else { Traits::SHORT };
        match self.token {
            Token::Repeat(least, most, is_greedy) => {
                self.advance()?;
                Ok(Quantifier { least, most, prefers: preference(is_greedy) })
            }
            Token::BoundOpen => {
                self.advance()?;
                self.bound(preference)
            }
            _ => Ok(Quantifier { least: 1, most: Some(1), prefers: Traits::default() }),
        }
    }

    fn bound(&mut self, preference: impl Fn(bool) -> Traits) -> Result<Quantifier> {
        let least = self.count()?;
        let (mut most, mut is_exact) = (Some(least), true);
        if self.token == Token::Comma {
            self.advance()?;
            is_exact = false;
            most = if matches!(self.token, Token::Digit(_)) { Some(self.count()?) } else { None };
            if most.is_some_and(|most| least > most) {
                return Err(Fault::Count);
            }
        }
        let Token::BoundClose(is_greedy) = self.token else {
            return Err(Fault::Count);
        };
        self.advance()?;
        let prefers = if is_exact { Traits::default() } else { preference(is_greedy) };
        Ok(Quantifier { least, most, prefers })
    }

    fn count(&mut self) -> Result<u32> {
        let mut count = 0;
        while let Token::Digit(digit) = self.token
            && count < MOST_REPETITIONS
        {
            count = count * 10 + digit;
            self.advance()?;
        }
        if matches!(self.token, Token::Digit(_)) || count > MOST_REPETITIONS {
            return Err(Fault::Count);
        }
        Ok(count)
    }
}
