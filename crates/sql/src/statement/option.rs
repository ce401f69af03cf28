//! Options of statements and their values, as PostgreSQL's nodes have them.
//!
//! In come nodes of a tree; out go texts, numbers and names that outlive it. Called by whoever makes a command of a node.

use engine::types::{Error, SqlState};
use syntax::{DefElem, Kind, List, Literal, Node, RangeVar, StringValue};

use crate::template::characters;

/// The string that an option is set to.
pub fn string<'t>(option: DefElem<'t>) -> Option<&'t str> {
    option.arg().and_then(string_of)
}

/// The string that a node is.
pub fn string_of(node: Node<'_>) -> Option<&str> {
    match node {
        Node::StringValue(string) => string.value(),
        Node::AConst(constant) => match constant.value() {
            Literal::String(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an option is on, by a word or a number; without a value it is.
pub fn flag(option: DefElem<'_>) -> bool {
    match option.arg() {
        Some(Node::BooleanValue(value)) => value.value(),
        Some(Node::IntegerValue(value)) => value.value() != 0,
        Some(Node::AConst(constant)) => constant.value() != Literal::Integer(0),
        Some(Node::StringValue(word)) => {
            let is = |off: &str| word.value().is_some_and(|word| word.eq_ignore_ascii_case(off));
            !is("off") && !is("false")
        }
        _ => true,
    }
}

/// The number that an option is set to, as it was written.
pub fn number(option: DefElem<'_>) -> Option<String> {
    match option.arg()? {
        Node::IntegerValue(value) => Some(value.value().to_string()),
        Node::FloatValue(value) => value.value().map(str::to_owned),
        _ => None,
    }
}

/// The nodes of one kind in the list that an option is set to.
pub fn list<'t, K: Kind<'t>>(option: DefElem<'t>) -> Vec<K> {
    match option.arg() {
        Some(Node::List(nodes)) => nodes.iter().filter_map(K::of).collect(),
        _ => Vec::new(),
    }
}

/// Names in a list.
pub fn names(list: List<'_, StringValue<'_>>) -> Vec<String> {
    list.iter().filter_map(StringValue::value).map(str::to_owned).collect()
}

/// The parts of a relation's name, of which the last is its own.
pub fn parts(relation: RangeVar<'_>) -> Vec<String> {
    let parts = [relation.catalogname(), relation.schemaname(), relation.relname()];
    parts.into_iter().flatten().map(str::to_owned).collect()
}

/// 42601 for an option that is given twice, at the second one.
pub fn check_distinct<'t>(
    options: impl Iterator<Item = DefElem<'t>>,
    text: &str,
) -> Result<(), Error> {
    let mut seen: Vec<&str> = Vec::new();
    for option in options {
        let name = option.defname().unwrap_or_default();
        if seen.contains(&name) {
            let error = Error::new(SqlState::SyntaxError, "conflicting or redundant options");
            let at = option.location();
            return Err(at.map_or(error.clone(), |at| error.position(characters(text, at))));
        }
        seen.push(name);
    }
    Ok(())
}
