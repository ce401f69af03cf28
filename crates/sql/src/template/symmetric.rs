//! `a BETWEEN SYMMETRIC b AND c`, which the parser does not know.
//!
//! The tokens `SYMMETRIC b` become `__symmetric(b)` in front of the parser, with the places that they had; behind it
//! the whole becomes what PostgreSQL makes of it: `a BETWEEN b AND c OR a BETWEEN c AND b`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Statement,
    UnaryOperator, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

const MARK: &str = "__symmetric";

/// The tokens that the parser gets.
pub fn mark(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut marked: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 4);
    // Depths of brackets and CASEs at which an AND ends the operand.
    let (mut open, mut depth) = (Vec::new(), 0);
    let mut after_between = false;
    for token in tokens {
        let word = keyword(&token.token);
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            _ if word == Some(Keyword::CASE) => depth += 1,
            _ if word == Some(Keyword::END) => depth -= 1,
            _ => {}
        }
        if after_between && is_symmetric(&token.token) {
            let at = |token| TokenWithSpan { token, span: marked.last().expect("BETWEEN").span };
            let (name, parenthesis) = (at(Token::make_word(MARK, None)), at(Token::LParen));
            marked.extend([name, parenthesis]);
            open.push(depth);
            after_between = false;
            continue;
        }
        if word == Some(Keyword::AND) && open.last() == Some(&depth) {
            open.pop();
            marked.push(TokenWithSpan { token: Token::RParen, span: token.span });
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            after_between = word == Some(Keyword::BETWEEN);
        }
        marked.push(token);
    }
    marked
}

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn is_symmetric(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case("symmetric")
        }
        _ => false,
    }
}

/// The statement without the mark.
pub fn spell_out(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Symmetric);
}

struct Symmetric;

impl VisitorMut for Symmetric {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Between { expr: tested, negated, low, high } = expr
            && let Some(low) = marked(low)
        {
            let between = |low: &Expr, high: &Expr| Expr::Between {
                expr: tested.clone(),
                negated: false,
                low: Box::new(low.clone()),
                high: Box::new(high.clone()),
            };
            let either = Expr::Nested(Box::new(Expr::BinaryOp {
                left: Box::new(between(&low, high)),
                op: BinaryOperator::Or,
                right: Box::new(between(high, &low)),
            }));
            *expr = match *negated {
                true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(either) },
                false => either,
            };
        }
        ControlFlow::Continue(())
    }
}

/// The operand inside the mark.
fn marked(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(inner))]
            if function.name.to_string() == MARK =>
        {
            Some(inner.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn either_order_of_the_bounds_counts() {
        let spelled = |text: &str| parse(text).expect("parses")[0].to_string();
        assert_eq!(
            spelled("SELECT a BETWEEN SYMMETRIC CASE WHEN b AND c THEN 1 END AND (d AND e)"),
            "SELECT (a BETWEEN CASE WHEN b AND c THEN 1 END AND (d AND e) OR a BETWEEN (d AND e) \
             AND CASE WHEN b AND c THEN 1 END)"
        );
        assert_eq!(
            spelled("SELECT 1 WHERE a NOT BETWEEN symmetric f(b, 2) AND 3 AND c"),
            "SELECT 1 WHERE NOT (a BETWEEN f(b, 2) AND 3 OR a BETWEEN 3 AND f(b, 2)) AND c"
        );
        let quoted = "SELECT a BETWEEN \"symmetric\" AND 2 FROM t";
        assert_eq!(spelled(quoted), quoted);
    }
}
