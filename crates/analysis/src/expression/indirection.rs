//! Fields and subscripts of an expression.

use syntax::{AIndices, AIndirection, Node};

use crate::analyzer::Analyzer;
use crate::error::{Result, fault};
use crate::tree::Expression;

impl<'t> Analyzer<'t, '_> {
    pub(super) fn indirection(&mut self, node: AIndirection<'t>) -> Result<Expression> {
        let mut value = self.expression(node.arg().expect("it is of an expression"))?;
        let at = value.location;
        let mut subscripts: Vec<AIndices<'t>> = Vec::new();
        for step in node.indirection().iter() {
            match step {
                Node::AIndices(subscript) => subscripts.push(subscript),
                Node::AStar(_) => {
                    let message = "row expansion via \"*\" is not supported here";
                    return Err(fault("0A000", at, message));
                }
                Node::StringValue(name) => {
                    value = self.subscripted(value, std::mem::take(&mut subscripts))?;
                    let name = name.value().unwrap_or_default();
                    value = match self.column_or_function(name, value.clone(), at)? {
                        Some(found) => found,
                        None => return Err(self.no_attribute(&value, name, at)),
                    };
                }
                other => panic!("{} is no step of an indirection", other.name()),
            }
        }
        self.subscripted(value, subscripts)
    }

    fn subscripted(
        &mut self,
        value: Expression,
        subscripts: Vec<AIndices<'t>>,
    ) -> Result<Expression> {
        if subscripts.is_empty() {
            return Ok(value);
        }
        self.subscript(value, &subscripts, None)
    }
}
