//! `json_agg` and `json_object_agg`: functions of the arrays of all values.
//!
//! In come calls as they are written, out goes `__json_agg(array_agg(x ORDER BY ..), is JSON, is a row)`: an array does not know that its
//! items are JSON.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArguments, Ident, ObjectName, Value, VisitorMut,
};
use engine::types::{Error, SqlState};

use super::introspection::{arguments, call, plain_name};
use super::json::{Argument, MARK, MARKED, ROW, external, text_of, write_argument, write_string};
use crate::template::is_json;

const ELEMENTS: &str = "__json_agg";
const PAIRS: &str = "__json_object_agg";

/// Makes functions of arrays of such calls.
pub struct JsonAggregates;

impl VisitorMut for JsonAggregates {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        if BUILDERS.contains(&&*plain_name(function)) {
            mark(function);
        }
        let flag = |is: bool| Expr::value(Value::Boolean(is));
        let given = arguments(function).filter(|_| function.over.is_none());
        match (&*plain_name(function), given.as_deref()) {
            ("json_agg", Some([item])) => {
                let is_row = matches!(item, Expr::Function(row) if plain_name(row) == ROW);
                let flags = [flag(is_row || is_json(item)), flag(is_row)];
                let array = collected(function, item);
                *expr = call(ELEMENTS, [array].into_iter().chain(flags).collect());
            }
            ("json_object_agg", Some([key, value])) => {
                let (keys, values) = (collected(function, key), collected(function, value));
                *expr = call(PAIRS, vec![keys, values, flag(is_json(value))]);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Functions whose arguments may be JSON.
const BUILDERS: [&str; 3] = ["json_build_array", "json_build_object", "to_json"];

/// Marks arguments that are JSON.
fn mark(function: &mut Function) {
    use datafusion::sql::sqlparser::ast::{FunctionArg::Unnamed, FunctionArgExpr};
    let FunctionArguments::List(list) = &mut function.args else { return };
    for argument in &mut list.args {
        if let Unnamed(FunctionArgExpr::Expr(expr)) = argument
            && is_json(expr)
        {
            *expr = call(MARKED, vec![expr.clone()]);
        }
    }
}

/// The array of what an argument is in all rows.
fn collected(function: &Function, argument: &Expr) -> Expr {
    use datafusion::sql::sqlparser::ast::{FunctionArg::Unnamed, FunctionArgExpr};
    let mut aggregate = function.clone();
    aggregate.name = ObjectName::from(vec![Ident::new("array_agg")]);
    if let FunctionArguments::List(list) = &mut aggregate.args {
        list.args = vec![Unnamed(FunctionArgExpr::Expr(argument.clone()))];
    }
    Expr::Function(aggregate)
}

/// The functions of arrays.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    let function = |name| {
        let signature = Signature::any(3, Volatility::Stable);
        Arc::new(ScalarUDF::new_from_impl(Collected { name, signature }))
    };
    vec![function(ELEMENTS), function(PAIRS)]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Collected {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Collected {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let mark = HashMap::from([(MARK.to_owned(), String::new())]);
        Ok(Arc::new(Field::new(self.name, DataType::Utf8View, true).with_metadata(mark)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = args.args.iter().map(|arg| arg.to_array(args.number_rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let [first, second, third] = &arrays[..] else {
            return internal_err!("JSON of arrays has three arguments");
        };
        let mut built = StringViewBuilder::with_capacity(args.number_rows);
        for row in 0..args.number_rows {
            let Some(lists) = first.as_list_opt::<i32>().filter(|lists| lists.is_valid(row)) else {
                built.append_null();
                continue;
            };
            let flag = third.as_boolean().value(row);
            built.append_value(match self.name {
                ELEMENTS => {
                    let is_json = second.as_boolean().value(row);
                    elements(&Argument { values: lists.value(row), is_json }, flag)?
                }
                _ => {
                    let values = second.as_list::<i32>().value(row);
                    pairs(
                        &Argument { values: lists.value(row), is_json: false },
                        &Argument { values, is_json: flag },
                    )?
                }
            });
        }
        Ok(ColumnarValue::Array(Arc::new(built.finish())))
    }
}

/// `[value, value]`; rows and arrays each on a line.
fn elements(items: &Argument, is_row: bool) -> Result<String> {
    let is_array = matches!(items.values.data_type(), DataType::List(_));
    let mut out = "[".to_owned();
    for item in 0..items.values.len() {
        if item > 0 {
            out.push_str(", ");
            if items.values.is_valid(item) && (is_row || is_array) {
                out.push_str("\n ");
            }
        }
        write_argument(items, item, &mut out)?;
    }
    out.push(']');
    Ok(out)
}

/// `{ "key" : value, "key" : value }`
fn pairs(keys: &Argument, values: &Argument) -> Result<String> {
    let mut out = "{ ".to_owned();
    for item in 0..keys.values.len() {
        if item > 0 {
            out.push_str(", ");
        }
        if keys.values.is_null(item) {
            let message = "field name must not be null";
            return Err(external(Error::new(SqlState::InvalidParameterValue, message)));
        }
        write_string(&text_of(&keys.values, item)?, &mut out);
        out.push_str(" : ");
        write_argument(values, item, &mut out)?;
    }
    out.push_str(" }");
    Ok(out)
}
