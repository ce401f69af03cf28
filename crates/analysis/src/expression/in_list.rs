//! IN with a list: values without columns are compared as one array where they have a common type.

use syntax::{AExpr, Node};

use crate::analyzer::Analyzer;
use crate::call::OperatorName;
use crate::error::{Location, Result, location};
use crate::facts::{Oid, oid};
use crate::tree::{Expression, ExpressionKind};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn in_list(
        &mut self,
        node: AExpr<'t>,
        value: Expression,
        list: Node<'t>,
    ) -> Result<Expression> {
        let Node::List(list) = list else { panic!("IN has a list") };
        let at = location(node.location());
        let name = OperatorName::of(node.name());
        let is_any = name.name != "<>";
        let (mut plain, mut with_columns) = (Vec::new(), Vec::new());
        for item in list.iter() {
            let item = self.expression(item)?;
            let has_columns = Self::column_within(&item);
            if has_columns { with_columns.push(item) } else { plain.push(item) }
        }
        let mut tests = Vec::new();
        let mut singly = with_columns;
        if plain.len() > 1 {
            match self.array_of_list(&value, &plain) {
                Some((element, array)) => {
                    let array = self.list_as_array(plain, element, array)?;
                    let value = value.clone();
                    tests.push(self.operate_on_elements(name, is_any, value, array, at)?);
                }
                None => singly = in_order(plain, singly),
            }
        } else {
            singly = in_order(plain, singly);
        }
        for item in singly {
            let test = self.compare_rows_or_values(name, value.clone(), item, at)?;
            tests.push(self.boolean(test, "IN")?);
        }
        Ok(Self::joined(tests, !is_any, at))
    }

    /// The common type of the value and the list, and its arrays.
    fn array_of_list(&self, value: &Expression, list: &[Expression]) -> Option<(Oid, Oid)> {
        let types: Vec<Oid> =
            std::iter::once(value).chain(list).map(|value| value.type_oid).collect();
        let element = self.common_of_types(&types).filter(|oid| *oid != oid::RECORD)?;
        let array = self.array_of(element);
        (array != 0).then_some((element, array))
    }

    fn list_as_array(
        &mut self,
        list: Vec<Expression>,
        element: Oid,
        array: Oid,
    ) -> Result<Expression> {
        let elements = list
            .into_iter()
            .map(|item| self.coerce_to_common(item, element, "IN"))
            .collect::<Result<Vec<_>>>()?;
        let kind = ExpressionKind::Array { elements, is_nested: false };
        let collation = self.collation_of(array);
        Ok(Expression::new(kind, array, -1).collation(collation))
    }

    fn compare_rows_or_values(
        &mut self,
        name: OperatorName<'_>,
        left: Expression,
        right: Expression,
        at: Location,
    ) -> Result<Expression> {
        let is_row = |value: &Expression| matches!(value.kind, ExpressionKind::Row(_));
        if is_row(&left) && is_row(&right) {
            return self.compare_rows(name, fields(left), fields(right), at);
        }
        self.operate(name, Some(left), right, at)
    }
}

/// The order of the text, of two parts of a list.
fn in_order(mut plain: Vec<Expression>, with_columns: Vec<Expression>) -> Vec<Expression> {
    plain.extend(with_columns);
    plain
}

/// The fields of ROW(..).
///
/// # Panics
/// When it is none.
pub(crate) fn fields(row: Expression) -> Vec<Expression> {
    match row.kind {
        ExpressionKind::Row(fields) => fields,
        other => panic!("no row: {other:?}"),
    }
}
