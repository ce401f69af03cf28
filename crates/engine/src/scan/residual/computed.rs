//! An expression over columns, compared with each slot's own constant: computed once per row, looked up once per row.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};

use super::super::expression::evaluate_on_columns;
use super::{Asking, Live};
use crate::query_set::{QuerySets, SetId};
use crate::scan::index::ColumnIndex;
use crate::types::{Error, Expression, Location, Result, array_cell};

/// An index over the constants that an expression is compared with.
#[derive(Debug)]
pub struct Computed {
    /// Reads no parameter.
    pub expression: Arc<dyn Expression>,
    /// Over its values.
    pub index: ColumnIndex,
}

impl Computed {
    /// Of each row's slots those whose comparison holds.
    pub fn answer(&self, asking: &mut Asking<'_>, live: &Live) -> QuerySets {
        let all: Vec<u32> = (0..live.rows.len() as u32).collect();
        let (view, id) = (asking.reader.view, asking.reader.id);
        let evaluate = |places: &[u32]| {
            let offsets = places.iter().map(|&place| live.rows[place as usize]);
            let rows: Vec<_> = offsets.map(|offset| Location { chunk: id, offset }).collect();
            evaluate_on_columns(&*self.expression, view, &rows)
        };
        let (sound, values) = asking.evaluate_sound(all, &live.sets, &evaluate);
        let mut ids = vec![SetId::EMPTY; live.rows.len()];
        if let Some(values) = values {
            for (place, row) in sound.into_iter().zip(0..values.len()) {
                let value = array_cell(&values, row);
                ids[place as usize] = self.index.probe_value(value, asking.sets);
            }
        }
        live.sets.intersect_ids(&ids, asking.sets)
    }
}

/// Evaluates for the rows at some places.
pub type Evaluate<'a> = &'a dyn Fn(&[u32]) -> Result<ArrayRef>;

impl Asking<'_> {
    /// An expression's values for the rows at which it does not fail; at others, all who want the row fail. `sets` by
    /// place.
    pub fn evaluate_sound(
        &mut self,
        places: Vec<u32>,
        sets: &QuerySets,
        evaluate: Evaluate<'_>,
    ) -> (Vec<u32>, Option<ArrayRef>) {
        match evaluate(&places) {
            Ok(values) => return (places, Some(values)),
            Err(error) => self.halve(&places, sets, evaluate, error),
        }
        let sound: Vec<u32> =
            places.into_iter().filter(|&place| self.is_alive(sets.row(place as usize))).collect();
        if sound.is_empty() {
            return (sound, None);
        }
        let values = evaluate(&sound);
        let values = values.expect("rows that fail alone are out, and expressions work row by row");
        (sound, Some(values))
    }

    /// `places` fail with `error` when evaluated together: finds those that fail alone.
    fn halve(&mut self, places: &[u32], sets: &QuerySets, evaluate: Evaluate<'_>, error: Error) {
        if let &[place] = places {
            return self.fail(sets.row(place as usize), &error);
        }
        let (left, right) = places.split_at(places.len() / 2);
        for half in [left, right] {
            let alive = half.iter().copied();
            let alive: Vec<u32> =
                alive.filter(|&place| self.is_alive(sets.row(place as usize))).collect();
            if alive.is_empty() {
                continue;
            }
            if let Err(error) = evaluate(&alive) {
                self.halve(&alive, sets, evaluate, error);
            }
        }
    }
}
