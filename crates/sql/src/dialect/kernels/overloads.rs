//! Which of the functions of one name is called: PostgreSQL's choice by the arguments' types (its manual, 10.3).

use values::facts::{CastContext, CastRow, FunctionRow, TypeRow, casts, types};
use values::kernel::Kernel;

/// A function and what computes it.
#[derive(Clone, Copy)]
pub struct Overload {
    /// Its row of the table of facts.
    pub row: &'static FunctionRow,
    /// Its kernel.
    pub kernel: &'static Kernel,
}

impl std::fmt::Debug for Overload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.row.source)
    }
}

/// The function that is called with arguments of the types, by name; `None` inside for a literal of no type yet. There is none
/// where no function takes these types, and where several do, and none better than the others.
pub fn choose<'a>(all: &'a [Overload], given: &[Option<&'static str>]) -> Option<&'a Overload> {
    let of_length = all.iter().filter(|overload| overload.row.arguments.len() == given.len());
    let fitting: Vec<&Overload> = of_length.filter(|overload| fits(overload, given)).collect();
    exact(&fitting, given).or_else(|| best(fitting, given))
}

fn pairs<'a>(
    overload: &'a Overload,
    given: &'a [Option<&'static str>],
) -> impl Iterator<Item = (&'static str, Option<&'static str>)> + 'a {
    overload.row.arguments.iter().copied().zip(given.iter().copied())
}

fn fits(overload: &Overload, given: &[Option<&'static str>]) -> bool {
    pairs(overload, given).all(|(wanted, given)| match given {
        Some(given) => given == wanted || is_implicit(given, wanted),
        None => true,
    })
}

/// The cast from one type to another.
pub fn cast(from: &str, to: &str) -> Option<&'static CastRow> {
    casts().iter().find(|cast| cast.source == from && cast.target == to)
}

/// Whether it happens by itself.
fn is_implicit(from: &str, to: &str) -> bool {
    cast(from, to).is_some_and(|cast| cast.context == CastContext::Implicit)
}

fn exact<'a>(fitting: &[&'a Overload], given: &[Option<&'static str>]) -> Option<&'a Overload> {
    let is_exact =
        |overload: &&&Overload| pairs(overload, given).all(|(wanted, given)| given == Some(wanted));
    fitting.iter().find(is_exact).copied()
}

fn type_row(name: &str) -> &'static TypeRow {
    types().iter().find(|row| row.name == name).expect("a type of the tables of facts")
}

fn best<'a>(mut left: Vec<&'a Overload>, given: &[Option<&'static str>]) -> Option<&'a Overload> {
    let is_exact = |wanted: &'static str, given: &'static str| wanted == given;
    let is_preferred = |wanted: &'static str, given: &'static str| {
        let wanted_row = type_row(wanted);
        is_exact(wanted, given)
            || wanted_row.is_preferred && wanted_row.category == type_row(given).category
    };
    keep_most(&mut left, given, is_exact);
    keep_most(&mut left, given, is_preferred);
    if left.len() > 1 && given.contains(&None) {
        left = by_unknown(left, given);
    }
    if let [only] = left[..] { Some(only) } else { None }
}

/// Keeps those in which most arguments of known types count.
fn keep_most(
    left: &mut Vec<&Overload>,
    given: &[Option<&'static str>],
    counts: impl Fn(&'static str, &'static str) -> bool,
) {
    let count = |overload: &Overload| {
        let known = pairs(overload, given).filter_map(|(wanted, given)| Some((wanted, given?)));
        known.filter(|pair| counts(pair.0, pair.1)).count()
    };
    let most = left.iter().map(|overload| count(overload)).max().unwrap_or(0);
    left.retain(|overload| count(overload) == most);
}

/// Literals without a type are texts where they can be, else of the category in which all agree, and of its preferred type where some
/// take that; at last of the type of the others.
fn by_unknown<'a>(
    mut left: Vec<&'a Overload>,
    given: &[Option<&'static str>],
) -> Vec<&'a Overload> {
    let all = left.clone();
    for place in (0..given.len()).filter(|place| given[*place].is_none()) {
        let wanted = |overload: &Overload| type_row(overload.row.arguments[place]);
        let categories: Vec<char> = left.iter().map(|one| wanted(one).category).collect();
        let category = match categories.contains(&'S') {
            true => 'S',
            false if categories.iter().all(|own| *own == categories[0]) => categories[0],
            false => return by_others(all, given),
        };
        left.retain(|one| wanted(one).category == category);
        if left.iter().any(|one| wanted(one).is_preferred) {
            left.retain(|one| wanted(one).is_preferred);
        }
    }
    if left.len() == 1 { left } else { by_others(all, given) }
}

fn by_others<'a>(left: Vec<&'a Overload>, given: &[Option<&'static str>]) -> Vec<&'a Overload> {
    let mut known = given.iter().flatten();
    let Some(first) = known.next().filter(|first| known.all(|other| other == *first)) else {
        return left;
    };
    let alike: Vec<Option<&'static str>> = vec![Some(*first); given.len()];
    let fitting: Vec<&Overload> = left.iter().copied().filter(|one| fits(one, &alike)).collect();
    if fitting.len() == 1 { fitting } else { left }
}

#[cfg(test)]
mod tests {
    use values::facts::functions;
    use values::kernel::kernel;

    use super::*;

    fn chosen(name: &str, given: &[Option<&'static str>]) -> Option<Vec<&'static str>> {
        let rows = functions().iter().filter(|row| row.name == name);
        let all: Vec<Overload> =
            rows.filter_map(|row| Some(Overload { row, kernel: kernel(row.source)? })).collect();
        choose(&all, given).map(|overload| overload.row.arguments.clone())
    }

    #[test]
    fn functions_are_chosen_as_postgresql_chooses() {
        let text = Some("text");
        assert_eq!(chosen("date_trunc", &[None, Some("date")]), Some(vec!["text", "timestamptz"]));
        assert_eq!(chosen("age", &[None, Some("timestamp")]), Some(vec!["timestamp"; 2]));
        assert_eq!(chosen("sqrt", &[Some("int4")]), Some(vec!["float8"]));
        assert_eq!(chosen("sqrt", &[None]), Some(vec!["float8"]));
        assert_eq!(chosen("length", &[None]), Some(vec!["text"]));
        assert_eq!(chosen("length", &[Some("varchar")]), Some(vec!["text"]));
        assert_eq!(chosen("length", &[Some("int4")]), None);
        assert_eq!(chosen("date_trunc", &[text, None]), None);
    }
}
