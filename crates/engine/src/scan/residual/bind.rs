//! From each slot's leftover conjuncts to questions that many slots ask together.

use std::sync::Arc;

use hashbrown::HashMap;

use super::super::conjunction::{BoundParameters, Conjunction};
use super::super::filter::{ColumnFilter, ColumnTest, comparison_filter, constant};
use super::super::index::{ColumnIndex, PatternIndex};
use super::super::pattern::Pattern;
use super::super::row_test::RowTest;
use super::classes::{Class, ClassQuestion, Classes};
use super::computed::Computed;
use super::{Arm, Question, SharedTest};
use crate::query_set::{SetId, SetTable};
use crate::types::{
    ColumnId, Comparison, DataType, Error, Expression, Predicate, Result, Scalar, Slot, Value,
};

/// Rows that one slot's own test is going to see: as few as the candidates of a chunk.
const CANDIDATES: usize = 0;

/// What a slot still asks.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Who.
    pub slot: Slot,
    /// What.
    pub conjunction: Conjunction,
    /// Its parameters.
    pub parameters: BoundParameters,
}

/// The questions of all slots, cheap and sure ones first, those that may fail last. `rows`: about how many rows are
/// going to be asked about. Slots whose parameters cannot be bound are reported.
pub fn bind(
    asked: Vec<Asked>,
    types: &[DataType],
    rows: usize,
    sets: &SetTable,
    errors: &mut Vec<(Slot, Error)>,
) -> Vec<SharedTest> {
    let mut groups = Groups::default();
    for Asked { slot, conjunction, parameters } in asked {
        if let Err(error) = groups.add(slot, conjunction, parameters, types) {
            errors.push((slot, error));
        }
    }
    groups.into_tests(types, rows, sets, errors)
}

/// What slots ask of one thing each, by that.
type Keyed<K, T> = Vec<(K, Vec<(Slot, T)>)>;

/// Conjuncts by kind.
#[derive(Default)]
struct Groups {
    columns: Keyed<usize, ColumnFilter>,
    /// By column, and the how manieth pattern of its slot there: an index holds one per slot.
    patterns: Keyed<(usize, usize), Pattern>,
    tests: Vec<Alike<Predicate>>,
    /// The how manieth disjunction of its slot, and its arms.
    disjunctions: Vec<Vec<(Slot, Vec<Conjunction>, BoundParameters)>>,
    computed: Keyed<Arc<dyn Expression>, ColumnFilter>,
    expressions: Vec<Alike<Arc<dyn Expression>>>,
}

/// Slots that ask one question, by their parameters.
struct Alike<Q> {
    question: Q,
    classes: Vec<(Vec<Slot>, BoundParameters)>,
    /// The class of the parameters that the question reads, as text: bit for bit equal.
    known: HashMap<String, usize>,
}

impl<Q> Alike<Q> {
    fn new(question: Q) -> Alike<Q> {
        Alike { question, classes: Vec::new(), known: HashMap::new() }
    }

    fn add(&mut self, slot: Slot, read: &[usize], parameters: BoundParameters) {
        let values: Vec<&Value> = read.iter().map(|&i| &parameters.values[i]).collect();
        let key = if values.is_empty() { String::new() } else { format!("{values:?}") };
        let number = *self.known.entry(key).or_insert(self.classes.len());
        match self.classes.get_mut(number) {
            Some((slots, _)) => slots.push(slot),
            None => self.classes.push((vec![slot], parameters)),
        }
    }
}

impl Groups {
    fn add(
        &mut self,
        slot: Slot,
        conjunction: Conjunction,
        parameters: BoundParameters,
        types: &[DataType],
    ) -> Result<()> {
        for (column, filter) in conjunction.filters {
            add_filter(find(&mut self.columns, |other| *other == column, || column), slot, filter);
        }
        let mut seen: Vec<usize> = Vec::new();
        for (column, pattern) in conjunction.patterns {
            let key = (column, seen.iter().filter(|other| **other == column).count());
            seen.push(column);
            find(&mut self.patterns, |other| *other == key, || key).push((slot, pattern));
        }
        let mut disjunctions = 0;
        for predicate in conjunction.rest {
            self.add_rest(slot, predicate, &parameters, types, &mut disjunctions)?;
        }
        Ok(())
    }

    fn add_rest(
        &mut self,
        slot: Slot,
        predicate: Predicate,
        parameters: &BoundParameters,
        types: &[DataType],
        disjunctions: &mut usize,
    ) -> Result<()> {
        match predicate {
            Predicate::Or(arms) => {
                let bind =
                    |arm: &Vec<Predicate>| Conjunction::bind(arm, types, parameters.borrow());
                let arms: Vec<Conjunction> = arms.iter().map(bind).collect::<Result<_>>()?;
                if self.disjunctions.len() == *disjunctions {
                    self.disjunctions.push(Vec::new());
                }
                self.disjunctions[*disjunctions].push((slot, arms, parameters.clone()));
                *disjunctions += 1;
            }
            Predicate::In { column, values, negated } if values.iter().any(is_column) => {
                let conjuncts = one_by_one(column, values, negated);
                let bound = Conjunction::bind(&conjuncts, types, parameters.borrow())?;
                if bound.never {
                    let nothing = Predicate::Or(Vec::new());
                    return self.add_rest(slot, nothing, parameters, types, disjunctions);
                }
                for (column, filter) in bound.filters {
                    let group = find(&mut self.columns, |other| *other == column, || column);
                    add_filter(group, slot, filter);
                }
                for predicate in bound.rest {
                    self.add_rest(slot, predicate, parameters, types, disjunctions)?;
                }
            }
            Predicate::Expression(expression) => {
                self.add_expression(slot, expression, parameters)?
            }
            other => {
                let read = parameters_of(&other);
                let known = self.tests.iter().position(|group| same(&group.question, &other));
                let known = known.unwrap_or_else(|| {
                    self.tests.push(Alike::new(other));
                    self.tests.len() - 1
                });
                self.tests[known].add(slot, &read, parameters.clone());
            }
        }
        Ok(())
    }

    fn add_expression(
        &mut self,
        slot: Slot,
        expression: Arc<dyn Expression>,
        parameters: &BoundParameters,
    ) -> Result<()> {
        if let Some(compared) = expression.comparison()
            && let Some(value) = constant(&compared.right, parameters.borrow())?
            && let Some(filter) =
                comparison_filter(compared.left.data_type(), compared.comparison, value.borrow())
        {
            let left = compared.left.clone();
            let group = find(&mut self.computed, |other| alike(&**other, &*left), || left.clone());
            add_filter(group, slot, filter);
            return Ok(());
        }
        let read = expression.parameters().to_vec();
        let known = self.expressions.iter().position(|group| {
            let types = group.classes.iter().map(|(_, other)| &other.types);
            let equal =
                |other: &Arc<[DataType]>| read.iter().all(|&i| other[i] == parameters.types[i]);
            alike(&*group.question, &*expression) && types.take(1).all(equal)
        });
        let known = known.unwrap_or_else(|| {
            self.expressions.push(Alike::new(expression));
            self.expressions.len() - 1
        });
        self.expressions[known].add(slot, &read, parameters.clone());
        Ok(())
    }

    fn into_tests(
        self,
        types: &[DataType],
        rows: usize,
        sets: &SetTable,
        errors: &mut Vec<(Slot, Error)>,
    ) -> Vec<SharedTest> {
        let mut tests = Vec::new();
        let columns = self.columns.into_iter();
        tests.extend(columns.map(|(column, filters)| of_column(column, filters, rows, sets)));
        let patterns = self.patterns.into_iter();
        tests.extend(patterns.map(|((column, _), group)| of_patterns(column, group, sets)));
        for group in self.tests {
            tests.extend(of_tests(group, types, sets, errors));
        }
        for group in self.disjunctions {
            tests.push(of_disjunctions(group, types, rows, sets, errors));
        }
        for (expression, filters) in self.computed {
            let slots = sets.intern_slots(filters.iter().map(|(slot, _)| *slot));
            let index = index(&filters, rows, sets);
            let question = Question::Computed(Computed { expression, index });
            tests.push(SharedTest { slots, question });
        }
        for Alike { question, classes, .. } in self.expressions {
            tests.push(of_classes(classes, ClassQuestion::Expression(question), sets));
        }
        tests
    }
}

/// The group with a key, a new one where there is none.
fn find<K, T>(
    groups: &mut Vec<(K, Vec<T>)>,
    is: impl Fn(&K) -> bool,
    key: impl FnOnce() -> K,
) -> &mut Vec<T> {
    let known = groups.iter().position(|(other, _)| is(other));
    let known = known.unwrap_or_else(|| {
        groups.push((key(), Vec::new()));
        groups.len() - 1
    });
    &mut groups[known].1
}

/// Slots come one after the other: a further filter of the last one meets its first.
fn add_filter(group: &mut Vec<(Slot, ColumnFilter)>, slot: Slot, filter: ColumnFilter) {
    match group.last_mut() {
        Some((last, known)) if *last == slot => *known = known.intersect(&filter),
        _ => group.push((slot, filter)),
    }
}

/// Whether two expressions say the same of every row and equal parameters.
fn alike(a: &dyn Expression, b: &dyn Expression) -> bool {
    std::ptr::addr_eq(a, b)
        || (a.meaning() == b.meaning()
            && a.columns() == b.columns()
            && a.parameters() == b.parameters())
}

/// Membership among columns and constants as comparisons, each of which has an index or reads columns only.
fn one_by_one(column: usize, values: Vec<Scalar>, negated: bool) -> Vec<Predicate> {
    let comparison = if negated { Comparison::NotEqual } else { Comparison::Equal };
    let (columns, constants): (Vec<Scalar>, Vec<Scalar>) = values.into_iter().partition(is_column);
    let others = columns.into_iter();
    let mut all: Vec<Predicate> =
        others.map(|value| Predicate::Compare { column, comparison, value }).collect();
    if !constants.is_empty() {
        all.push(Predicate::In { column, values: constants, negated });
    }
    match negated {
        true => all,
        false => vec![Predicate::Or(all.into_iter().map(|one| vec![one]).collect())],
    }
}

fn is_column(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Column(_))
}

/// The parameters that a comparison, a pattern or a membership reads.
fn parameters_of(predicate: &Predicate) -> Vec<usize> {
    let scalars = match predicate {
        Predicate::Compare { value, .. } | Predicate::Like { pattern: value, .. } => {
            std::slice::from_ref(value)
        }
        Predicate::In { values, .. } => values,
        Predicate::IsNull { .. } => &[],
        Predicate::Or(_) | Predicate::Expression(_) => unreachable!("taken apart before"),
    };
    let read = scalars.iter().flat_map(|scalar| match scalar {
        Scalar::Parameter(parameter) => std::slice::from_ref(parameter),
        Scalar::Expression(expression) => expression.parameters(),
        Scalar::Column(_) | Scalar::Literal(_) => &[],
    });
    read.copied().collect()
}

/// Whether two comparisons or patterns say the same where their parameters are equal.
fn same(a: &Predicate, b: &Predicate) -> bool {
    let scalars = |a: &Scalar, b: &Scalar| match (a, b) {
        (Scalar::Column(a), Scalar::Column(b)) | (Scalar::Parameter(a), Scalar::Parameter(b)) => {
            a == b
        }
        (Scalar::Literal(a), Scalar::Literal(b)) => format!("{a:?}") == format!("{b:?}"),
        (Scalar::Expression(a), Scalar::Expression(b)) => alike(&**a, &**b),
        _ => false,
    };
    match (a, b) {
        (
            Predicate::Compare { column, comparison, value },
            Predicate::Compare { column: c, comparison: o, value: v },
        ) => (column, comparison) == (c, o) && scalars(value, v),
        (
            Predicate::Like { column, pattern, negated, case_insensitive },
            Predicate::Like { column: c, pattern: p, negated: n, case_insensitive: i },
        ) => (column, negated, case_insensitive) == (c, n, i) && scalars(pattern, p),
        (
            Predicate::In { column, values, negated },
            Predicate::In { column: c, values: v, negated: n },
        ) => {
            let pairs = || values.iter().zip(v).all(|(value, v)| scalars(value, v));
            (column, negated, values.len()) == (c, n, v.len()) && pairs()
        }
        _ => false,
    }
}

fn index(filters: &[(Slot, ColumnFilter)], rows: usize, sets: &SetTable) -> ColumnIndex {
    let filters: Vec<(Slot, &ColumnFilter)> = filters.iter().map(|(s, f)| (*s, f)).collect();
    ColumnIndex::of_filters(&filters, &vec![0; sets.word_count()], rows, sets)
}

/// One slot's filter is a compare loop, those of several an index.
fn of_column(
    column: usize,
    filters: Vec<(Slot, ColumnFilter)>,
    rows: usize,
    sets: &SetTable,
) -> SharedTest {
    if let [(slot, filter)] = &filters[..] {
        return of_one(*slot, column, ColumnTest::Keys(filter.clone()), sets);
    }
    let slots = sets.intern_slots(filters.iter().map(|(slot, _)| *slot));
    let index = index(&filters, rows, sets);
    SharedTest { slots, question: Question::Column(ColumnId(column as u32), index) }
}

fn of_patterns(column: usize, patterns: Vec<(Slot, Pattern)>, sets: &SetTable) -> SharedTest {
    if let [(slot, pattern)] = &patterns[..] {
        return of_one(*slot, column, ColumnTest::Pattern(pattern.clone()), sets);
    }
    let slots = sets.intern_slots(patterns.iter().map(|(slot, _)| *slot));
    let index = PatternIndex::new(patterns, &vec![0; sets.word_count()], sets);
    let index = ColumnIndex::Patterns(Box::new(index));
    SharedTest { slots, question: Question::Column(ColumnId(column as u32), index) }
}

fn of_one(slot: Slot, column: usize, test: ColumnTest, sets: &SetTable) -> SharedTest {
    let classes = vec![(vec![slot], BoundParameters::none())];
    let tests = vec![RowTest::of_column(column, test, CANDIDATES)];
    of_classes(classes, ClassQuestion::Tests(tests), sets)
}

/// Classes whose test cannot be bound are left out and fail.
fn of_tests(
    group: Alike<Predicate>,
    types: &[DataType],
    sets: &SetTable,
    errors: &mut Vec<(Slot, Error)>,
) -> Option<SharedTest> {
    let (mut classes, mut tests) = (Vec::new(), Vec::new());
    for (slots, parameters) in group.classes {
        match RowTest::new(&group.question, types, &parameters, CANDIDATES) {
            Ok(test) => {
                tests.push(test);
                classes.push((slots, parameters));
            }
            Err(error) => errors.extend(slots.into_iter().map(|slot| (slot, error.clone()))),
        }
    }
    (!classes.is_empty()).then(|| of_classes(classes, ClassQuestion::Tests(tests), sets))
}

fn of_classes(
    classes: Vec<(Vec<Slot>, BoundParameters)>,
    question: ClassQuestion,
    sets: &SetTable,
) -> SharedTest {
    let class =
        |(slots, parameters): (Vec<Slot>, _)| Class { slots: sets.intern_slots(slots), parameters };
    let classes: Vec<Class> = classes.into_iter().map(class).collect();
    let slots = classes.iter().fold(SetId::EMPTY, |all, class| sets.union(all, class.slots));
    let classes = Box::new(Classes::new(classes, question, sets));
    SharedTest { slots, question: Question::Classes(classes) }
}

/// Arm after arm: the slots that have so many, and what these ask there.
fn of_disjunctions(
    group: Vec<(Slot, Vec<Conjunction>, BoundParameters)>,
    types: &[DataType],
    rows: usize,
    sets: &SetTable,
    errors: &mut Vec<(Slot, Error)>,
) -> SharedTest {
    let slots = sets.intern_slots(group.iter().map(|(slot, ..)| *slot));
    let longest = group.iter().map(|(_, arms, _)| arms.len()).max().unwrap_or(0);
    let mut asked: Vec<Vec<Asked>> = vec![Vec::new(); longest];
    for (slot, arms, parameters) in group {
        for (number, conjunction) in arms.into_iter().enumerate() {
            if !conjunction.never {
                asked[number].push(Asked { slot, conjunction, parameters: parameters.clone() });
            }
        }
    }
    let arm = |asked: Vec<Asked>| {
        let slots = sets.intern_slots(asked.iter().map(|asked| asked.slot));
        Arm { slots, tests: bind(asked, types, rows, sets, errors) }
    };
    SharedTest { slots, question: Question::Any(asked.into_iter().map(arm).collect()) }
}
