//! `age(moment)`, which counts until today's midnight: `age(current_date::timestamp, moment)`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    TimezoneInfo, VisitorMut,
};

use super::introspection::word;

/// Puts the first argument there.
pub struct Ages;

impl VisitorMut for Ages {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr
            && name.to_string().eq_ignore_ascii_case("age")
            && list.args.len() == 1
        {
            list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(today())));
        }
        ControlFlow::Continue(())
    }
}

fn today() -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(word("current_date")),
        data_type: DataType::Timestamp(None, TimezoneInfo::None),
        array: false,
        format: None,
    }
}
