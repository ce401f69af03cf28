//! What a session promises its client: statements are let in with a forecast or refused, and what came of them is noted.
//!
//! `shareddb.response_time` runs from the moment at which the server has the whole message ([`Session::message_has_come`]) to the
//! moment at which the answer's last byte is handed to the socket ([`Session::answers_are_out`]). Called by `execute` and by the
//! connection. How a forecast is made, and who is refused, is [`crate::promise`]'s.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::sql::sqlparser::ast::Statement as Ast;
use engine::heartbeat::promises::{Margin, Meets, OWN, Place, Record, Station, Stations, Stay};
use engine::heartbeat::{Engine, Template};
use engine::plan::Weight;
use engine::types::{Error, Result};
use parking_lot::Mutex;

use super::prepared::{Plan, Prepared};
use super::settings::Late;
use super::{Session, Statement};
use crate::promise::{Asked, Forecast, Refusal, decide};
use crate::rights::RoleId;
use crate::template::{Path, QueryTemplate};

/// Microseconds that a query takes by itself of which nothing is known.
const UNKNOWN_WORK: u64 = 1_000;

/// Stands in `shareddb.promises` for texts that were refused before they were planned.
const NEW: &str = "(new)";

/// What a session knows of its promises.
#[derive(Debug, Default)]
pub(super) struct Promising {
    /// When the message came that is dealt with.
    arrived: Option<Instant>,
    /// The last statement was refused.
    was_refused: bool,
    /// A statement of the block or pipeline has run: the others are let in.
    has_begun: bool,
    /// The statement whose answer is not out yet.
    under_way: Option<UnderWay>,
}

/// The record of whoever ran a statement last: found without its text. Records are never forgotten.
#[derive(Debug, Default)]
pub struct Recorded(Mutex<Option<(Whose, Arc<Record>)>>);

/// A role, and since when the catalog has had the same roles.
type Whose = (RoleId, u64);

impl Recorded {
    fn of(&self, whose: Whose, find: impl FnOnce() -> Arc<Record>) -> Arc<Record> {
        let mut last = self.0.lock();
        match &*last {
            Some((known, record)) if *known == whose => record.clone(),
            _ => last.insert((whose, find())).1.clone(),
        }
    }
}

/// A statement that was let in.
#[derive(Debug)]
struct UnderWay {
    prepared: Arc<Prepared>,
    /// What it is to those that compete with it.
    work: Work,
    /// The highest load that it is known to have met; `None` where nothing is to be learned of it.
    load: Option<u64>,
    since: Instant,
    arrived: Instant,
    /// When all of its answer was there.
    computed: Option<Instant>,
    promised: Option<Arc<Record>>,
    promise: Duration,
    forecast: Option<Forecast>,
}

/// What a statement is to those that compete with it.
#[derive(Debug)]
enum Work {
    /// It is answered where it is read, by index: nobody waits for it.
    Light,
    /// Microseconds that it takes by itself, what its access paths are predicted to take, and where it runs.
    Query(u64, Option<Duration>, Place),
    /// A change by itself.
    Write,
}

impl Work {
    /// The load that it meets, in eighths of what it adds itself: what is known of it at a load stays true where it is found to
    /// be more or less work than was thought.
    fn scaled(&self, load: Option<u64>) -> u64 {
        load.map_or(OWN, |load| load.saturating_mul(OWN) / self.own())
    }

    /// What it adds to its station, at least 1.
    fn own(&self) -> u64 {
        match self {
            Work::Query(own, ..) => (*own).max(1),
            Work::Light | Work::Write => 1,
        }
    }

    /// Where it competes; `None` where nobody waits for it.
    fn station<'a>(&self, stations: &'a Stations) -> Option<&'a Arc<Station>> {
        match self {
            Work::Light => None,
            Work::Query(..) => Some(&stations.queries),
            Work::Write => Some(&stations.writes),
        }
    }

    /// What is learned of those that compete with it.
    fn margin<'a>(&self, stations: &'a Stations) -> &'a Margin {
        self.station(stations).map_or(&stations.light, |station| &station.margin)
    }

    /// The same for whoever asks how much more of it there may be.
    fn meets(&self, prepared: &Prepared) -> Option<Meets> {
        let response = || prepared.response.clone();
        match self {
            Work::Light => None,
            Work::Query(work, _, place) => {
                Some(Meets { place: *place, work: *work, response: response() })
            }
            Work::Write => Some(Meets { place: Place::Writes, work: 1, response: response() }),
        }
    }
}

impl Session {
    /// A message has come whose statements run from then on. `None`: what it says is no statement that runs.
    pub fn message_has_come(&mut self, at: Option<Instant>) {
        self.promising.arrived = at;
    }

    /// The client has its answers, but for what it did not read for so long.
    pub fn answers_are_out(&mut self, unread: Duration) {
        if let Some(under_way) = self.promising.under_way.take() {
            let out = Instant::now();
            under_way.settle(out.checked_sub(unread).unwrap_or(out), &self.database.engine);
        }
    }

    /// Lets a statement in, or refuses it with 53400. What it takes of others' time ends with the result; until when it must be
    /// answered is told besides, unless it may be late.
    pub(super) fn let_in(
        &mut self,
        statement: &Statement,
    ) -> Result<(Option<Stay>, Option<Instant>)> {
        self.settle_computed();
        if !self.in_block() {
            self.promising.has_begun = false;
        }
        let inner = self.executed(statement);
        let statement = inner.as_deref().unwrap_or(statement);
        if self.block.is_failed() || is_exempt(&statement.prepared.plan) {
            return Ok((None, None));
        }
        let has_begun = std::mem::replace(&mut self.promising.has_begun, true);
        let promise = self.settings.response_time();
        let work = self.work(&statement.prepared);
        if promise.is_none() && matches!(work, Work::Light) {
            return Ok((None, None));
        }
        let since = Instant::now();
        let arrived = match promise {
            Some(_) => self.arrived().unwrap_or(since),
            None => since,
        };
        let stay = self.enter(&work);
        let load = work.scaled(stay.as_ref().map(Stay::load));
        let mut under_way = UnderWay {
            prepared: statement.prepared.clone(),
            work,
            load: statement.prepared.plan.is_measured().then_some(load),
            since,
            arrived,
            computed: None,
            promised: None,
            promise: promise.unwrap_or_default(),
            forecast: None,
        };
        let Some(promise) = promise else {
            self.promising.under_way = Some(under_way);
            return Ok((stay, None));
        };
        let record = self.record(statement);
        let asked = self.asks(promise, since - arrived, load, &under_way.work);
        let admitted = match has_begun {
            true => Ok(Forecast::of(&statement.prepared.response, &asked)),
            false => self.admit(statement, &record, &asked),
        };
        let forecast = match admitted {
            Ok(forecast) => forecast,
            Err(refusal) => {
                stay.into_iter().for_each(Stay::refuse);
                return Err(refusal);
            }
        };
        let total = forecast.map(|forecast| forecast.total);
        record.admit(promise, total, under_way.work.meets(&statement.prepared));
        (under_way.promised, under_way.forecast) = (Some(record), forecast);
        self.promising.under_way = Some(under_way);
        let is_dropped = !has_begun && self.settings.late() == Late::Drop;
        Ok((stay, is_dropped.then(|| arrived + promise)))
    }

    fn admit(
        &mut self,
        statement: &Statement,
        record: &Record,
        asked: &Asked,
    ) -> Result<Option<Forecast>> {
        let decided = decide(&statement.prepared.response, asked);
        self.promising.was_refused = decided.is_err();
        decided.map_err(|refusal| {
            // Nothing of the block or pipeline has run.
            self.promising.has_begun = false;
            record.refuse(asked.promise, refusal.forecast.total);
            refusal.into()
        })
    }

    /// Lets a text in to be planned, or refuses it with 53400: what it takes to plan it, beside others, counts as its
    /// statement's. Until when it must be done is told, unless it may be late. What is exempt is never
    /// refused.
    pub(super) fn let_text_in(&mut self, text: &str, is_exempt: bool) -> Result<Option<Instant>> {
        let Some(promise) = self.settings.response_time() else { return Ok(None) };
        let Some(arrived) = self.arrived() else { return Ok(None) };
        let has_begun = self.in_block() && self.promising.has_begun;
        if has_begun || self.block.is_failed() || is_exempt {
            return Ok(None);
        }
        let own = text.len() as u64;
        let load = own + self.stations().texts.load();
        let asked = self.asks(promise, arrived.elapsed(), load, &Work::Light);
        let asked = Asked { own, ..asked };
        let decided = decide(&self.database.engine.promises().planning, &asked);
        self.promising.was_refused = decided.is_err();
        decided.map_err(|refusal| self.refuse_text(promise, refusal))?;
        let is_dropped = self.settings.late() == Late::Drop;
        Ok(is_dropped.then(|| arrived + promise))
    }

    fn refuse_text(&self, promise: Duration, refusal: Refusal) -> Error {
        let (role, statement) = (Arc::from(self.acting_role()), Arc::from(NEW));
        let record = self.database.engine.promises().record(&role, &statement);
        record.refuse(promise, refusal.forecast.total);
        refusal.into()
    }

    /// What is expected of a statement that would begin now.
    pub(super) fn forecast(&self, statement: &Statement) -> Option<Forecast> {
        if is_exempt(&statement.prepared.plan) {
            return None;
        }
        let work = self.work(&statement.prepared);
        let load = work.scaled(self.enter(&work).as_ref().map(Stay::load));
        let promise = self.settings.response_time().unwrap_or_default();
        let asked = self.asks(promise, Duration::ZERO, load, &work);
        Forecast::of(&statement.prepared.response, &asked)
    }

    /// When the message came. What it had waited until it was read nobody has seen; others wait so long now.
    fn arrived(&self) -> Option<Instant> {
        let engine = &self.database.engine;
        let unseen = engine.promises().turns.wait(engine.environment().clock.now());
        self.promising.arrived.map(|read| read.checked_sub(unseen).unwrap_or(read))
    }

    fn asks(&self, promise: Duration, waited: Duration, load: u64, work: &Work) -> Asked {
        let predicted = match work {
            Work::Query(_, predicted, _) => *predicted,
            Work::Light | Work::Write => None,
        };
        let ahead = match work {
            Work::Query(_, _, Place::Lane(lane)) => self.database.engine.ahead(*lane),
            _ => None,
        };
        let now = self.database.engine.environment().clock.now();
        let was_served = !self.promising.was_refused;
        let deviations = work.margin(self.stations()).deviations();
        Asked { promise, waited, was_served, load, own: OWN, ahead, predicted, deviations, now }
    }

    fn stations(&self) -> &Stations {
        &self.database.engine.promises().stations
    }

    fn enter(&self, work: &Work) -> Option<Stay> {
        work.station(self.stations()).map(|station| station.enter(work.own()))
    }

    fn work(&self, prepared: &Prepared) -> Work {
        match &prepared.plan {
            Plan::Query(query) => work_of(&query.template, prepared),
            Plan::InsertQuery(insert) => work_of(&insert.source, prepared),
            Plan::Complex(write) => work_of(&write.query, prepared),
            Plan::Write(_) if !self.in_block() => Work::Write,
            _ => Work::Light,
        }
    }

    /// The statement that EXECUTE runs.
    fn executed(&self, statement: &Statement) -> Option<Arc<Statement>> {
        let Plan::Utility(utility) = &statement.prepared.plan else { return None };
        let Ast::Execute { name: Some(name), .. } = &**utility else { return None };
        let [only] = &name.0[..] else { return None };
        self.statements.get(&only.as_ident()?.value).cloned()
    }

    /// Where its promises for a statement are entered.
    fn record(&self, statement: &Statement) -> Arc<Record> {
        let catalog = self.catalog();
        let whose = (self.acting_id(&catalog), catalog.since());
        statement.prepared.recorded.of(whose, || {
            let role: Arc<str> = catalog.rights().name_of(whose.0).into();
            self.database.engine.promises().record(&role, &shape(statement))
        })
    }

    /// All of the answer is there, or the reason why there is none.
    pub(super) fn is_computed(&mut self, fault: Option<&Error>) {
        let stations = &self.database.engine.promises().stations;
        let Some(under_way) = &mut self.promising.under_way else { return };
        under_way.computed = Some(Instant::now());
        // Those who came behind it may have run before it, or beside it.
        let left = under_way.work.station(stations);
        let met = under_way.work.scaled(left.map(|left| left.load() + under_way.work.own()));
        under_way.load = under_way.load.map(|load| load.max(met));
        if fault.is_none() {
            return;
        }
        if !self.limits.is_promise_missed() {
            // What ended early says nothing of those that do not.
            (under_way.load, under_way.forecast) = (None, None);
        } else if let Some(record) = under_way.promised.take() {
            // What is dropped has taken at least so long: who notes only what was answered takes it for what all take.
            record.drop_late();
        }
    }

    /// What was computed before and is not known to be out went out then, as far as anybody can tell.
    fn settle_computed(&mut self) {
        if let Some(under_way) = self.promising.under_way.take()
            && let Some(computed) = under_way.computed
        {
            under_way.settle(computed, &self.database.engine);
        }
    }
}

impl UnderWay {
    fn settle(self, out: Instant, engine: &Engine) {
        let response = &self.prepared.response;
        if let Some(load) = self.load {
            response.note(load, out.saturating_duration_since(self.since));
        }
        let took = out.saturating_duration_since(self.arrived);
        if let Some(forecast) = self.forecast {
            self.learn(engine, &forecast, took);
        }
        if let Some(record) = &self.promised {
            record.answer(self.promise, took, self.forecast.map(|forecast| forecast.total));
        }
    }

    /// Where it was let in with a forecast: how near those may be to their promises that come after it.
    fn learn(&self, engine: &Engine, forecast: &Forecast, took: Duration) {
        match self.work {
            Work::Query(_, _, Place::Lane(lane)) => {
                let was_late = forecast.was_late(self.promise, took);
                was_late.into_iter().for_each(|was_late| engine.note_answer(lane, was_late));
            }
            _ => self.work.margin(&engine.promises().stations).note(took > forecast.latest),
        }
    }
}

fn work_of(template: &QueryTemplate, prepared: &Prepared) -> Work {
    match &template.path {
        Path::Shared(shared) if shared.weight() == Weight::Light => Work::Light,
        Path::Shared(shared) => {
            let predicted = predicted(shared);
            Work::Query(
                (predicted.as_micros() as u64).max(1),
                Some(predicted),
                Place::Lane(shared.lane()),
            )
        }
        Path::Alone(_) => {
            let least = prepared.response.least();
            let own = least.map_or(UNKNOWN_WORK, |least| least.as_micros() as u64).max(1);
            Work::Query(own, None, Place::Alone)
        }
    }
}

/// What one takes by itself, on the path that is the cheaper one.
fn predicted(shared: &Template) -> Duration {
    let costs = shared.path_costs();
    match costs.is_alone_cheaper() {
        true => costs.alone.corrected,
        false => costs.global.measured.unwrap_or(costs.global.corrected),
    }
}

/// What is never refused, and never dropped: whoever may not end what was begun, or take a promise back, would be worse off than
/// without one. A COPY takes as long as its client sends or reads.
fn is_exempt(plan: &Plan) -> bool {
    match plan {
        Plan::Empty => true,
        Plan::Command(command) => command.is_exempt(),
        Plan::Utility(utility) => matches!(**utility, Ast::Copy { .. }),
        _ => false,
    }
}

/// A statement's text with its literals lifted, or the word that it begins with.
fn shape(statement: &Statement) -> Arc<str> {
    let prepared = &statement.prepared;
    match (&prepared.plan, &prepared.shape) {
        (Plan::Query(query), _) => query.template.text.clone(),
        (_, Some(shape)) => shape.clone(),
        _ => statement.text.split_whitespace().next().unwrap_or_default().to_uppercase().into(),
    }
}
