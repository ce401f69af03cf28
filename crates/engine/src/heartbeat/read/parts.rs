//! Which of those that wait in a heavy lane run next, where all together would take long.
//!
//! In comes what waits, out goes a part of it: the activations of one template, or of all templates that one star's pass
//! serves. What other templates share are scans, about a nanosecond a row; and their price is that the keys of one
//! template's joins no longer narrow the scans below the others', that rows carry sets of templates which they do not
//! concern, and that rows are kept for several readers. So long batches are of one part each.
//!
//! Of the parts that comes next which takes the least time for each activation that it answers. Where sharing spares
//! much, waiting pays: such a part comes down in this order with everyone who joins it, and those for whom nothing is
//! gained by waiting do not wait. Nobody is passed over for longer than [`PATIENCE`] times what his part takes.

use std::time::{Duration, Instant};

use super::prepared::PreparedLane;
use crate::heartbeat::Activation;
use crate::types::TemplateId;

/// What takes less than this all together is one batch.
const LONG: Duration = Duration::from_millis(5);

/// So many times what a part takes it may wait for parts that are cheaper for each activation.
const PATIENCE: u32 = 8;

/// Activations that run together in long batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All over this star of the lane.
    Star(usize),
    /// All of a template.
    Template(TemplateId),
}

/// Parts that wait, each with the time since when.
pub type Since = Vec<(Part, Instant)>;

/// What a lane would run next.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// `None`: all that waits.
    pub part: Option<Part>,
    activations: usize,
    predicted: Duration,
    is_overdue: bool,
}

/// Says what activations of these templates will take together.
pub type Predict<'a> = &'a dyn Fn(&[TemplateId]) -> Duration;

impl Outlook {
    /// What is to be run next of what waits; notes since when its parts have waited.
    pub fn of(
        plan: &PreparedLane,
        predict: Predict<'_>,
        waiting: &[Activation],
        since: &mut Since,
    ) -> Outlook {
        let all: Vec<TemplateId> = waiting.iter().map(|own| own.template.id).collect();
        let whole = Outlook::new(None, predict, &all, Duration::ZERO);
        if !whole.is_long() {
            since.clear();
            return whole;
        }
        let parts = parts(plan, &all);
        note(since, &parts);
        let outlooks = parts.iter().zip(since).map(|((part, templates), (_, began))| {
            Outlook::new(Some(*part), predict, templates, began.elapsed())
        });
        let first =
            |best: Outlook, other: Outlook| if other.precedes(&best) { other } else { best };
        outlooks.reduce(first).unwrap_or(whole)
    }

    fn new(
        part: Option<Part>,
        predict: Predict<'_>,
        templates: &[TemplateId],
        waited: Duration,
    ) -> Outlook {
        let predicted = predict(templates);
        let is_overdue = waited > predicted * PATIENCE;
        Outlook { part, activations: templates.len(), predicted, is_overdue }
    }

    /// Whether it is worth choosing with care.
    pub fn is_long(&self) -> bool {
        self.predicted >= LONG
    }

    /// Whether it should run before another.
    pub fn precedes(&self, other: &Outlook) -> bool {
        let each = |own: &Outlook| own.predicted / (own.activations.max(1) as u32);
        match (self.is_overdue, other.is_overdue) {
            (true, false) => true,
            (false, true) => false,
            _ => each(self) < each(other),
        }
    }
}

/// Says of these parts, in their order, since when they wait; forgets all others.
fn note(since: &mut Since, parts: &[(Part, Vec<TemplateId>)]) {
    let now = Instant::now();
    let known = |part: Part| since.iter().find(|(known, _)| *known == part).map(|own| own.1);
    *since = parts.iter().map(|(part, _)| (*part, known(*part).unwrap_or(now))).collect();
}

/// The part that an activation belongs to.
pub fn part_of(plan: &PreparedLane, template: TemplateId) -> Part {
    let star = plan.plan.member(template).and_then(|member| plan.stars.members[member]);
    star.map_or(Part::Template(template), Part::Star)
}

/// The templates of each part's activations.
fn parts(plan: &PreparedLane, activations: &[TemplateId]) -> Vec<(Part, Vec<TemplateId>)> {
    let mut parts: Vec<(Part, Vec<TemplateId>)> = Vec::new();
    for &template in activations {
        let own = part_of(plan, template);
        match parts.iter_mut().find(|(part, _)| *part == own) {
            Some((_, templates)) => templates.push(template),
            None => parts.push((own, vec![template])),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlook(activations: usize, milliseconds: u64, is_overdue: bool) -> Outlook {
        let predicted = Duration::from_millis(milliseconds);
        Outlook { part: None, activations, predicted, is_overdue }
    }

    #[test]
    fn what_answers_most_in_its_time_comes_first() {
        assert!(outlook(8, 280, false).precedes(&outlook(1, 90, false)));
        assert!(!outlook(2, 260, false).precedes(&outlook(1, 90, false)));
    }

    #[test]
    fn nobody_is_passed_over_for_ever() {
        assert!(outlook(1, 1_000, true).precedes(&outlook(8, 80, false)));
        assert!(!outlook(8, 80, false).precedes(&outlook(1, 1_000, true)));
        assert!(outlook(8, 80, true).precedes(&outlook(1, 1_000, true)));
    }
}
