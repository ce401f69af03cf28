//! What parsing may cost: the parser goes back and tries again, at each level of nesting if need be, so that what lies inside
//! thirty levels is read a thousand million times.
//!
//! [`Counted`] is PostgreSQL's dialect as the parser has it, but for what reads an argument twice, and counts what the parser begins.
//! A text that takes much more than others of its length gets 54001, and one that nobody waits for any more ends.

use std::any::TypeId;
use std::cell::Cell;

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::checkpoint;

/// Operands that a text may begin, for each of its tokens and besides: statements as people write them begin about one for each.
const STEPS_PER_TOKEN: usize = 64;
const STEPS: usize = 100_000;

/// Between two looks whether anybody waits.
const STEPS_PER_LOOK: usize = 1_024;

/// A parser's dialect for one text.
#[derive(Debug)]
pub struct Counted {
    left: Cell<usize>,
}

impl Counted {
    /// For a text of so many tokens.
    pub fn new(tokens: usize) -> Counted {
        Counted { left: Cell::new(tokens.saturating_mul(STEPS_PER_TOKEN).saturating_add(STEPS)) }
    }

    fn step(&self) -> Result<(), ParserError> {
        let left = self.left.get();
        let is_ended = left == 0 || left.is_multiple_of(STEPS_PER_LOOK) && checkpoint().is_err();
        match is_ended {
            // The one fault that the parser does not try to go around.
            true => Err(ParserError::RecursionLimitExceeded),
            false => {
                self.left.set(left - 1);
                Ok(())
            }
        }
    }
}

/// What PostgreSQL's dialect says.
macro_rules! as_postgresql {
    ($($name:ident),* $(,)?) => {
        $(fn $name(&self) -> bool {
            PostgreSqlDialect {}.$name()
        })*
    };
}

impl Dialect for Counted {
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn parse_prefix(&self, _parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        self.step().err().map(Err)
    }

    /// With expressions for names the parser reads each argument twice, and what is nested in it four times. A name that is a
    /// word or a string (`days => 3`) it still takes; only JSON's constructors, which are not there, have others.
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    as_postgresql!(
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        supports_group_by_expr,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_listen_notify,
        supports_factorial_operator,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_colon_operator,
        supports_empty_projections,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_numeric_literal_underscores,
        supports_array_typedef_with_brackets,
        supports_geometric_types,
        supports_set_names,
        supports_alter_column_type_using,
        supports_notnull_operator,
        supports_interval_options,
        supports_insert_table_alias,
        supports_create_table_like_parenthesized,
        supports_select_wildcard_with_alias,
        supports_comma_separated_trim,
        supports_xml_expressions,
        supports_comment_optimizer_hint,
    );

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        PostgreSqlDialect {}.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        PostgreSqlDialect {}.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        PostgreSqlDialect {}.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        PostgreSqlDialect {}.is_identifier_part(ch)
    }

    fn is_reserved_for_identifier(&self, kw: Keyword) -> bool {
        PostgreSqlDialect {}.is_reserved_for_identifier(kw)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        PostgreSqlDialect {}.is_custom_operator_part(ch)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        PostgreSqlDialect {}.get_next_precedence(parser)
    }

    fn prec_value(&self, prec: Precedence) -> u8 {
        PostgreSqlDialect {}.prec_value(prec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, dialect: &Counted) -> Result<(), ParserError> {
        let parser = Parser::new(dialect).with_recursion_limit(10_000);
        parser.try_with_sql(text)?.parse_statements().map(drop)
    }

    /// Operands that the parser begins for a text that it takes.
    fn steps(text: &str) -> usize {
        let dialect = Counted { left: Cell::new(usize::MAX) };
        assert_eq!(parse(text, &dialect), Ok(()), "{text}");
        usize::MAX - dialect.left.get()
    }

    fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
        format!("SELECT {}{inner}{}", open.repeat(times), close.repeat(times))
    }

    #[test]
    fn what_is_nested_is_read_once() {
        let forms = [
            ("(", ")"),
            ("lower(", ")"),
            ("coalesce(", ", 1)"),
            ("coalesce(1, ", ")"),
            ("nullif(", ", 1)"),
            ("greatest(2, ", ", 1)"),
            ("replace(", ", 'a', 'b')"),
            ("f(name => ", ")"),
            ("CASE WHEN a = 1 THEN 2 ELSE ", " END"),
            ("CASE WHEN a = 1 THEN ", " END"),
            ("CASE WHEN ", " = 1 THEN 2 END"),
            ("CASE ", " WHEN 1 THEN 2 END"),
            ("CAST(", " AS int)"),
            ("ARRAY[", "]"),
            ("substring(", " FROM 1 FOR 2)"),
            ("position('a' IN ", ")"),
            ("extract(year FROM ", ")"),
            ("- ", ""),
        ];
        for (open, close) in forms {
            let one = steps(&nested(open, "a", close, 1));
            let many = steps(&nested(open, "a", close, 40));
            assert!(many <= 40 * one, "{many} steps for 40 of {open}..{close}, {one} for one");
        }
    }

    #[test]
    fn what_goes_back_at_every_level_ends() {
        let tried_again = [
            nested("abs(", "()", ")", 40),
            nested("CASE WHEN ", "()", " THEN 1 END", 40),
            format!("SELECT * FROM {}SELECT 1{}", "(".repeat(40), ")".repeat(40)),
            format!("SELECT * FROM {}t JOIN (){}", "(".repeat(40), ")".repeat(40)),
            format!("DELETE FROM {}1{}", "(SELECT ".repeat(40), ")".repeat(40)),
        ];
        for text in tried_again {
            let dialect = Counted::new(text.len());
            // Some of it is taken; none of it for ever.
            let _ = parse(&text, &dialect);
        }
    }

    #[test]
    fn what_takes_more_than_it_may_is_too_complex() {
        let dialect = Counted { left: Cell::new(10) };
        assert!(parse("SELECT 1 + 2 + 3", &dialect).is_ok());
        let parsed = parse("SELECT 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9", &dialect);
        assert_eq!(parsed, Err(ParserError::RecursionLimitExceeded));
    }

    #[test]
    fn arguments_may_have_names() {
        for text in ["SELECT make_interval(days => 3)", "SELECT json_object('a': b)"] {
            assert!(steps(text) > 0);
        }
    }
}
