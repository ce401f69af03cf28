//! A dimension that another batch has put together already: the same rows, wanted by slots that have other numbers there.

use super::by_place::ByPlace;
use super::dimension::{Dimension, NumberedSets};
use super::padded_width;
use crate::operators::Batch;
use crate::query_set::{SetId, SetTable};
use crate::types::{Location, Slot, Version};

/// Sets times slots that are not worth more than reading rows again.
const MOST_STEPS: usize = 1 << 20;

impl Dimension {
    /// The last version that changed a row of its table before it was read.
    pub fn last_change(&self) -> Option<Version> {
        self.view.table().last_change(self.view.version())
    }

    /// The dimension for `batch`, of whose slots each wants what a slot of this dimension's own batch wants, as `slots` pairs
    /// them: (there, here). `sets` is the own batch's, `passing` are those of `batch` that do not join the dimension. `None`
    /// where its sets are too many.
    pub fn translated(
        &self,
        sets: &SetTable,
        batch: &Batch<'_>,
        slots: &[(Slot, Slot)],
        passing: SetId,
    ) -> Option<Dimension> {
        debug_assert!(self.children.is_empty(), "the sets of a parent are met with its children's");
        let mut numbered = NumberedSets::new(batch, passing);
        let own = self.sets.chunks(padded_width(sets.slots()));
        if own.len() * slots.len() > MOST_STEPS {
            return None;
        }
        let translated: Option<Vec<u16>> = own.map(|set| numbered.translated(set, slots)).collect();
        let translated = translated?;
        let number = |place: u32| translated[self.numbers.get(place) as usize];
        let numbers: Vec<u16> = (0..self.numbers.len() as u32).map(number).collect();
        let rows = self.places.iter().zip(&self.locations);
        let wanted = rows.filter(|(place, _)| numbers[**place as usize] != 0);
        let (places, locations): (Vec<u32>, Vec<Location>) = wanted.unzip();
        let is_joined = passing == SetId::EMPTY;
        Some(Dimension {
            kept: if is_joined { places.len() as f64 / self.rows as f64 } else { 1.0 },
            numbers: ByPlace::new(&numbers),
            sets: numbered.words,
            places,
            locations,
            view: self.view.clone(),
            range: self.range,
            children: Vec::new(),
            rows: self.rows,
        })
    }
}
