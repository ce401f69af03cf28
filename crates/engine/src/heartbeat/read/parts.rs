//! Which of those that wait in a heavy lane run next, where all together would take long.
//!
//! In comes what waits, out goes a part of it: the activations of one template, or of all templates that one star's pass
//! serves. What other templates share are scans, about a nanosecond a row; and their price is that the keys of one
//! template's joins no longer narrow the scans below the others', that rows carry sets of templates which they do not
//! concern, and that rows are kept for several readers. So long batches are of one part each. Those who always share are one
//! part, whatever they ask; of those who never share each is a part, and they come in the order in which they came.
//!
//! Of the parts that comes next which has most activations times the root of how many times its own cost it has waited. A
//! batch spares most where many share what costs much by itself: if each of n activations took a share c and their batch a
//! besides, clients who ask again at once would be answered fastest by batches in proportion to the root of a. What costs
//! little by itself has little to share and does not wait long, what costs much waits for company. But nobody waits longer
//! than [`PATIENCE`] times what all takes that waits, however many others are. And whose answer was promised comes before whoever has
//! more time, where it would else be late and can still be in time: earliest deadline first, but no sooner than it must, since
//! what waits is shared by more. Those without a promise get a tenth all the same ([`super::least_share`]). (Least time for each answer first, which it
//! was before, lets cheap ones run one by one while all others wait.)

use std::time::{Duration, Instant};

use super::least_share::LeastShare;
use super::prepared::PreparedLane;
use crate::heartbeat::{Activation, Sharing};
use crate::types::TemplateId;

/// What takes less than this all together is one batch.
const LONG: Duration = Duration::from_millis(5);

/// So many times what all takes that waits a part may be passed over.
const PATIENCE: u32 = 3;

/// Whoever comes has waited so long: then it matters how many they are.
const JUST_COME: Duration = Duration::from_millis(1);

/// Activations that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All that wait.
    All,
    /// All who always share.
    Together,
    /// The first of those who never share. It counts as waiting since the one before it was taken: activations do not say
    /// when they came.
    Apart,
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
    /// Who runs.
    pub part: Part,
    predicted: Duration,
    /// What it takes without the other parts.
    own: Duration,
    /// How much later than now it may begin to keep what was promised; `None` where nothing was, or it is too late.
    slack: Option<Duration>,
    /// Somebody in it was promised an answer.
    is_promised: bool,
    /// Nobody was, and they have not had their share.
    is_owed: bool,
    /// How long it has waited beyond all patience.
    overdue: Duration,
    urgency: f64,
}

/// Says what activations take.
pub trait Costs {
    /// Those of these templates, together.
    fn together(&self, templates: &[TemplateId]) -> Duration;
    /// One by itself.
    fn alone(&self, activation: &Activation) -> Duration;
}

impl Outlook {
    /// What is to be run next of what waits; notes since when its parts have waited. `elsewhere` is what other lanes' will take.
    pub fn of(
        plan: &PreparedLane,
        costs: &dyn Costs,
        waiting: &[Activation],
        elsewhere: Duration,
        since: &mut Since,
        least_share: &LeastShare,
    ) -> Outlook {
        let all: Vec<TemplateId> = waiting.iter().map(|own| own.template.id).collect();
        let predicted = costs.together(&all);
        let whole = Outlook {
            part: Part::All,
            predicted,
            own: predicted,
            slack: None,
            is_promised: waiting.iter().any(|own| own.deadline.is_some()),
            is_owed: false,
            overdue: Duration::ZERO,
            urgency: 0.0,
        };
        if !whole.is_long() {
            since.clear();
            return whole;
        }
        let parts = parts(plan, waiting);
        note(since, &parts);
        let patience = (predicted + elsewhere) * PATIENCE;
        let outlooks = parts.iter().zip(since).map(|((part, own), (_, began))| {
            let waited = began.elapsed();
            let urgency = urgency(own.len(), waited, costs.alone(own[0]));
            let overdue = waited.saturating_sub(patience);
            let own_time = of_part(costs, own);
            let slack = slack(own, own_time);
            let is_promised = own.iter().any(|activation| activation.deadline.is_some());
            let is_owed = !is_promised && least_share.is_owed(own_time);
            Outlook {
                part: *part,
                predicted,
                own: own_time,
                slack,
                is_promised,
                is_owed,
                overdue,
                urgency,
            }
        });
        let first =
            |best: Outlook, other: Outlook| if other.precedes(&best) { other } else { best };
        outlooks.reduce(first).unwrap_or(whole)
    }

    /// Whether it is worth choosing with care.
    pub fn is_long(&self) -> bool {
        self.predicted >= LONG
    }

    /// It is taken: of what was promised, others are owed a part.
    pub fn note(&self, least_share: &LeastShare) {
        least_share.note(self.is_promised, self.own);
    }

    /// Whether it should run before another.
    pub fn precedes(&self, other: &Outlook) -> bool {
        if self.is_owed != other.is_owed {
            return self.is_owed;
        }
        let (own, others) = (self.pressed_by(other), other.pressed_by(self));
        if self.overdue != other.overdue || own == others {
            return (self.overdue, self.urgency) > (other.overdue, other.urgency);
        }
        match (own, others) {
            (Some(own), Some(others)) => own < others,
            (own, _) => own.is_some(),
        }
    }

    /// By when its answers were promised, from now, where they would be late behind another and are not before it.
    fn pressed_by(&self, other: &Outlook) -> Option<Duration> {
        self.slack.filter(|slack| *slack < other.own).map(|slack| slack + self.own)
    }
}

/// What the activations of one part take.
fn of_part(costs: &dyn Costs, own: &[&Activation]) -> Duration {
    let templates: Vec<TemplateId> = own.iter().map(|activation| activation.template.id).collect();
    costs.together(&templates)
}

fn slack(own: &[&Activation], took: Duration) -> Option<Duration> {
    let deadline = own.iter().filter_map(|activation| activation.deadline).min()?;
    deadline.checked_duration_since(Instant::now() + took)
}

/// Of so many activations that have waited so long and of which one takes so long by itself: the square of their number
/// times that of their own costs that they have waited.
fn urgency(activations: usize, waited: Duration, alone: Duration) -> f64 {
    let number = activations as f64;
    number * number * waited.max(JUST_COME).as_secs_f64() / alone.as_secs_f64().max(1e-6)
}

/// Says of these parts, in their order, since when they wait; forgets all others.
fn note(since: &mut Since, parts: &[(Part, Vec<&Activation>)]) {
    let now = Instant::now();
    let known = |part: Part| since.iter().find(|(known, _)| *known == part).map(|own| own.1);
    *since = parts.iter().map(|(part, _)| (*part, known(*part).unwrap_or(now))).collect();
}

/// Takes a part out of what waits.
pub fn take(plan: &PreparedLane, part: Part, waiting: &mut Vec<Activation>) -> Vec<Activation> {
    let most = if part == Part::Apart { 1 } else { waiting.len() };
    waiting.extract_if(.., |own| part_of(plan, own) == part).take(most).collect()
}

/// The part that an activation belongs to.
fn part_of(plan: &PreparedLane, activation: &Activation) -> Part {
    let template = activation.template.id;
    let star = || plan.plan.member(template).and_then(|member| plan.stars.members[member]);
    match activation.sharing {
        Sharing::Always => Part::Together,
        Sharing::Never => Part::Apart,
        Sharing::Automatic => star().map_or(Part::Template(template), Part::Star),
    }
}

/// The activations of each part.
fn parts<'a>(
    plan: &PreparedLane,
    activations: &'a [Activation],
) -> Vec<(Part, Vec<&'a Activation>)> {
    let mut parts: Vec<(Part, Vec<&Activation>)> = Vec::new();
    for activation in activations {
        let own = part_of(plan, activation);
        match parts.iter_mut().find(|(part, _)| *part == own) {
            Some((Part::Apart, _)) => {}
            Some((_, known)) => known.push(activation),
            None => parts.push((own, vec![activation])),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn of(activations: usize, waited: u64, alone: u64) -> f64 {
        urgency(activations, milliseconds(waited), milliseconds(alone))
    }

    #[test]
    fn many_come_before_few_and_cheap_ones_before_dear_ones() {
        assert!(of(8, 100, 90) > of(2, 100, 90));
        assert!(of(1, 100, 10) > of(1, 100, 90));
        assert!(of(4, 100, 90) > of(1, 100, 10));
        assert!(of(2, 0, 90) > of(1, 0, 90));
    }

    #[test]
    fn who_has_waited_long_comes_before_many() {
        assert!(of(1, 10_000, 1_000) > of(8, 10, 80));
        assert!(of(1, 10, 1_000) < of(8, 10, 80));
    }

    #[test]
    fn nobody_is_passed_over_for_ever() {
        let outlook = |overdue: u64, urgency: f64| Outlook {
            part: Part::All,
            predicted: Duration::ZERO,
            own: Duration::ZERO,
            slack: None,
            is_promised: false,
            is_owed: false,
            overdue: milliseconds(overdue),
            urgency,
        };
        let many = outlook(0, of(10_000, 10, 10));
        assert!(outlook(1, of(1, 1_000, 1_000)).precedes(&many));
        assert!(!many.precedes(&outlook(1, 0.0)));
        assert!(outlook(2, 0.0).precedes(&outlook(1, 5.0)));
    }

    #[test]
    fn who_would_break_a_promise_behind_others_comes_before_them() {
        let outlook = |own: u64, slack: Option<u64>, urgency: f64| Outlook {
            part: Part::All,
            predicted: Duration::ZERO,
            own: milliseconds(own),
            slack: slack.map(milliseconds),
            is_promised: slack.is_some(),
            is_owed: false,
            overdue: Duration::ZERO,
            urgency,
        };
        let many = outlook(50, None, 100.0);
        assert!(outlook(5, Some(20), 1.0).precedes(&many), "50 ms are too long a wait");
        assert!(!many.precedes(&outlook(5, Some(20), 1.0)));
        assert!(!outlook(5, Some(80), 1.0).precedes(&many), "it has time");
        // Of two that have none the one that was promised earlier.
        let (early, late) = (outlook(10, Some(5), 1.0), outlook(10, Some(8), 9.0));
        assert!(early.precedes(&late) && !late.precedes(&early));
        // Who waits beyond all patience comes before promises.
        let starved = Outlook { overdue: milliseconds(1), ..many };
        assert!(!outlook(5, Some(20), 1.0).precedes(&starved));
        // Those without a promise get their share before promises, and before anybody else.
        let owed = Outlook { is_owed: true, ..outlook(50, None, 0.1) };
        assert!(owed.precedes(&early) && !early.precedes(&owed) && owed.precedes(&starved));
    }
}
