//! `age(moment)`, which counts until today's midnight: `age(current_date::timestamp, moment)`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, TimezoneInfo, VisitorMut,
};

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
    let name = ObjectName::from(vec![Ident::new("current_date")]);
    let date = Expr::Function(Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::None,
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    });
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(date),
        data_type: DataType::Timestamp(None, TimezoneInfo::None),
        array: false,
        format: None,
    }
}
