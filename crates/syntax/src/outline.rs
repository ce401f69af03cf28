//! Trees as a text that a person can read, and golden files keep.
//!
//! `SelectStmt{target_list:[ResTarget{val:AConst{value:Integer(1) @7} @7}]}`: kinds, and the fields that are there. A name or a number
//! within a list stands by itself; choices that say nothing, as `Default`, are left out.

use std::fmt::{self, Write};

use crate::{Field, Node, Nodes};

/// Nodes within each other that are written; what is deeper is `..`, for writing recurses.
const DEPTH: usize = 200;

/// Writes a node and what is below it.
pub(crate) fn write(out: &mut dyn Write, node: Node<'_>) -> fmt::Result {
    write_node(out, node, DEPTH)
}

fn write_node(out: &mut dyn Write, node: Node<'_>, depth: usize) -> fmt::Result {
    let Some(depth) = depth.checked_sub(1) else {
        return out.write_str("..");
    };
    match node {
        Node::StringValue(text) => return write!(out, "{:?}", text.value().unwrap_or_default()),
        Node::IntegerValue(number) => return write!(out, "{}", number.value()),
        Node::List(nodes) => return write_list(out, nodes, depth),
        _ => out.write_str(node.name())?,
    }
    let mut result = Ok(());
    let mut separator = "{";
    node.fields(&mut |name, field| {
        if result.is_ok() && !says_nothing(field) {
            result = out.write_str(separator).and_then(|()| write_field(out, name, field, depth));
            separator = " ";
        }
    });
    result?;
    if separator == " " { out.write_char('}') } else { Ok(()) }
}

fn says_nothing(field: Field<'_>) -> bool {
    matches!(field, Field::Choice("Default" | "None" | "NotSet" | "Noop" | "Unspec" | "Block"))
}

fn write_field(out: &mut dyn Write, name: &str, field: Field<'_>, depth: usize) -> fmt::Result {
    match field {
        Field::Location(at) if name == "location" => return write!(out, "@{at}"),
        Field::Flag => return out.write_str(name),
        _ => write!(out, "{name}:")?,
    }
    match field {
        Field::Node(node) => write_node(out, node, depth),
        Field::List(nodes) => write_list(out, nodes, depth),
        Field::Literal(literal) => write!(out, "{literal:?}"),
        Field::Text(text) => write!(out, "{text:?}"),
        Field::Location(at) => write!(out, "{at}"),
        Field::Number(number) => write!(out, "{number}"),
        Field::Choice(choice) => out.write_str(choice),
        Field::Letter(letter) => out.write_char(letter),
        Field::Flag => Ok(()),
    }
}

fn write_list(out: &mut dyn Write, nodes: Nodes<'_>, depth: usize) -> fmt::Result {
    let mut separator = "[";
    for node in nodes.iter() {
        out.write_str(separator)?;
        write_node(out, node, depth)?;
        separator = ", ";
    }
    out.write_str(if nodes.is_empty() { "[]" } else { "]" })
}
