//! Constants.

use crate::Node;

/// The value of a constant, as the text has it: no type but what its form says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal<'t> {
    /// NULL.
    Null,
    /// TRUE, FALSE.
    Boolean(bool),
    /// A number without a point or exponent within 32 bits.
    Integer(i32),
    /// Any other number, as it was written.
    Number(&'t str),
    /// A string, decoded.
    String(&'t str),
    /// `b` or `x`, and the digits, which are not checked.
    BitString(&'t str),
}

impl<'t> Literal<'t> {
    /// The node within a constant.
    pub(crate) fn of(node: Node<'t>) -> Literal<'t> {
        let value = match node {
            Node::IntegerValue(value) => return Literal::Integer(value.value()),
            Node::BooleanValue(value) => return Literal::Boolean(value.value()),
            Node::FloatValue(value) => value.value().map(Literal::Number),
            Node::StringValue(value) => value.value().map(Literal::String),
            Node::BitStringValue(value) => value.value().map(Literal::BitString),
            other => panic!("{} is no value of a constant", other.name()),
        };
        value.expect("the value of a constant has a text")
    }
}
