//! `CURRENT_ROLE`, which the parser of plans takes for a column: the word is reserved, so it is the function wherever it stands unquoted.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArguments, Ident, ObjectName, Statement, VisitMut, VisitorMut,
};

/// The word.
pub const NAME: &str = "current_role";

/// Makes calls of it.
pub fn spell_out(statement: &mut Statement) {
    struct Speller;
    impl VisitorMut for Speller {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Identifier(word) = expr
                && word.quote_style.is_none()
                && word.value.eq_ignore_ascii_case(NAME)
            {
                *expr = Expr::Function(call(word.clone()));
            }
            ControlFlow::Continue(())
        }
    }
    let _ = VisitMut::visit(statement, &mut Speller);
}

fn call(name: Ident) -> Function {
    Function {
        name: ObjectName::from(vec![Ident { value: NAME.to_owned(), ..name }]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::None,
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}
