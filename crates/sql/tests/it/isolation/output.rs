//! Results as isolationtester prints them.

use std::fmt::Write;

/// Without what is at the ends of lines, and empty lines at the ends.
pub fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}

/// The permutations of an expected output.
pub fn permutations(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let all = lines.join("\n");
    let mut parts = all.split("starting permutation: ");
    parts.next();
    parts.map(|part| trimmed(&format!("starting permutation: {part}"))).collect()
}

/// Whether a column's values are all numbers: these stand on the right.
fn is_number(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_digit() || ".eE -".contains(c))
}

/// A table of rows, columns divided by bars.
pub fn table(names: &[String], rows: &[Vec<Option<String>>]) -> String {
    let cell = |row: &[Option<String>], column: usize| row[column].clone().unwrap_or_default();
    let columns: Vec<(usize, bool)> = names
        .iter()
        .enumerate()
        .map(|(column, name)| {
            let values: Vec<String> = rows.iter().map(|row| cell(row, column)).collect();
            let widest = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
            (widest.max(name.chars().count()), values.iter().all(|value| is_number(value)))
        })
        .collect();
    let line = |cells: Vec<String>| {
        let padded = cells.into_iter().zip(&columns).map(|(cell, (width, is_right))| {
            if *is_right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        padded.collect::<Vec<_>>().join("|")
    };
    let mut text = line(names.to_vec()) + "\n";
    let dashes: Vec<String> = columns.iter().map(|(width, _)| "-".repeat(*width)).collect();
    writeln!(text, "{}", dashes.join("+")).expect("strings take all");
    for row in rows {
        writeln!(text, "{}", line((0..names.len()).map(|column| cell(row, column)).collect()))
            .expect("strings take all");
    }
    let plural = if rows.len() == 1 { "" } else { "s" };
    writeln!(text, "({} row{plural})\n", rows.len()).expect("strings take all");
    text
}
