//! Sub-plans that one statement has several times: a CTE or a view named twice, the same grouping in a subquery and
//! around it.
//!
//! The readings of one statement mostly follow each other: a hash join has read its left side to the end before it asks
//! for the right one. So the first reading enters the others in its list as *expected* consumers: pages are kept for
//! them beyond what a list may hold for those behind, but nobody waits for them, as they may be waiting for whoever
//! would. Where memory does not do they lose their places and run the sub-plan by themselves, as they would have alone.

use std::sync::Arc;

use datafusion::common::Result;
use parking_lot::Mutex;

use super::consumer::Consumer;
use super::order::inputs_in_any_order;
use super::signature::Signature;
use super::wrap::Signed;

/// The repeated sub-plans of a statement. Who drops it gives up the places of readings that have not begun: nodes know
/// their sub-plan only as long as it is here, since they may run for others when their statement is over.
#[derive(Default)]
pub struct Repeats {
    repeated: Vec<Arc<Repeated>>,
}

/// A sub-plan that a statement reads several times.
pub struct Repeated {
    signature: Arc<Signature>,
    readings: usize,
    /// Whether rows may come in any order for all readings.
    any_order: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Readings that have not asked yet.
    left: usize,
    /// Those of them that no filter from above narrows.
    whole_left: usize,
    /// Their places in a list.
    expected: Vec<Consumer>,
    /// Whether those places may be in the middle of a scan.
    any_order: bool,
}

impl State {
    /// One reading fewer is left.
    fn asked(&mut self, is_open: bool) {
        self.left = self.left.saturating_sub(1);
        self.whole_left = self.whole_left.saturating_sub(usize::from(!is_open));
    }
}

/// One of the readings, when it asks.
#[derive(Clone, Copy)]
pub struct Reading {
    /// Whether its rows may come in any order.
    pub any_order: bool,
    /// Whether a filter from above narrows it.
    pub is_open: bool,
}

impl Repeats {
    /// Those of a statement's plan.
    pub fn of(plan: &Signed) -> Repeats {
        let mut all = Repeats::default();
        all.count(plan, true);
        all.repeated.retain(|repeated| repeated.readings > 1);
        all
    }

    fn count(&mut self, plan: &Signed, any_order: bool) {
        if let Some(signature) = plan.worth()
            && self.add(signature, any_order) > 1
        {
            // What lies below runs once.
            return;
        }
        let below = inputs_in_any_order(plan.plan.as_ref(), any_order);
        plan.inputs.iter().for_each(|input| self.count(input, below));
    }

    /// How many readings of this sub-plan there are now.
    fn add(&mut self, signature: &Arc<Signature>, any_order: bool) -> usize {
        let known = self.repeated.iter().position(|repeated| repeated.signature == *signature);
        let at = known.unwrap_or_else(|| {
            self.repeated.push(Arc::new(Repeated::new(signature.clone())));
            self.repeated.len() - 1
        });
        let repeated = Arc::get_mut(&mut self.repeated[at]).expect("no node has it yet");
        repeated.readings += 1;
        repeated.any_order &= any_order;
        let state = repeated.state.get_mut();
        state.left += 1;
        state.whole_left += usize::from(!signature.is_open());
        repeated.readings
    }

    /// The repeated sub-plan of this signature, if it is one.
    pub fn find(&self, signature: &Signature) -> Option<&Arc<Repeated>> {
        self.repeated.iter().find(|repeated| *repeated.signature == *signature)
    }
}

impl Repeated {
    fn new(signature: Arc<Signature>) -> Repeated {
        Repeated { signature, readings: 0, any_order: true, state: Mutex::default() }
    }

    /// Whether rows may come in any order for all readings.
    pub fn any_order(&self) -> bool {
        self.any_order
    }

    /// A reading that will not be, since what it is a part of is read from somebody else's list; how many are left.
    pub fn forgo(&self, is_open: bool) -> usize {
        let mut state = self.state.lock();
        state.asked(is_open);
        let (left, expected) = (state.left, state.expected.len().min(state.left));
        let lost = state.expected.split_off(expected);
        drop(state);
        drop(lost);
        left
    }

    /// The place that is kept for a reading, else that which `begin` finds, beside which places are kept for the readings
    /// to come. `begin` is told whether one of these takes all rows.
    pub fn join(
        &self,
        reading: Reading,
        begin: impl FnOnce(bool) -> Result<Option<Consumer>>,
    ) -> Result<Option<Consumer>> {
        // Places that were lost are dropped behind the lock.
        let mut lost = Vec::new();
        let mut state = self.state.lock();
        state.asked(reading.is_open);
        if reading.any_order || !state.any_order {
            while let Some(mut kept) = state.expected.pop() {
                if kept.begin() {
                    return Ok(Some(kept));
                }
                lost.push(kept);
            }
        }
        let consumer = begin(state.whole_left > 0)?;
        if let Some(consumer) = &consumer
            && state.expected.is_empty()
        {
            state.any_order = reading.any_order;
            state.expected = (0..state.left).map_while(|_| consumer.expect()).collect();
        }
        Ok(consumer)
    }
}
