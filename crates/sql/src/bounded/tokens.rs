//! A text's size and nesting, counted over its tokens, before the parser or anything behind it recurses.
//!
//! Each bracket and CASE that is open is a level, and each operator in a row of them makes the tree of its level one
//! deeper (`a + b + c`, `x::int::text`, `NOT NOT a`, `a IS NULL IS NULL`). AND, OR and set operations do not: their
//! rows are made shallow behind the parser ([`super::flatten`]), but for those of set operations that cannot be.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use engine::types::{Error, Result, SqlState};

use super::too_deep;

/// Bytes of a text that the parser takes.
const LENGTH_LIMIT: usize = 64 << 20;

/// Levels that may be open at a time: the parser recurses for each.
const NESTING_LIMIT: usize = 1_000;

/// How deep the tree of a text may become.
const DEPTH_LIMIT: usize = 5_000;

/// Set operations of one level that are not all of a kind.
const SET_OPERATION_LIMIT: usize = 1_000;

/// 54000 for a text that is too long to be parsed.
pub fn check_length(text: &str) -> Result<()> {
    if text.len() <= LENGTH_LIMIT {
        return Ok(());
    }
    let message = format!("statement too long: {} bytes, at most {LENGTH_LIMIT}", text.len());
    Err(Error::new(SqlState::ProgramLimit, message))
}

/// 54001 for a text whose tree would be too deep.
pub fn check_tokens(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut nesting = Nesting { levels: vec![Level::default()], depth: 0 };
    tokens.iter().try_for_each(|token| nesting.token(&token.token))
}

/// What is open at a token.
struct Nesting {
    levels: Vec<Level>,
    /// Of the tree so far: all levels, and what is in a row in each.
    depth: usize,
}

#[derive(Default)]
struct Level {
    is_case: bool,
    /// Operators in a row.
    operators: usize,
    set_operations: usize,
    /// The first of them, and whether all are as it is.
    first: Option<(Keyword, bool)>,
    is_mixed: bool,
    /// The last word was a set operation, which ALL may follow.
    follows: bool,
}

impl Nesting {
    fn token(&mut self, token: &Token) -> Result<()> {
        match token {
            Token::Whitespace(_) => return Ok(()),
            Token::LParen | Token::LBrace => self.open(false),
            Token::LBracket => {
                self.operator();
                self.open(false);
            }
            Token::RParen | Token::RBracket | Token::RBrace => self.close(),
            Token::Comma | Token::SemiColon => self.end_row(),
            Token::Word(word) => self.word(word.keyword),
            other if is_operand(other) => {}
            _ => self.operator(),
        }
        self.check()
    }

    fn word(&mut self, keyword: Keyword) {
        let follows = std::mem::take(&mut self.top().follows);
        if follows && !matches!(keyword, Keyword::ALL | Keyword::DISTINCT) {
            self.quantify(false);
        }
        match keyword {
            Keyword::ALL | Keyword::DISTINCT if follows => self.quantify(keyword == Keyword::ALL),
            Keyword::CASE => self.open(true),
            Keyword::END if self.top().is_case => self.close(),
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => self.set_operation(keyword),
            Keyword::NOT
            | Keyword::IS
            | Keyword::NOTNULL
            | Keyword::IN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::SIMILAR
            | Keyword::BETWEEN
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::OVERLAPS
            | Keyword::OPERATOR
            | Keyword::INTERVAL
            | Keyword::ARRAY => self.operator(),
            Keyword::AND
            | Keyword::OR
            | Keyword::WHEN
            | Keyword::THEN
            | Keyword::ELSE
            | Keyword::SELECT
            | Keyword::FROM
            | Keyword::WHERE
            | Keyword::ON
            | Keyword::GROUP
            | Keyword::HAVING
            | Keyword::ORDER
            | Keyword::LIMIT
            | Keyword::VALUES
            | Keyword::SET => self.end_row(),
            _ => {}
        }
    }

    fn top(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the outermost level is never closed")
    }

    fn open(&mut self, is_case: bool) {
        self.levels.push(Level { is_case, ..Level::default() });
        self.depth += 1;
    }

    fn close(&mut self) {
        if self.levels.len() > 1 {
            self.end_row();
            self.levels.pop();
            self.depth -= 1;
        }
    }

    fn operator(&mut self) {
        self.top().operators += 1;
        self.depth += 1;
    }

    /// What follows is another tree beside the one before.
    fn end_row(&mut self) {
        self.depth -= std::mem::take(&mut self.top().operators);
    }

    fn set_operation(&mut self, keyword: Keyword) {
        self.end_row();
        let level = self.top();
        level.set_operations += 1;
        level.follows = true;
        match level.first {
            None => level.first = Some((keyword, false)),
            Some((first, _)) => level.is_mixed |= first != keyword || keyword == Keyword::EXCEPT,
        }
    }

    /// ALL or DISTINCT after a set operation.
    fn quantify(&mut self, is_all: bool) {
        let level = self.top();
        match (&mut level.first, level.set_operations) {
            (Some((_, first)), 1) => *first = is_all,
            (Some((_, first)), _) => level.is_mixed |= *first != is_all,
            (None, _) => {}
        }
    }

    fn check(&self) -> Result<()> {
        let level = self.levels.last().expect("the outermost level is never closed");
        let is_long = level.is_mixed && level.set_operations > SET_OPERATION_LIMIT;
        match self.levels.len() > NESTING_LIMIT || self.depth > DEPTH_LIMIT || is_long {
            true => Err(too_deep()),
            false => Ok(()),
        }
    }
}

/// Names, literals and what only separates them.
fn is_operand(token: &Token) -> bool {
    matches!(
        token,
        Token::EOF
            | Token::Number(..)
            | Token::Char(_)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::Placeholder(_)
            | Token::Period
    )
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn is_taken(text: &str) -> bool {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location();
        let checked = check_tokens(&tokens.expect("it has tokens"));
        if let Err(error) = &checked {
            assert_eq!(error.state, SqlState::StatementTooComplex);
        }
        checked.is_ok()
    }

    fn nested(open: &str, close: &str, times: usize) -> String {
        format!("SELECT {}1{}", open.repeat(times), close.repeat(times))
    }

    #[test]
    fn levels_are_counted() {
        for (open, close) in
            [("(", ")"), ("abs(", ")"), ("ARRAY[", "]"), ("CASE WHEN a THEN ", " END")]
        {
            assert!(is_taken(&nested(open, close, NESTING_LIMIT - 1)), "{open}");
            assert!(!is_taken(&nested(open, close, NESTING_LIMIT)), "{open}");
        }
        assert!(is_taken(&format!("SELECT {}", "(1), ".repeat(10 * NESTING_LIMIT))));
        assert!(!is_taken(&"(".repeat(1_000_000)));
        assert!(is_taken(&")".repeat(1_000_000)), "what closes nothing is the parser's to refuse");
    }

    #[test]
    fn rows_of_operators_are_counted() {
        let rows = [" + a", "::int", " IS NULL", " || 'a'", " COLLATE x", "[1]", " = a", " IN (1)"];
        for operator in rows {
            assert!(is_taken(&format!("SELECT a{}", operator.repeat(DEPTH_LIMIT / 2))));
            let long = format!("SELECT a{}", operator.repeat(DEPTH_LIMIT + 1));
            assert!(!is_taken(&long), "{operator}");
        }
        for operator in ["NOT ", "- ", "~ "] {
            assert!(!is_taken(&format!("SELECT {}a", operator.repeat(DEPTH_LIMIT + 1))));
        }
        // Each by itself, however many there are.
        let many = 4 * DEPTH_LIMIT;
        assert!(is_taken(&format!("SELECT {}", "a + b, ".repeat(many))));
        assert!(is_taken(&format!("SELECT a WHERE {}", "NOT a = 1 AND ".repeat(many))));
        assert!(is_taken(&format!("SELECT a WHERE {}", "(a = 1 AND b LIKE 'x') OR ".repeat(many))));
    }

    #[test]
    fn levels_and_rows_add_up() {
        let deep = "(a + a + a + a + a + ".repeat(NESTING_LIMIT - 2);
        assert!(!is_taken(&format!("SELECT {deep}")));
    }

    #[test]
    fn set_operations_of_a_kind_may_be_many() {
        let many = 3 * SET_OPERATION_LIMIT;
        for one in ["SELECT 1 UNION ALL ", "SELECT 1 UNION ", "SELECT 1 INTERSECT "] {
            assert!(is_taken(&one.repeat(many)), "{one}");
        }
        let mixed = "SELECT 1 UNION ALL SELECT 2 UNION ";
        for one in ["SELECT 1 EXCEPT ", mixed, "SELECT 1 UNION SELECT 2 INTERSECT "] {
            assert!(!is_taken(&one.repeat(many)), "{one}");
        }
    }

    #[test]
    fn words_in_quotes_and_comments_do_not_count() {
        assert!(is_taken(&format!(
            "SELECT '{}', \"{}\" -- {}",
            "(".repeat(9_000),
            "(".repeat(9_000),
            "(".repeat(9_000)
        )));
    }
}
