//! A value becomes a column's, or a part of a column's.

use syntax::{AIndices, Node, Nodes};

use crate::analyzer::Analyzer;
use crate::catalog::{Relation, RelationColumn};
use crate::coerce::Wish;
use crate::error::{Location, Result, fault};
use crate::facts::{CastContext, Oid, TypeKind};
use crate::tree::{Expression, ExpressionKind};

/// What is assigned to.
#[derive(Clone, Copy)]
struct Slot<'n> {
    name: &'n str,
    type_oid: Oid,
    typmod: i32,
    /// Whether a subscript led here.
    is_element: bool,
}

impl<'t> Analyzer<'t, '_> {
    /// A value as one of a column, or the column with the value in a part of it.
    pub(super) fn assign(
        &mut self,
        value: Expression,
        relation: &Relation,
        number: i16,
        steps: Option<Nodes<'t>>,
        entry: Option<usize>,
        at: Location,
    ) -> Result<Expression> {
        let column = column_of(relation, number);
        let steps: Vec<Node<'t>> = steps.into_iter().flat_map(|steps| steps.iter()).collect();
        if matches!(value.kind, ExpressionKind::Default) {
            if let Some(first) = steps.first() {
                let is_field = matches!(first, Node::StringValue(_));
                let what = if is_field { "a subfield" } else { "an array element" };
                let message = format!("cannot set {what} to DEFAULT");
                return Err(fault("0A000", at, message));
            }
            return Ok(typed_default(value, column));
        }
        let slot = Slot {
            name: &column.name,
            type_oid: column.type_oid,
            typmod: column.typmod,
            is_element: false,
        };
        if steps.is_empty() {
            return self.assign_whole(value, slot, at);
        }
        // INSERT begins with NULL, UPDATE with what is there.
        let before = match entry {
            Some(entry) => self.column(0, entry, number, at),
            None => Expression::null(column.type_oid),
        };
        self.assign_part(before, slot, &steps, value, at)
    }

    fn assign_whole(
        &mut self,
        value: Expression,
        slot: Slot<'_>,
        at: Location,
    ) -> Result<Expression> {
        let source = value.type_oid;
        let value_at = value.location;
        let wish = Wish { context: CastContext::Assignment, ..Wish::IMPLICIT };
        let done = self.coerce_to(value, slot.type_oid, slot.typmod, wish)?;
        let at = if value_at >= 0 { value_at } else { at };
        done.ok_or_else(|| {
            let (name, to, from) =
                (slot.name, self.type_words(slot.type_oid), self.type_words(source));
            fault(
                "42804",
                at,
                format!("column \"{name}\" is of type {to} but expression is of type {from}"),
            )
            .hint("You will need to rewrite or cast the expression.")
        })
    }

    /// A row or an array with a value in a part of it.
    fn assign_part(
        &mut self,
        before: Expression,
        slot: Slot<'_>,
        steps: &[Node<'t>],
        value: Expression,
        at: Location,
    ) -> Result<Expression> {
        let Some(first) = steps.first() else { return self.assign_inner(value, slot, at) };
        match first {
            Node::AIndices(_) => self.assign_element(before, slot, steps, value, at),
            Node::StringValue(field) => {
                let field = field.value().unwrap_or_default();
                self.assign_field(before, slot, field, &steps[1..], value, at)
            }
            _ => {
                let message = "row expansion via \"*\" is not supported here";
                Err(fault("0A000", at, message))
            }
        }
    }

    fn assign_field(
        &mut self,
        before: Expression,
        slot: Slot<'_>,
        field: &str,
        rest: &[Node<'t>],
        value: Expression,
        at: Location,
    ) -> Result<Expression> {
        let base = self.base_type(slot.type_oid);
        let words = self.type_words(slot.type_oid);
        if self.type_of(base).kind != TypeKind::Composite {
            let name = slot.name;
            let message = format!(
                "cannot assign to field \"{field}\" of column \"{name}\" because its type {words} is not a composite type"
            );
            return Err(fault("42804", at, message));
        }
        let relation = self.columns_of(base).expect("a composite type has columns");
        let place = relation
            .columns
            .iter()
            .position(|column| column.as_ref().is_some_and(|column| *column.name == *field));
        let Some(place) = place else {
            let name = slot.name;
            let message = format!(
                "cannot assign to field \"{field}\" of column \"{name}\" because there is no such column in data type {words}"
            );
            return Err(fault("42703", at, message));
        };
        let number = i16::try_from(place + 1).expect("a type has at most 1,600 columns");
        let column = column_of(&relation, number);
        let inner = Slot {
            name: field,
            type_oid: column.type_oid,
            typmod: column.typmod,
            is_element: false,
        };
        let part = Expression::new(
            ExpressionKind::Field(Box::new(before.clone()), number),
            column.type_oid,
            at,
        );
        let value = self.assign_part(part.typmod(column.typmod), inner, rest, value, at)?;
        let kind = ExpressionKind::FieldAssigned(Box::new(before), vec![(number, value)]);
        let row = Expression::new(kind, base, at);
        self.coerce_domain(row, base, -1, slot.type_oid, Wish::IMPLICIT)
    }

    fn assign_element(
        &mut self,
        before: Expression,
        slot: Slot<'_>,
        steps: &[Node<'t>],
        value: Expression,
        at: Location,
    ) -> Result<Expression> {
        let subscripts: Vec<AIndices<'t>> = steps
            .iter()
            .map_while(|step| if let Node::AIndices(one) = step { Some(*one) } else { None })
            .collect();
        let rest = &steps[subscripts.len()..];
        let container = self.container(slot.type_oid, slot.typmod, at)?;
        let is_slice = subscripts.iter().any(|subscript| subscript.is_slice());
        let gives = if is_slice { container.base } else { container.element };
        let inner =
            Slot { name: slot.name, type_oid: gives, typmod: container.typmod, is_element: true };
        let part = if rest.is_empty() {
            Expression::null(gives)
        } else {
            self.subscript(before.clone(), &subscripts, None)?
        };
        let value = self.assign_part(part, inner, rest, value, at)?;
        let base = self.base_type(slot.type_oid);
        let array = self.subscript(before, &subscripts, Some(value))?;
        if array.type_oid == slot.type_oid {
            return Ok(array);
        }
        self.coerce_domain(array, base, -1, slot.type_oid, Wish::IMPLICIT)
    }

    fn assign_inner(
        &mut self,
        value: Expression,
        slot: Slot<'_>,
        at: Location,
    ) -> Result<Expression> {
        let source = value.type_oid;
        let wish = Wish { context: CastContext::Assignment, ..Wish::IMPLICIT };
        let done = self.coerce_to(value, slot.type_oid, slot.typmod, wish)?;
        done.ok_or_else(|| {
            let (name, to, from) =
                (slot.name, self.type_words(slot.type_oid), self.type_words(source));
            let message = if slot.is_element {
                format!("subscripted assignment to \"{name}\" requires type {to} but expression is of type {from}")
            } else {
                format!("subfield \"{name}\" is of type {to} but expression is of type {from}")
            };
            fault("42804", at, message).hint("You will need to rewrite or cast the expression.")
        })
    }
}

fn column_of(relation: &Relation, number: i16) -> &RelationColumn {
    let place = usize::from(number.unsigned_abs()) - 1;
    relation.columns[place].as_ref().expect("the column was found by its name")
}

fn typed_default(mut value: Expression, column: &RelationColumn) -> Expression {
    value.type_oid = column.type_oid;
    value.typmod = column.typmod;
    value.collation = column.collation;
    value
}
