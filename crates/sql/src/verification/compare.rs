//! Two answers to one statement: whether its client could tell them apart in what the statement fixes.
//!
//! In come the answers and the statement's [`Shape`]; out goes a [`Comparison`]. Rows between which the order is fixed come
//! in runs of equal keys, which are bags. Without an order all rows are one bag. A run that the statement's own LIMIT or
//! OFFSET cuts may hold any of the rows that were to be cut: whether they are among them is [`contains`]'s question.

use std::cmp::Ordering;
use std::ops::Range;

use engine::types::ValueRef;

use super::rows::{Rows, float, order};
use super::shape::Shape;
use super::show;

/// Rows with floating-point values between which partners are looked for where their order in the bag does not tell.
const TRIED: usize = 64;

/// What came of comparing two answers.
#[derive(Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Nobody could tell them apart.
    Same,
    /// In what they differ.
    Different(String),
    /// Only runs that LIMIT or OFFSET cut differ: these rows of the first have to be among those of the whole answer.
    Cut(Vec<usize>),
}

/// Compares two answers.
pub fn compare(first: &Rows<'_>, second: &Rows<'_>, shape: &Shape) -> Comparison {
    let (rows, others) = (first.len(), second.len());
    if first.width() != second.width() {
        return Comparison::Different("numbers of columns".to_owned());
    }
    if rows != others {
        return Comparison::Different(format!("numbers of rows: {rows} and {others}"));
    }
    let pair = Pair::new(first, second, shape);
    let mut cut = Vec::new();
    for run in pair.runs() {
        if let Some(row) = run.clone().find(|row| !pair.same_keys(*row)) {
            return Comparison::Different(format!(
                "the order: row {} is {} and {}",
                row + 1,
                show::row(first, row),
                show::row(second, row)
            ));
        }
        let is_cut = shape.is_cut && (run.end == rows || run.start == 0);
        match pair.unlike(run.clone()) {
            None => {}
            Some(_) if is_cut => cut.extend(run),
            Some((row, other)) => {
                return Comparison::Different(format!(
                    "a row: {} and {}",
                    show::row(first, row),
                    show::row(second, other)
                ));
            }
        }
    }
    if cut.is_empty() { Comparison::Same } else { Comparison::Cut(cut) }
}

/// The first of these rows, as often as they occur, that the whole answer lacks. Of rows with inexact values only the exact
/// ones are compared.
pub fn contains(
    whole: &Rows<'_>,
    first: &Rows<'_>,
    rows: &[usize],
    shape: &Shape,
) -> Option<usize> {
    let exact: Vec<usize> = (0..first.width()).filter(|c| shape.tolerance[*c].is_none()).collect();
    let sorted = |of: &Rows<'_>, mut rows: Vec<usize>| {
        rows.sort_unstable_by(|a, b| order_rows(of, *a, of, *b, &exact));
        rows
    };
    let all = sorted(whole, (0..whole.len()).collect());
    let mut left = all.into_iter();
    sorted(first, rows.to_vec()).into_iter().find(|row| {
        let is_behind =
            |other: &usize| order_rows(whole, *other, first, *row, &exact) != Ordering::Less;
        let found = left.find(is_behind);
        found.is_none_or(|other| order_rows(whole, other, first, *row, &exact).is_ne())
    })
}

fn order_rows(a: &Rows<'_>, row: usize, b: &Rows<'_>, other: usize, columns: &[usize]) -> Ordering {
    let orders = columns.iter().map(|c| order(a.cell(row, *c), b.cell(other, *c)));
    orders.fold(Ordering::Equal, Ordering::then)
}

/// Two answers with as many rows.
struct Pair<'a, 'r> {
    first: &'a Rows<'r>,
    second: &'a Rows<'r>,
    shape: &'a Shape,
    /// All columns, the exact ones first.
    columns: Vec<usize>,
    /// How many of these are exact.
    exact: usize,
    /// By column, what two values may be apart whatever their size; 0 where they are exact.
    slack: Vec<f64>,
}

impl<'a, 'r> Pair<'a, 'r> {
    fn new(first: &'a Rows<'r>, second: &'a Rows<'r>, shape: &'a Shape) -> Pair<'a, 'r> {
        let (exact, inexact): (Vec<usize>, Vec<usize>) =
            (0..first.width()).partition(|column| shape.tolerance[*column].is_none());
        let slack = (0..first.width()).map(|c| slack(first, c, shape.tolerance[c])).collect();
        let columns = [&exact[..], &inexact].concat();
        Pair { first, second, shape, columns, exact: exact.len(), slack }
    }

    /// Rows of the first answer with equal keys, one run after the other. Keys that are near enough to be the same value may
    /// stand in another order on the other side: they are one run, too.
    fn runs(&self) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let mut start = 0;
        for row in 1..=self.first.len() {
            let is_same = |column: &usize| {
                let key = |row| self.first.cell(row, *column);
                self.is_same(key(row - 1), key(row), *column)
            };
            let goes_on = row < self.first.len() && self.shape.order.iter().all(is_same);
            if !goes_on {
                runs.push(start..row);
                start = row;
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    fn same_keys(&self, row: usize) -> bool {
        self.shape.order.iter().all(|column| self.same_cell(row, row, *column))
    }

    fn same_cell(&self, row: usize, other: usize, column: usize) -> bool {
        self.is_same(self.first.cell(row, column), self.second.cell(other, column), column)
    }

    fn is_same(&self, a: ValueRef<'_>, b: ValueRef<'_>, column: usize) -> bool {
        if order(a, b).is_eq() {
            return true;
        }
        let Some(tolerance) = self.shape.tolerance[column] else { return false };
        match (float(a), float(b)) {
            (Some(a), Some(b)) if a.is_finite() && b.is_finite() => {
                let bound = tolerance * a.abs().max(b.abs()).max(self.slack[column]);
                (a - b).abs() <= bound
            }
            _ => false,
        }
    }

    fn same_row(&self, row: usize, other: usize) -> bool {
        self.columns.iter().all(|column| self.same_cell(row, other, *column))
    }

    /// Rows of the run that have no partner in the other answer, as bags go.
    fn unlike(&self, run: Range<usize>) -> Option<(usize, usize)> {
        if run.len() == 1 {
            return (!self.same_row(run.start, run.start)).then_some((run.start, run.start));
        }
        let sorted = |rows: &Rows<'_>| {
            let mut numbers: Vec<usize> = run.clone().collect();
            numbers.sort_unstable_by(|a, b| order_rows(rows, *a, rows, *b, &self.columns));
            numbers
        };
        let (ours, theirs) = (sorted(self.first), sorted(self.second));
        let pairs = ours.iter().copied().zip(theirs.iter().copied());
        let apart = pairs.clone().position(|(row, other)| !self.same_row(row, other))?;
        if self.exact < self.columns.len() && self.partners(&ours, &theirs) {
            return None;
        }
        Some((ours[apart], theirs[apart]))
    }

    /// Whether each row has a partner among those whose exact values are equal: near values may stand in another order on the
    /// other side.
    fn partners(&self, ours: &[usize], theirs: &[usize]) -> bool {
        let exact = &self.columns[..self.exact];
        let equal =
            |a: &usize, b: &usize| order_rows(self.first, *a, self.first, *b, exact).is_eq();
        let mut start = 0;
        ours.chunk_by(equal).all(|group| {
            let mut left = theirs[start..start + group.len()].to_vec();
            start += group.len();
            let mut pairs = group.iter().zip(&left);
            let in_order = pairs.all(|(row, other)| self.same_row(*row, *other));
            in_order
                || group.len() <= TRIED
                    && group.iter().all(|row| {
                        let found = left.iter().position(|other| self.same_row(*row, *other));
                        found.map(|place| left.swap_remove(place)).is_some()
                    })
        })
    }
}

/// Terms that cancel each other leave an error of the size of what they were: the column's largest value stands for it, and
/// 1 for values that are all small.
fn slack(rows: &Rows<'_>, column: usize, tolerance: Option<f64>) -> f64 {
    if tolerance.is_none() {
        return 0.0;
    }
    let sizes = (0..rows.len()).filter_map(|row| float(rows.cell(row, column)));
    sizes.filter(|size| size.is_finite()).map(f64::abs).fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::heartbeat::{Answer, AnswerPart};
    use engine::plan::OutputColumn;
    use engine::types::{DataType, Value};

    use super::*;

    fn answer(types: &[DataType], rows: &[&[Value]]) -> Answer {
        let column =
            |data_type: &DataType| OutputColumn { name: "c".into(), data_type: *data_type };
        let output: Arc<[OutputColumn]> = types.iter().map(column).collect();
        // Two parts, as batches give them.
        let (one, other) = rows.split_at(rows.len() / 2);
        let part =
            |rows: &[&[Value]]| AnswerPart::Own(rows.iter().map(|row| row.to_vec()).collect());
        Answer::new(output, vec![part(one), part(other)])
    }

    fn shape(width: usize) -> Shape {
        Shape { order: Vec::new(), is_cut: false, tolerance: vec![None; width], is_open: false }
    }

    fn compared(first: &Answer, second: &Answer, shape: &Shape) -> Comparison {
        compare(&Rows::of(first), &Rows::of(second), shape)
    }

    fn differs(first: &Answer, second: &Answer, shape: &Shape) -> bool {
        matches!(compared(first, second, shape), Comparison::Different(_))
    }

    const INTEGERS: &[DataType] = &[DataType::Integer, DataType::Integer];

    fn pairs(pairs: &[(i32, i32)]) -> Answer {
        let rows: Vec<[Value; 2]> =
            pairs.iter().map(|(a, b)| [Value::Integer(*a), Value::Integer(*b)]).collect();
        answer(INTEGERS, &rows.iter().map(|row| &row[..]).collect::<Vec<_>>())
    }

    #[test]
    fn rows_without_an_order_are_a_bag() {
        let unordered = shape(2);
        assert_eq!(
            compared(
                &pairs(&[(1, 2), (3, 4), (1, 2)]),
                &pairs(&[(3, 4), (1, 2), (1, 2)]),
                &unordered
            ),
            Comparison::Same
        );
        assert!(differs(
            &pairs(&[(1, 2), (3, 4), (1, 2)]),
            &pairs(&[(3, 4), (1, 2), (3, 4)]),
            &unordered
        ));
        assert!(differs(&pairs(&[(1, 2)]), &pairs(&[(1, 2), (1, 2)]), &unordered));
        assert_eq!(compared(&pairs(&[]), &pairs(&[]), &unordered), Comparison::Same);
    }

    #[test]
    fn an_order_fixes_keys_and_leaves_ties_a_bag() {
        let ordered = Shape { order: vec![0], ..shape(2) };
        let ours = pairs(&[(1, 5), (1, 6), (2, 7)]);
        assert_eq!(compared(&ours, &pairs(&[(1, 6), (1, 5), (2, 7)]), &ordered), Comparison::Same);
        assert!(differs(&ours, &pairs(&[(2, 7), (1, 5), (1, 6)]), &ordered));
        assert!(differs(&ours, &pairs(&[(1, 5), (1, 5), (2, 7)]), &ordered));
        // The other answer's ties may end elsewhere.
        assert!(differs(&pairs(&[(1, 5), (1, 6)]), &pairs(&[(1, 5), (2, 6)]), &ordered));
    }

    #[test]
    fn a_cut_leaves_open_which_of_the_ties_at_its_ends() {
        let cut = Shape { order: vec![0], is_cut: true, ..shape(2) };
        let ours = pairs(&[(0, 1), (1, 5), (2, 7), (3, 8)]);
        assert_eq!(
            compared(&ours, &pairs(&[(0, 2), (1, 5), (2, 7), (3, 9)]), &cut),
            Comparison::Cut(vec![0, 3])
        );
        assert!(differs(&ours, &pairs(&[(0, 1), (1, 6), (2, 7), (3, 8)]), &cut));
        assert!(differs(&ours, &pairs(&[(0, 1), (1, 5), (2, 7), (4, 8)]), &cut));

        let whole = pairs(&[(3, 8), (2, 7), (1, 5), (0, 1), (0, 2)]);
        let (whole, ours) = (Rows::of(&whole), Rows::of(&ours));
        assert_eq!(contains(&whole, &ours, &[0, 3], &cut), None);
        let twice = pairs(&[(0, 1), (0, 1)]);
        assert!(contains(&whole, &Rows::of(&twice), &[0, 1], &cut).is_some());
        let other = pairs(&[(0, 3)]);
        assert_eq!(contains(&whole, &Rows::of(&other), &[0], &cut), Some(0));
    }

    #[test]
    fn values_are_equal_to_the_last_digit_and_in_type() {
        let one = |data_type, value| answer(&[data_type], &[&[value]]);
        let numeric = DataType::Numeric { precision: 10, scale: 2 };
        let exact = shape(1);
        let ours = one(numeric, Value::Numeric(110, 2));
        assert!(differs(&ours, &one(numeric, Value::Numeric(11, 1)), &exact));
        assert!(differs(&ours, &one(numeric, Value::Null), &exact));
        let double = |value| one(DataType::Double, Value::Double(value));
        assert!(differs(&double(0.0), &double(-0.0), &exact));
        assert!(differs(&double(1.0), &double(1.0 + f64::EPSILON), &exact));
        assert_eq!(compared(&double(f64::NAN), &double(-f64::NAN), &exact), Comparison::Same);
        let blank = |text: &str| one(DataType::Char(4), Value::Text(text.into()));
        assert_eq!(compared(&blank("a"), &blank("a   "), &exact), Comparison::Same);
    }

    #[test]
    fn computed_floats_are_equal_as_far_as_their_order_of_adding_fixes_them() {
        let types = [DataType::Integer, DataType::Double, DataType::Double];
        let near = Shape { tolerance: vec![None, Some(1e-9), Some(1e-9)], ..shape(3) };
        let row = |a: f64, b: f64| [Value::Integer(1), Value::Double(a), Value::Double(b)];
        let rows = |a: &[Value; 3], b: &[Value; 3]| answer(&types, &[a, b]);
        let ours = rows(&row(1e6, 5.0), &row(1e6 + 1e-5, 7.0));
        // Near values may stand in another order.
        let theirs = rows(&row(1e6 + 2e-5, 5.0), &row(1e6, 7.0));
        assert_eq!(compared(&ours, &theirs, &near), Comparison::Same);
        assert!(differs(&ours, &rows(&row(1e6, 5.0), &row(1e6 + 1e-5, 7.1)), &near));
        // What cancels out leaves an error of the size of what it was.
        let zero = rows(&row(1e-12, 0.0), &row(0.0, 1.0));
        let other = rows(&row(0.0, 0.0), &row(-1e-12, 1.0));
        assert_eq!(compared(&zero, &other, &near), Comparison::Same);
        assert!(differs(
            &rows(&row(f64::NAN, 1.0), &row(1.0, 1.0)),
            &rows(&row(1.0, 1.0), &row(1.0, 1.0)),
            &near
        ));
    }
}
