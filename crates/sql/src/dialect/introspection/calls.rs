//! Function calls as the parser would have made them.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName,
};

/// `name(arguments)`
pub fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let arguments =
        arguments.into_iter().map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)));
    let list = FunctionArgumentList {
        duplicate_treatment: None,
        args: arguments.collect(),
        clauses: Vec::new(),
    };
    called(name, FunctionArguments::List(list))
}

/// A function that is called by its name alone: CURRENT_DATE and its like.
pub fn word(name: &str) -> Expr {
    called(name, FunctionArguments::None)
}

fn called(name: &str, args: FunctionArguments) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args,
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The function's name without its schema, in lower case.
pub fn plain_name(function: &Function) -> String {
    let last = function.name.0.last().and_then(|part| part.as_ident());
    last.map(|ident| ident.value.to_ascii_lowercase()).unwrap_or_default()
}

/// The arguments, where all are plain expressions.
pub fn arguments(function: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let expr = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.args.iter().map(expr).collect()
}

/// A name in quotes.
pub fn alias(name: &str) -> Ident {
    Ident::with_quote('"', name)
}
