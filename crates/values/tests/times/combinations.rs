//! Which combinations of arguments are compared: all, or a sample spread evenly over them.

/// Combinations of lists of so many values.
pub struct Combinations {
    lengths: Vec<usize>,
    total: usize,
    /// How far apart those of the sample are, round and round; it shares no factor with the total.
    step: usize,
    count: usize,
}

fn greatest_divisor(one: usize, other: usize) -> usize {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

impl Combinations {
    /// All, or `most` of them.
    pub fn new(lengths: Vec<usize>, most: usize) -> Self {
        let total: usize = lengths.iter().product();
        let count = total.min(most);
        let mut step = if total > most { (total as f64 * 0.618_034) as usize } else { 1 };
        while step > 1 && greatest_divisor(step, total) != 1 {
            step += 1;
        }
        Self { lengths, total, step, count }
    }

    /// How many are compared.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Of the combination at a place in the sample, which value of each list it takes.
    pub fn at(&self, place: usize) -> Vec<usize> {
        let mut rest = (place as u128 * self.step as u128 % self.total as u128) as usize;
        let mut taken = Vec::new();
        for length in &self.lengths {
            taken.push(rest % length);
            rest /= length;
        }
        taken
    }

    /// [`Self::at`] in SQL for place `i`: of a list, which value is taken, from 1.
    pub fn sql(&self, list: usize) -> String {
        let before: usize = self.lengths[..list].iter().product();
        let (step, total, length) = (self.step, self.total, self.lengths[list]);
        format!("(1 + (i * {step}::bigint % {total}) / {before} % {length})::int")
    }
}
