//! Names of tags.

use std::path::Path;

/// A C function that names every kind of node, from PostgreSQL's own list.
pub fn tag_names(postgres: &Path) -> String {
    let path = postgres.join("include/nodes/nodetags.h");
    let list = std::fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{path:?}: {fault}"));
    let mut code = String::from("#include \"parse.h\"\n\n");
    code.push_str("const char *\nsyntax_tag_name(int tag)\n{\n\tswitch (tag)\n\t{\n");
    for line in list.lines().filter_map(|line| line.trim().strip_prefix("T_")) {
        let (name, number) = line.split_once(" = ").expect("a tag has a number");
        let number = number.trim_end_matches(',');
        code.push_str(&format!("\t\tcase {number}: return \"{name}\";\n"));
    }
    code.push_str("\t\tdefault: return 0;\n\t}\n}\n");
    code
}
