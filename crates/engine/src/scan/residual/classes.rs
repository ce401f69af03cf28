//! Questions that say the same for slots with equal parameters: asked once per row and such class.
//!
//! Cost: (row, class) pairs. One class, as of a comparison of two columns, is one evaluation per row whatever the
//! number of slots.

use std::sync::Arc;

use super::super::conjunction::BoundParameters;
use super::super::expression::{evaluate_for_many, evaluate_with, truths};
use super::super::row_test::RowTest;
use super::super::rows::Rows;
use super::{Asking, Live, for_each_place, places};
use crate::query_set::{QuerySets, Renumbering, SetId, SetTable, SlotBuckets, words};
use crate::types::{Expression, Location, Slot};

/// (row, class) pairs that are evaluated together: bounds what their columns take.
const PAIRS: usize = 1 << 17;

/// Slots by equal parameters, and the question.
#[derive(Debug)]
pub struct Classes {
    classes: Vec<Class>,
    question: ClassQuestion,
    /// The class of every slot; that of slots outside is arbitrary.
    numbers: Renumbering,
    table: SetTable,
}

/// Slots with equal parameters.
#[derive(Debug)]
pub struct Class {
    /// The slots.
    pub slots: SetId,
    /// Those of one of them.
    pub parameters: BoundParameters,
}

/// What is asked of a row.
#[derive(Debug)]
pub enum ClassQuestion {
    /// One test per class.
    Tests(Vec<RowTest>),
    /// One expression, with each class's parameters.
    Expression(Arc<dyn Expression>),
}

impl Classes {
    /// Classes are disjoint.
    pub fn new(classes: Vec<Class>, question: ClassQuestion, sets: &SetTable) -> Classes {
        let mut numbers = vec![Slot(0); sets.slots()];
        for (number, class) in classes.iter().enumerate() {
            sets.for_each(class.slots, |slot| numbers[slot.index()] = Slot(number as u32));
        }
        let (numbers, table) = (Renumbering::onto(numbers), SetTable::new(classes.len()));
        Classes { classes, question, numbers, table }
    }

    /// Of each row's slots those of the classes that say yes; `slots` are those of all classes.
    pub fn answer(&self, asking: &mut Asking<'_>, slots: SetId, live: &Live) -> QuerySets {
        let total = live.rows.len();
        if let [only] = &self.classes[..] {
            return self.answer_of_one(only, asking, slots, live);
        }
        let width = asking.sets.word_count();
        let mut passed = vec![0u64; total * width];
        let block = (PAIRS / self.classes.len()).max(1);
        for start in (0..total).step_by(block) {
            let end = (start + block).min(total);
            let part =
                Live { rows: live.rows[start..end].to_vec(), sets: live.sets.slice(start..end) };
            let classes = part.sets.renumber(end - start, asking.sets, &self.table, &self.numbers);
            let buckets = classes.expand(end - start, &self.table);
            let sets = asking.sets;
            self.ask(asking, &part, &buckets, &mut |class, place| {
                let target = &mut passed[(start + place as usize) * width..][..width];
                words::union_into(target, sets.words(self.classes[class].slots));
            });
        }
        let passed = QuerySets::Bitmaps { words_per_row: width, words: passed };
        live.sets.intersect(&passed, total, asking.sets)
    }

    /// All slots ask the same.
    fn answer_of_one(
        &self,
        only: &Class,
        asking: &mut Asking<'_>,
        slots: SetId,
        live: &Live,
    ) -> QuerySets {
        let total = live.rows.len();
        let mut ids = vec![SetId::EMPTY; total];
        if let ClassQuestion::Tests(tests) = &self.question {
            let (rows, mut selected) = (Rows::Some(&live.rows), Vec::new());
            if tests[0].select(asking.reader, &only.parameters, rows, &mut selected).is_ok() {
                for_each_place(&selected, &live.rows, |place| ids[place] = slots);
                return live.sets.intersect_ids(&ids, asking.sets);
            }
        }
        let buckets =
            SlotBuckets { offsets: vec![0, total as u32], rows: (0..total as u32).collect() };
        self.ask(asking, live, &buckets, &mut |_, place| ids[place as usize] = slots);
        live.sets.intersect_ids(&ids, asking.sets)
    }

    /// Calls `pass` with each class and each place of its bucket where it says yes.
    fn ask(
        &self,
        asking: &mut Asking<'_>,
        live: &Live,
        buckets: &SlotBuckets,
        pass: &mut dyn FnMut(usize, u32),
    ) {
        match &self.question {
            ClassQuestion::Tests(tests) => self.ask_tests(tests, asking, live, buckets, pass),
            ClassQuestion::Expression(expression) => {
                self.ask_expression(&**expression, asking, live, buckets, pass);
            }
        }
    }

    fn ask_tests(
        &self,
        tests: &[RowTest],
        asking: &mut Asking<'_>,
        live: &Live,
        buckets: &SlotBuckets,
        pass: &mut dyn FnMut(usize, u32),
    ) {
        for (class, own) in buckets.iter() {
            let (test, parameters) =
                (&tests[class.index()], &self.classes[class.index()].parameters);
            let rows: Vec<u32> = own.iter().map(|&place| live.rows[place as usize]).collect();
            let mut selected = Vec::new();
            match test.select(asking.reader, parameters, Rows::Some(&rows), &mut selected) {
                Ok(()) => {
                    places(&selected, &rows)
                        .iter()
                        .for_each(|&at| pass(class.index(), own[at as usize]));
                }
                Err(_) => self.ask_row_by_row(test, class, asking, live, own, pass),
            }
        }
    }

    /// A test has failed on some row: that row's slots fail.
    fn ask_row_by_row(
        &self,
        test: &RowTest,
        class: Slot,
        asking: &mut Asking<'_>,
        live: &Live,
        own: &[u32],
        pass: &mut dyn FnMut(usize, u32),
    ) {
        let Class { slots, parameters } = &self.classes[class.index()];
        for &place in own {
            let row = live.rows[place as usize];
            let mut selected = Vec::new();
            match test.select(asking.reader, parameters, Rows::Some(&[row]), &mut selected) {
                Ok(()) if selected.is_empty() => {}
                Ok(()) => pass(class.index(), place),
                Err(error) => {
                    let set = live.sets.slice(place as usize..place as usize + 1);
                    let set = set.restrict(*slots, 1, asking.sets);
                    asking.fail(set.row(0), &error);
                }
            }
        }
    }

    fn ask_expression(
        &self,
        expression: &dyn Expression,
        asking: &mut Asking<'_>,
        live: &Live,
        buckets: &SlotBuckets,
        pass: &mut dyn FnMut(usize, u32),
    ) {
        let (view, id) = (asking.reader.view, asking.reader.id);
        let location = |place: &u32| Location { chunk: id, offset: live.rows[*place as usize] };
        let groups: Vec<(usize, Vec<Location>)> = buckets
            .iter()
            .map(|(class, own)| (class.index(), own.iter().map(location).collect()))
            .collect();
        let parameters = |class: usize| &self.classes[class].parameters;
        if let Ok(holds) = evaluate_for_many(expression, view, &groups, parameters) {
            let pairs =
                buckets.iter().flat_map(|(class, own)| own.iter().map(move |&p| (class, p)));
            let pairs = pairs.zip(holds).filter(|(_, holds)| *holds);
            return pairs.for_each(|((class, place), _)| pass(class.index(), place));
        }
        for (class, own) in buckets.iter() {
            let Class { slots, parameters } = &self.classes[class.index()];
            let evaluate = |places: &[u32]| {
                let rows: Vec<Location> = places.iter().map(location).collect();
                evaluate_with(expression, view, parameters, &rows)
            };
            let sets = live.sets.restrict(*slots, live.rows.len(), asking.sets);
            let (sound, values) = asking.evaluate_sound(own.to_vec(), &sets, &evaluate);
            let holds = values.map(|values| truths(&values));
            match holds {
                None => {}
                Some(Ok(holds)) => {
                    let sound = sound.into_iter().zip(holds).filter(|(_, holds)| *holds);
                    sound.for_each(|(place, _)| pass(class.index(), place));
                }
                Some(Err(error)) => {
                    own.iter().for_each(|&place| asking.fail(sets.row(place as usize), &error));
                }
            }
        }
    }
}
