//! PostgreSQL's tree of a text, or why it has none.
//!
//! In comes a text that no template is known for, or a script of several statements; out goes its tree, or 42601 or what else
//! PostgreSQL's scanner and grammar say of it, in their words and with their position. What is planned goes on to the parser that
//! plans are made of, which may still refuse it by name. Called by `session` and `statement::command`.

use analysis::AnalysisError;
use engine::types::{Error, Result, SqlState};
use syntax::{SyntaxError, Tree};

use crate::bounded::check_length;

/// Bytes of a text that is parsed where it was received: a third of a millisecond.
pub const SHORT_TEXT: usize = 8 << 10;

/// A text's tree; what PostgreSQL's grammar refuses is refused.
pub fn tree(text: &str) -> Result<Tree> {
    check_length(text)?;
    syntax::parse(text).map_err(refusal)
}

/// What PostgreSQL says beside its answer: names that are cut.
pub fn notices(tree: &Tree) -> Vec<Error> {
    tree.notices().iter().map(|notice| refusal(notice.error.clone())).collect()
}

fn refusal(refused: SyntaxError) -> Error {
    let said = Error::new(state_of(refused.sqlstate()), refused.message);
    with_fields(said, refused.detail, refused.hint, refused.position)
}

/// What analysis says of a statement.
pub fn refusal_of_analysis(refused: AnalysisError) -> Error {
    let said = Error::new(state_of(refused.sqlstate), refused.message);
    with_fields(said, refused.detail, refused.hint, refused.position)
}

fn state_of(code: &str) -> SqlState {
    SqlState::of_code(code).unwrap_or(SqlState::SyntaxError)
}

fn with_fields(
    mut error: Error,
    detail: Option<String>,
    hint: Option<String>,
    position: Option<usize>,
) -> Error {
    if let Some(detail) = detail {
        error = error.detail(detail);
    }
    if let Some(hint) = hint {
        error = error.hint(hint);
    }
    match position.and_then(|position| u32::try_from(position).ok()) {
        Some(position) => error.position(position),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (&'static str, String, Option<u32>) {
        let error = tree(text).expect_err(text);
        (error.state.code(), error.message.clone(), error.position)
    }

    #[test]
    fn what_postgresql_refuses_is_refused_in_its_words() {
        let near = |word: &str| format!("syntax error at or near \"{word}\"");
        assert_eq!(refused("SELECT 'é' FROM FROM t"), ("42601", near("FROM"), Some(17)));
        assert_eq!(refused("SELEC 1"), ("42601", near("SELEC"), Some(1)));
        let ended = "syntax error at end of input".to_owned();
        assert_eq!(refused("SELECT 1 +"), ("42601", ended, Some(11)));
        let open = "unterminated quoted string at or near \"'a\"".to_owned();
        assert_eq!(refused("SELECT 'a"), ("42601", open, Some(8)));
    }

    #[test]
    fn what_it_takes_has_a_tree() {
        let taken = ["", "-- nothing", "SELECT 1; SELECT 2", "TABLE t", "SET a.b = c"];
        let statements = taken.map(|text| tree(text).expect(text).statements().len());
        assert_eq!(statements, [0, 0, 2, 1, 1]);
    }

    #[test]
    fn cut_names_are_told() {
        let name = "Ab".repeat(40);
        let tree = tree(&format!("SELECT {name} AS \"{name}\"")).expect("it is SQL");
        let told = notices(&tree);
        assert_eq!(told.len(), 2);
        assert_eq!(told[0].state, SqlState::NameTooLong);
        assert!(told[0].message.starts_with("identifier \"abab"), "{}", told[0].message);
    }
}
