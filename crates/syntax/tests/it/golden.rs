//! Trees of texts, kept in `tests/golden.txt`: a text, and below it the outline of each statement. `GOLDEN=write` writes them anew.

use syntax::parse;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.txt");

/// The texts of the file, and their trees as the parser gives them now.
fn renewed(kept: &str) -> String {
    let texts = kept.lines().filter(|line| !line.starts_with("  ") && !line.is_empty());
    let mut renewed = String::new();
    for text in texts {
        renewed.push_str(&format!("{text}\n"));
        if text.starts_with('#') {
            continue;
        }
        match parse(text) {
            Ok(tree) => tree.statements().for_each(|statement| {
                renewed.push_str(&format!("  {:?}: {:?}\n", statement.range, statement.node));
            }),
            Err(error) => renewed.push_str(&format!("  {error}\n")),
        }
    }
    renewed
}

#[test]
fn trees_are_as_they_were() {
    let kept = std::fs::read_to_string(PATH).expect("the file is there");
    let renewed = renewed(&kept);
    if std::env::var_os("GOLDEN").is_some_and(|told| told == "write") {
        std::fs::write(PATH, &renewed).expect("the file is ours");
        return;
    }
    for (kept, renewed) in kept.lines().zip(renewed.lines()) {
        assert_eq!(kept, renewed);
    }
    assert_eq!(kept.lines().count(), renewed.lines().count());
}
