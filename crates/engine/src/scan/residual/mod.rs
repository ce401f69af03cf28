//! What a scan's indexes leave of a batch's predicates, asked of all its slots together.
//!
//! Conjuncts of the same kind become one question: filters on a column an index over the slots' constants, an
//! expression over columns that is compared with constants an index over those on the computed value (it is computed
//! once per row), a disjunction the union of its arms' answers, a conjunction their intersection. What is opaque is
//! asked once per row and *class*, the slots with equal parameters; only rows that everything else has left see it.
//! So nothing here loops slots × rows but opaque expressions whose parameters all differ.

mod bind;
mod classes;
mod computed;

pub use bind::{Asked, bind};

use super::index::ColumnIndex;
use super::row_test::ChunkReader;
use super::rows::Rows;
use crate::query_set::{QuerySets, RowSet, SetId, SetTable, words};
use crate::types::{ColumnId, Error, Slot};
use classes::Classes;
use computed::Computed;

/// One question, and the slots that ask it.
#[derive(Debug)]
pub struct SharedTest {
    slots: SetId,
    question: Question,
}

#[derive(Debug)]
enum Question {
    /// Constants on one column.
    Column(ColumnId, ColumnIndex),
    /// Constants on one expression.
    Computed(Computed),
    /// The same for all slots of a class.
    Classes(Box<Classes>),
    /// Any of these.
    Any(Vec<Arm>),
}

/// One alternative of the disjunctions of some slots.
#[derive(Debug)]
struct Arm {
    slots: SetId,
    tests: Vec<SharedTest>,
}

/// Rows of a chunk, ascending, and who wants them.
#[derive(Clone, Debug)]
pub struct Live {
    /// Offsets.
    pub rows: Vec<u32>,
    /// By position in `rows`.
    pub sets: QuerySets,
}

/// Where a chunk's rows are read, and who has failed.
pub struct Asking<'a> {
    /// The chunk.
    pub reader: ChunkReader<'a>,
    /// The slots' sets.
    pub sets: &'a SetTable,
    /// Slots whose expressions failed; they may linger in sets.
    pub errors: Vec<(Slot, Error)>,
}

impl Live {
    /// Drops the rows that nobody wants.
    fn wanted(self) -> Live {
        match self.sets.wanted_rows(self.rows.len()) {
            Some(kept) => self.take(&kept),
            None => self,
        }
    }

    fn take(&self, places: &[u32]) -> Live {
        let rows = places.iter().map(|&place| self.rows[place as usize]).collect();
        Live { rows, sets: self.sets.take(places) }
    }
}

impl Asking<'_> {
    /// Narrows the rows' sets by every test.
    pub fn narrow(&mut self, tests: &[SharedTest], mut live: Live) -> Live {
        for test in tests {
            if live.rows.is_empty() {
                break;
            }
            live = match self.sets.word_count() {
                1 if test.slots != self.sets.all() => self.one_by_words(test, live),
                _ => self.one(test, live).wanted(),
            };
        }
        live.wanted()
    }

    /// Where a set is a word, and some slots ask nothing: only rows of those that ask are looked at more than once. Rows
    /// that nobody wants any more may stay.
    fn one_by_words(&mut self, test: &SharedTest, live: Live) -> Live {
        let Live { rows, sets } = live;
        let mut words = sets.into_bitmaps(rows.len(), self.sets);
        let asking = self.sets.words(test.slots)[0];
        let open = words.iter().map(|word| word & asking).collect();
        let open = QuerySets::Bitmaps { words_per_row: 1, words: open };
        let places = open.wanted_rows(rows.len());
        let places = places.unwrap_or_else(|| (0..rows.len() as u32).collect());
        if !places.is_empty() {
            let asked = places.iter().map(|&place| rows[place as usize]).collect();
            let concerned = Live { rows: asked, sets: open.take(&places) };
            let answer = self.answer(&test.question, test.slots, &concerned);
            let answer = answer.into_bitmaps(places.len(), self.sets);
            for (place, answer) in places.into_iter().zip(answer) {
                let word = &mut words[place as usize];
                *word = *word & !asking | answer;
            }
        }
        Live { rows, sets: QuerySets::Bitmaps { words_per_row: 1, words } }
    }

    fn one(&mut self, test: &SharedTest, live: Live) -> Live {
        let total = live.rows.len();
        let open = live.sets.restrict(test.slots, total, self.sets);
        let places = open.wanted_rows(total);
        let concerned = Live { rows: live.rows.clone(), sets: open };
        let concerned = match &places {
            Some(places) if places.is_empty() => return live,
            Some(places) => concerned.take(places),
            None => concerned,
        };
        let mut sets = self.answer(&test.question, test.slots, &concerned);
        if let Some(places) = places {
            sets = sets.union_by(&places, total, self.sets);
        }
        if test.slots != self.sets.all() {
            let asking = QuerySets::Uniform(test.slots);
            let others = live.sets.difference(&asking, total, self.sets);
            sets = others.union(&sets, total, self.sets);
        }
        Live { rows: live.rows, sets }
    }

    /// Of each row's slots those that the question lets through.
    fn answer(&mut self, question: &Question, slots: SetId, live: &Live) -> QuerySets {
        match question {
            Question::Column(column, index) if self.sets.word_count() == 1 => {
                let mut words = live.sets.bitmaps(live.rows.len(), self.sets);
                let values = self.reader.chunk.column(*column);
                index.narrow(&values, Rows::Some(&live.rows), self.sets, &mut words);
                QuerySets::Bitmaps { words_per_row: 1, words }
            }
            Question::Column(column, index) => {
                let mut ids = Vec::with_capacity(live.rows.len());
                let values = self.reader.chunk.column(*column);
                index.probe(&values, Rows::Some(&live.rows), self.sets, &mut ids);
                live.sets.intersect_ids(&ids, self.sets)
            }
            Question::Computed(computed) => computed.answer(self, live),
            Question::Classes(classes) => classes.answer(self, slots, live),
            Question::Any(arms) => self.any(arms, live),
        }
    }

    /// An arm is asked only for slots that no arm before it has let through.
    fn any(&mut self, arms: &[Arm], live: &Live) -> QuerySets {
        let total = live.rows.len();
        let mut taken = QuerySets::Uniform(SetId::EMPTY);
        for arm in arms {
            let rest = live.sets.difference(&taken, total, self.sets);
            let rest = rest.restrict(arm.slots, total, self.sets);
            let rest = Live { rows: live.rows.clone(), sets: rest }.wanted();
            let passed = self.narrow(&arm.tests, rest);
            let places = places(&passed.rows, &live.rows);
            let passed = passed.sets.union_by(&places, total, self.sets);
            taken = taken.union(&passed, total, self.sets);
        }
        taken
    }

    fn fail(&mut self, set: RowSet<'_>, error: &Error) {
        let known: Vec<Slot> = self.errors.iter().map(|(slot, _)| *slot).collect();
        let errors = &mut self.errors;
        set.for_each(self.sets, |slot| {
            if !known.contains(&slot) {
                errors.push((slot, error.clone()));
            }
        });
    }

    /// Whether a slot that has not failed wants the row.
    fn is_alive(&self, set: RowSet<'_>) -> bool {
        let mut rest = vec![0; self.sets.word_count()];
        set.union_into(&mut rest, self.sets);
        self.errors.iter().for_each(|(slot, _)| words::remove(&mut rest, *slot));
        !words::is_empty(&rest)
    }
}

/// The positions in `all` of the members of `some`; both ascend.
fn places(some: &[u32], all: &[u32]) -> Vec<u32> {
    let mut places = Vec::with_capacity(some.len());
    for_each_place(some, all, |place| places.push(place as u32));
    places
}

/// Calls `visit` with the position in `all` of each of the members of `some`; both ascend.
fn for_each_place(some: &[u32], all: &[u32], mut visit: impl FnMut(usize)) {
    let mut position = 0;
    for row in some {
        while all[position] < *row {
            position += 1;
        }
        visit(position);
    }
}
