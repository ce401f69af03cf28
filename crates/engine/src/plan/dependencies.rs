//! Functional dependencies: which columns other columns determine.
//!
//! A table's unique key determines its row; equal join keys determine each other. A grouping by a key and by
//! columns that it determines is a grouping by the key: the others are read from any row of the group.

/// `determinant` → `determined`, in output positions of one operator.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dependency {
    determinant: Vec<usize>,
    determined: Vec<usize>,
}

/// The dependencies that hold in an operator's output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies(Vec<Dependency>);

impl Dependencies {
    /// Whether none is known, as of a union.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds `determinant` → `determined`.
    pub fn add(&mut self, determinant: Vec<usize>, determined: Vec<usize>) {
        self.0.push(Dependency { determinant, determined });
    }

    /// Adds `a` → `b` and `b` → `a`.
    pub fn add_equal(&mut self, a: usize, b: usize) {
        self.add(vec![a], vec![b]);
        self.add(vec![b], vec![a]);
    }

    /// Takes in the dependencies of another input whose columns begin at `offset`. They also hold where an outer
    /// join puts NULLs: determinants are NOT NULL keys or join keys, so no real row looks like the NULL row.
    pub fn append(&mut self, other: &Dependencies, offset: usize) {
        let moved = |columns: &[usize]| columns.iter().map(|c| c + offset).collect();
        let all = other.0.iter();
        self.0.extend(all.map(|d| Dependency {
            determinant: moved(&d.determinant),
            determined: moved(&d.determined),
        }));
    }

    /// The dependencies that survive when only the columns for which `to` has an answer are kept.
    pub fn project(&self, to: &dyn Fn(usize) -> Option<usize>) -> Dependencies {
        let moved = self.0.iter().filter_map(|d| {
            let determinant: Option<Vec<usize>> = d.determinant.iter().map(|c| to(*c)).collect();
            let determined: Vec<usize> = d.determined.iter().filter_map(|c| to(*c)).collect();
            Some(Dependency { determinant: determinant?, determined })
        });
        Dependencies(moved.filter(|d| !d.determined.is_empty()).collect())
    }

    /// Whether `columns` determine `column`.
    pub fn determine(&self, columns: &[usize], column: usize) -> bool {
        let mut known = columns.to_vec();
        loop {
            if known.contains(&column) {
                return true;
            }
            let before = known.len();
            for dependency in &self.0 {
                if dependency.determinant.iter().all(|c| known.contains(c)) {
                    let fresh = dependency.determined.iter().filter(|c| !known.contains(c));
                    let fresh: Vec<usize> = fresh.copied().collect();
                    known.extend(fresh);
                }
            }
            if known.len() == before {
                return false;
            }
        }
    }

    /// Splits grouping columns into the fewest that tell groups apart and those that they determine. Later
    /// columns go first: people write the key before what hangs on it.
    pub fn reduce(&self, keys: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let mut kept = keys.to_vec();
        let mut carried = Vec::new();
        for position in (0..keys.len()).rev() {
            let candidate = kept.remove(position);
            match self.determine(&kept, candidate) {
                true => carried.insert(0, candidate),
                false => kept.insert(position, candidate),
            }
        }
        (kept, carried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_what_hangs_on_it_reduce_to_the_key() {
        // item(0 i_id, 1 i_a_id, 2 i_title) join author(3 a_id, 4 a_lname) on 1 = 3
        let mut dependencies = Dependencies::default();
        dependencies.add(vec![0], vec![0, 1, 2]);
        dependencies.add(vec![3], vec![3, 4]);
        dependencies.add_equal(1, 3);
        assert_eq!(dependencies.reduce(&[0, 2, 4]), (vec![0], vec![2, 4]));
        assert_eq!(dependencies.reduce(&[2, 4]), (vec![2, 4], vec![]));
        assert_eq!(dependencies.reduce(&[4, 0]), (vec![0], vec![4]));
    }
}
