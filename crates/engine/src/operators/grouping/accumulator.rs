//! What an aggregate knows of each group so far.
//!
//! Kernels take `groups` and `rows` of equal length: the group at `groups[i]` takes in the argument's row
//! `rows[i]`. Groups are places in the output, so that one query's groups lie together in the cache.

use super::argument::{Argument, Numbers, Values};
use crate::plan::AggregateFunction;

/// Added to a group's count with every infinite or NaN argument: their number, above the count's own bits.
const NON_FINITE: i64 = 1 << 48;

/// The state of one aggregate for all groups.
#[derive(Clone, Debug)]
pub struct Accumulator {
    /// Arguments that are not NULL, of each group; none where the state counts them.
    counts: Vec<i64>,
    pub(super) state: State,
}

/// A sum and its arguments that are not NULL: side by side, so that a row of a group that is not in the cache waits once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub sum: i64,
    pub count: i64,
}

/// Groups whose sum is lost.
pub(super) type Overflows = hashbrown::HashSet<u32>;

/// What is kept besides the count.
#[derive(Clone, Debug)]
pub(super) enum State {
    Count,
    /// Sums of at most 32 bits each: fewer than 2^32 of them cannot overflow.
    Sum64(Vec<Counted>),
    /// With the groups for which 128 bits were not enough.
    Sum128(Vec<i128>, Overflows),
    /// Twice the precision of the result, as (high, low): the result does not depend on the rows' order, so a
    /// batch gives what a query gives alone.
    SumFloat(Vec<(f64, f64)>),
    Least(Vec<i64>),
    Greatest(Vec<i64>),
    Least128(Vec<i128>),
    Greatest128(Vec<i128>),
}

impl Accumulator {
    /// No group yet.
    pub fn new(function: AggregateFunction, argument: &Argument) -> Accumulator {
        use AggregateFunction::*;
        let state = match (function, &argument.values) {
            (Count, _) => State::Count,
            (Sum | Average, Values::Narrow(_)) => State::Sum64(Vec::new()),
            (Sum | Average, Values::Integers(_) | Values::Decimals(..) | Values::Digits(..)) => {
                State::Sum128(Vec::new(), Overflows::new())
            }
            (Sum | Average, Values::Floats(_)) => State::SumFloat(Vec::new()),
            (Min, Values::Decimals(..) | Values::Digits(..)) => State::Least128(Vec::new()),
            (Max, Values::Decimals(..) | Values::Digits(..)) => State::Greatest128(Vec::new()),
            (Min, Values::Narrow(_) | Values::Integers(_) | Values::Ordered(..)) => {
                State::Least(Vec::new())
            }
            (Max, Values::Narrow(_) | Values::Integers(_) | Values::Ordered(..)) => {
                State::Greatest(Vec::new())
            }
            (function, values) => unreachable!("{function:?} of {values:?}"),
        };
        Accumulator { counts: Vec::new(), state }
    }

    /// Makes room for groups up to `groups`.
    pub fn grow(&mut self, groups: usize) {
        if !matches!(self.state, State::Sum64(_)) {
            self.counts.resize(groups, 0);
        }
        match &mut self.state {
            State::Count => {}
            State::Sum64(sums) => sums.resize(groups, Counted::default()),
            State::Sum128(sums, _) => sums.resize(groups, 0),
            State::SumFloat(sums) => sums.resize(groups, (0.0, 0.0)),
            State::Least(values) => values.resize(groups, i64::MAX),
            State::Greatest(values) => values.resize(groups, i64::MIN),
            State::Least128(values) => values.resize(groups, i128::MAX),
            State::Greatest128(values) => values.resize(groups, i128::MIN),
        }
    }

    /// Takes in rows of the argument.
    pub fn fold(&mut self, argument: &Argument, groups: &[u32], rows: &[u32]) {
        let counts = &mut self.counts;
        match (&mut self.state, argument.values.numbers()) {
            (State::Count, _) => argument.for_each(groups, rows, |group, _| counts[group] += 1),
            (State::Sum64(sums), Numbers::Plain(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    let Counted { sum, count } = &mut sums[group];
                    *sum += values[row];
                    *count += 1;
                })
            }
            (State::Sum128(sums, lost), Numbers::Plain(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    counts[group] += 1;
                    add(sums, lost, group, i128::from(values[row]));
                })
            }
            (State::Sum128(sums, lost), Numbers::Wide(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    counts[group] += 1;
                    add(sums, lost, group, values[row]);
                })
            }
            (State::SumFloat(sums), Numbers::Floats(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    let value = values[row];
                    counts[group] += if value.is_finite() { 1 } else { 1 + NON_FINITE };
                    add_float(&mut sums[group], (value, 0.0));
                })
            }
            (State::Least(least), Numbers::Plain(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    counts[group] += 1;
                    least[group] = least[group].min(values[row]);
                })
            }
            (State::Greatest(greatest), Numbers::Plain(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    counts[group] += 1;
                    greatest[group] = greatest[group].max(values[row]);
                })
            }
            (State::Least128(least), Numbers::Plain(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    counts[group] += 1;
                    least[group] = least[group].min(values[row].into());
                })
            }
            (State::Greatest128(greatest), Numbers::Plain(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    counts[group] += 1;
                    greatest[group] = greatest[group].max(values[row].into());
                })
            }
            (State::Least128(least), Numbers::Wide(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    counts[group] += 1;
                    least[group] = least[group].min(values[row]);
                })
            }
            (State::Greatest128(greatest), Numbers::Wide(values)) => {
                argument.for_each(groups, rows, |group, row| {
                    counts[group] += 1;
                    greatest[group] = greatest[group].max(values[row]);
                })
            }
            (state, _) => unreachable!("{state:?} was made for other values than {argument:?}"),
        }
    }

    /// Takes in rows of the argument that are all of one group.
    pub fn fold_group(&mut self, argument: &Argument, group: usize, rows: &[u32]) {
        let (count, counts) = (argument.count(rows), &mut self.counts);
        match (&mut self.state, argument.values.numbers()) {
            (State::Count, _) => counts[group] += count as i64,
            (State::Sum64(sums), Numbers::Plain(values)) => {
                sums[group].count += count as i64;
                sums[group].sum += argument.fold(rows, 0, |sum, row| sum + values[row]);
            }
            (State::Sum128(sums, lost), Numbers::Plain(values)) => {
                counts[group] += count as i64;
                // Fewer than 2^32 rows: 96 bits at most.
                let sum = argument.fold(rows, 0, |sum, row| sum + i128::from(values[row]));
                add(sums, lost, group, sum);
            }
            (State::Sum128(sums, lost), Numbers::Wide(values)) => {
                counts[group] += count as i64;
                let sum = argument.fold(rows, (0, false), |(sum, wrapped), row| {
                    let (sum, now) = i128::overflowing_add(sum, values[row]);
                    (sum, wrapped | now)
                });
                match sum {
                    (sum, false) => add(sums, lost, group, sum),
                    // What one run of rows leaves together may not be what they leave with those before.
                    (_, true) => argument.fold(rows, (), |(), row| {
                        add(sums, lost, group, values[row]);
                    }),
                }
            }
            _ => self.fold(argument, &vec![group as u32; rows.len()], rows),
        }
    }

    /// Takes in groups of another accumulator of the same aggregate: the `i`-th of its groups `from` goes to
    /// `groups[i]`.
    pub fn merge(
        &mut self,
        other: &Accumulator,
        groups: &[u32],
        from: impl Iterator<Item = usize> + Clone,
    ) {
        let pairs = || groups.iter().zip(from.clone()).map(|(&to, from)| (to as usize, from));
        if !matches!(self.state, State::Sum64(_)) {
            pairs().for_each(|(to, from)| self.counts[to] += other.counts[from]);
        }
        match (&mut self.state, &other.state) {
            (State::Count, State::Count) => {}
            (State::Sum64(to), State::Sum64(from)) => pairs().for_each(|(t, f)| {
                to[t].sum += from[f].sum;
                to[t].count += from[f].count;
            }),
            (State::Sum128(to, lost), State::Sum128(from, lost_before)) => {
                pairs().for_each(|(t, f)| add(to, lost, t, from[f]));
                if !lost_before.is_empty() {
                    let also = pairs().filter(|(_, f)| lost_before.contains(&(*f as u32)));
                    lost.extend(also.map(|(t, _)| t as u32));
                }
            }
            (State::SumFloat(to), State::SumFloat(from)) => {
                pairs().for_each(|(t, f)| add_float(&mut to[t], from[f]))
            }
            (State::Least(to), State::Least(from)) => {
                pairs().for_each(|(t, f)| to[t] = to[t].min(from[f]))
            }
            (State::Greatest(to), State::Greatest(from)) => {
                pairs().for_each(|(t, f)| to[t] = to[t].max(from[f]))
            }
            (State::Least128(to), State::Least128(from)) => {
                pairs().for_each(|(t, f)| to[t] = to[t].min(from[f]))
            }
            (State::Greatest128(to), State::Greatest128(from)) => {
                pairs().for_each(|(t, f)| to[t] = to[t].max(from[f]))
            }
            (to, from) => unreachable!("{to:?} takes in {from:?} of another aggregate"),
        }
    }

    /// Takes in another accumulator of the same aggregate, whose groups come behind all that are here.
    pub fn append(&mut self, mut other: Accumulator) {
        let first = self.groups() as u32;
        self.counts.append(&mut other.counts);
        match (&mut self.state, other.state) {
            (State::Count, State::Count) => {}
            (State::Sum64(own), State::Sum64(mut other)) => own.append(&mut other),
            (State::Sum128(own, lost), State::Sum128(mut other, also_lost)) => {
                own.append(&mut other);
                lost.extend(also_lost.into_iter().map(|group| first + group));
            }
            (State::SumFloat(own), State::SumFloat(mut other)) => own.append(&mut other),
            (State::Least(own), State::Least(mut other))
            | (State::Greatest(own), State::Greatest(mut other)) => own.append(&mut other),
            (State::Least128(own), State::Least128(mut other))
            | (State::Greatest128(own), State::Greatest128(mut other)) => own.append(&mut other),
            (own, other) => unreachable!("{own:?} takes in {other:?} of another aggregate"),
        }
    }

    /// The groups of a range, counted from its start.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Accumulator {
        let state = match &self.state {
            State::Count => State::Count,
            State::Sum64(sums) => State::Sum64(sums[range.clone()].to_vec()),
            State::Sum128(sums, lost) => {
                let inside = lost.iter().filter(|group| range.contains(&(**group as usize)));
                let lost = inside.map(|group| group - range.start as u32).collect();
                State::Sum128(sums[range.clone()].to_vec(), lost)
            }
            State::SumFloat(sums) => State::SumFloat(sums[range.clone()].to_vec()),
            State::Least(values) => State::Least(values[range.clone()].to_vec()),
            State::Greatest(values) => State::Greatest(values[range.clone()].to_vec()),
            State::Least128(values) => State::Least128(values[range.clone()].to_vec()),
            State::Greatest128(values) => State::Greatest128(values[range.clone()].to_vec()),
        };
        let counts = match state {
            State::Sum64(_) => Vec::new(),
            _ => self.counts[range].to_vec(),
        };
        Accumulator { counts, state }
    }

    /// The groups named, in that order.
    pub fn take(&self, groups: &[u32]) -> Accumulator {
        fn of<T: Copy>(values: &[T], groups: &[u32]) -> Vec<T> {
            groups.iter().map(|&group| values[group as usize]).collect()
        }
        let state = match &self.state {
            State::Count => State::Count,
            State::Sum64(sums) => State::Sum64(of(sums, groups)),
            State::Sum128(sums, lost) => {
                let inside = groups.iter().zip(0..).filter(|(group, _)| lost.contains(*group));
                let lost =
                    if lost.is_empty() { Overflows::new() } else { inside.map(|i| i.1).collect() };
                State::Sum128(of(sums, groups), lost)
            }
            State::SumFloat(sums) => State::SumFloat(of(sums, groups)),
            State::Least(values) => State::Least(of(values, groups)),
            State::Greatest(values) => State::Greatest(of(values, groups)),
            State::Least128(values) => State::Least128(of(values, groups)),
            State::Greatest128(values) => State::Greatest128(of(values, groups)),
        };
        let counts = match state {
            State::Sum64(_) => Vec::new(),
            _ => of(&self.counts, groups),
        };
        Accumulator { counts, state }
    }

    /// Arguments that are not NULL, by group.
    pub fn count(&self, group: usize) -> i64 {
        match &self.state {
            State::Sum64(sums) => sums[group].count,
            _ => self.counts[group] & (NON_FINITE - 1),
        }
    }

    /// Groups.
    pub fn groups(&self) -> usize {
        match &self.state {
            State::Sum64(sums) => sums.len(),
            _ => self.counts.len(),
        }
    }

    /// A sum of floats; `None` where finite numbers left the type's range.
    pub fn float_sum(&self, group: usize) -> Option<f64> {
        let State::SumFloat(sums) = &self.state else { unreachable!("not a sum of floats") };
        let (high, low) = sums[group];
        match high.is_finite() {
            true => Some(high + low),
            false => (self.counts[group] >= NON_FINITE).then_some(high),
        }
    }

    /// A sum of numbers that are not floats; `None` where it overflowed.
    pub fn exact_sum(&self, group: usize) -> Option<i128> {
        match &self.state {
            State::Sum64(sums) => Some(i128::from(sums[group].sum)),
            State::Sum128(sums, lost) => {
                (lost.is_empty() || !lost.contains(&(group as u32))).then_some(sums[group])
            }
            other => unreachable!("{other:?} is no exact sum"),
        }
    }
}

#[inline]
fn add(sums: &mut [i128], lost: &mut Overflows, group: usize, value: i128) {
    let (sum, wrapped) = sums[group].overflowing_add(value);
    sums[group] = sum;
    if wrapped {
        lost.insert(group as u32);
    }
}

/// Knuth's two-sum: what rounding takes from the high part goes to the low part.
#[inline]
fn add_float(sum: &mut (f64, f64), value: (f64, f64)) {
    let high = sum.0 + value.0;
    let rounded = high - sum.0;
    let lost = (sum.0 - (high - rounded)) + (value.0 - rounded);
    *sum = (high, sum.1 + (lost + value.1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_sums_do_not_depend_on_the_order() {
        let mut values = vec![1e16, 1.0, -1e16, 0.1, 1e-3, 7e15, -7e15];
        let sum = |values: &[f64]| {
            let mut sum = (0.0, 0.0);
            values.iter().for_each(|&value| add_float(&mut sum, (value, 0.0)));
            sum.0 + sum.1
        };
        let forwards = sum(&values);
        values.reverse();
        assert_eq!(forwards, sum(&values));
        assert_eq!(forwards, 1.101);
    }

    #[test]
    fn sums_of_decimals_remember_that_they_overflowed() {
        let argument = Argument::of(Values::Decimals(vec![i128::MAX, 1, -5].into(), 0));
        for rows in [&[0, 1, 2][..], &[0], &[2, 0, 1]] {
            let mut sums = Accumulator::new(AggregateFunction::Sum, &argument);
            sums.grow(1);
            sums.fold(&argument, &vec![0; rows.len()], rows);
            let mut together = Accumulator::new(AggregateFunction::Sum, &argument);
            together.grow(1);
            together.fold_group(&argument, 0, rows);
            let known = (rows == [0]).then_some(i128::MAX);
            let known = if rows[0] == 2 { Some(i128::MAX - 4) } else { known };
            assert_eq!((sums.exact_sum(0), together.exact_sum(0)), (known, known), "{rows:?}");
        }
    }
}
