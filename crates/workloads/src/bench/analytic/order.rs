//! Which columns of its output a statement orders by, read off its text.
//!
//! Only for the benchmarks' own statements: their outermost SELECT stands first or behind WITH, and they order by names or
//! aliases of what they select.

/// The positions of the sort keys in the output, up to the first that is not in it.
pub fn sort_keys(text: &str) -> Vec<usize> {
    let words = top_level(text);
    let Some(select) = words.iter().position(|word| word.eq_ignore_ascii_case("select")) else {
        return Vec::new();
    };
    let from = position_after(&words, select, "from");
    let names: Vec<String> = items(&words[select + 1..from]).into_iter().map(last_name).collect();
    let order = position_after(&words, from, "order");
    let limit = position_after(&words, order, "limit");
    let keys = items(words.get(order + 2..limit).unwrap_or_default());
    keys.into_iter()
        .map_while(|key| names.iter().position(|name| *name == first_name(key)))
        .collect()
}

/// The words of a text outside parentheses; a comma is a word.
fn top_level(text: &str) -> Vec<String> {
    let mut depth = 0;
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => plain.push_str(" , "),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain.split_whitespace().map(str::to_owned).collect()
}

fn position_after(words: &[String], after: usize, word: &str) -> usize {
    let rest = words.iter().skip(after);
    rest.take_while(|found| !found.eq_ignore_ascii_case(word)).count() + after.min(words.len())
}

fn items(words: &[String]) -> Vec<&[String]> {
    words.split(|word| word == ",").filter(|item| !item.is_empty()).collect()
}

fn last_name(item: &[String]) -> String {
    unqualified(item.last().map_or("", String::as_str))
}

fn first_name(item: &[String]) -> String {
    unqualified(item.first().map_or("", String::as_str))
}

fn unqualified(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_name_and_by_alias() {
        let text = "SELECT c.name, sum(price * (1 - discount)) AS revenue, d_year FROM a, b \
                    WHERE x IN (SELECT y FROM z ORDER BY y) GROUP BY d_year, c.name \
                    ORDER BY d_year ASC, revenue DESC, name LIMIT 10";
        assert_eq!(sort_keys(text), [2, 1, 0]);
        assert!(sort_keys("SELECT sum(a) AS s FROM t").is_empty());
        assert!(sort_keys("SELECT a FROM t ORDER BY b, a").is_empty());
    }

    #[test]
    fn all_that_the_benchmarks_order_by_is_found() {
        use crate::query::QueryMix;
        let star = crate::star::AllTemplates::new();
        let tpch = crate::tpch::Templates::new(1.0);
        for statement in star.statements().iter().chain(tpch.statements()) {
            let ordered = statement.text.rsplit_once("ORDER BY").map(|(_, keys)| keys);
            let keys = ordered.map_or(0, |keys| keys.split(',').count());
            assert_eq!(sort_keys(&statement.text).len(), keys, "{}", statement.name);
        }
    }
}
