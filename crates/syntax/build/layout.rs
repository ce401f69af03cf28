//! Asserts by the C compiler what `src/nodes` declares: tags, sizes, offsets, the types of fields, the numbers of choices.
//!
//! `src/nodes/table.rs` tells the form of the declarations. Where PostgreSQL's headers or the target say otherwise nothing builds, and
//! the compiler names the field.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const HEADERS: &str = "#include \"postgres.h\"\n#include \"nodes/parsenodes.h\"\n\
    #include \"nodes/primnodes.h\"\n#include \"nodes/value.h\"\n";

/// The C text with all assertions.
pub fn assertions(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).expect("the declarations are there");
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder is readable").path()).collect();
    files.sort();
    let read = |path| std::fs::read_to_string(path).expect("declarations are texts");
    let texts: Vec<String> = files.iter().map(read).collect();
    let declared = texts.iter().filter(|text| text.contains("! {\n    ///"));
    let lines: Vec<&str> = declared.flat_map(|text| text.lines()).map(str::trim).collect();
    let names = lines.iter().filter_map(|line| node(line)).map(|node| (node.name, node.c));
    let names: HashMap<&str, &str> = names.collect();
    let mut code = String::from(HEADERS);
    let mut within = "";
    for line in lines {
        if let Some(Declared { c, tag, size, .. }) = node(line) {
            within = c;
            assert_in_c(&mut code, &format!("T_{c} == {tag} && sizeof({c}) == {size}"), c);
        } else if let Some((kind, field, offset)) = field(line) {
            let types = types(kind, &names);
            let told = format!("{within}.{field}");
            assert_in_c(&mut code, &format!("offsetof({within}, {field}) == {offset}"), &told);
            let of = format!("_Generic((({within} *) 0)->{field}, {types} default: 0)");
            assert_in_c(&mut code, &of, &told);
        } else if let Some((choice, number)) = choice(line) {
            assert_in_c(&mut code, &format!("{choice} == {number}"), choice);
        }
    }
    code
}

fn assert_in_c(code: &mut String, condition: &str, told: &str) {
    writeln!(code, "_Static_assert({condition}, \"{told}\");").expect("a String takes all");
}

struct Declared<'a> {
    name: &'a str,
    c: &'a str,
    tag: &'a str,
    size: &'a str,
}

/// `SelectStmt: SelectStmt = 141, 160 {`
fn node(line: &str) -> Option<Declared<'_>> {
    let (name, rest) = line.strip_suffix('{')?.split_once(": ")?;
    let (c, numbers) = rest.split_once(" = ")?;
    let (tag, size) = numbers.trim_end().split_once(", ")?;
    Some(Declared { name, c, tag, size })
}

/// `target_list: [ResTarget] = targetList @ 24;` gives the kind, the field and the offset.
fn field(line: &str) -> Option<(&str, &str, &str)> {
    let (declared, offset) = line.strip_suffix(';')?.split_once(" @ ")?;
    let (left, field) = declared.split_once(" = ")?;
    let (_, kind) = left.split_once(": ")?;
    Some((kind, field, offset))
}

/// `Union = SETOP_UNION, 1;` gives the constant and its number.
fn choice(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.strip_suffix(';')?.split_once(" = ")?;
    rest.split_once(", ")
}

/// The types in C that a kind of field may have, as associations of `_Generic`.
fn types(kind: &str, names: &HashMap<&str, &str>) -> String {
    let only = |name: &str| format!("{} *: 1,", names[name]);
    match kind {
        "node" => "Node *: 1, Expr *: 1,".to_owned(),
        "nodes" => "List *: 1,".to_owned(),
        "literal" => "union ValUnion: 1,".to_owned(),
        "text" => "char *: 1, const char *: 1,".to_owned(),
        "location" | "int" => "int: 1,".to_owned(),
        "flag" => "bool: 1,".to_owned(),
        "byte" => "char: 1,".to_owned(),
        "short" => "int16: 1,".to_owned(),
        "bits" => "uint32: 1,".to_owned(),
        "long" => "long: sizeof(long) == 8,".to_owned(),
        _ if kind.starts_with('[') => "List *: 1,".to_owned(),
        // Enums are unsigned int to the compilers, unless they have a negative member.
        _ if kind.starts_with('{') => "unsigned int: 1,".to_owned(),
        _ => only(kind.trim_matches(['(', ')'])),
    }
}
