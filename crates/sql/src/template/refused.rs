//! What PostgreSQL's grammar refuses, in its words and with its position.
//!
//! In comes a text that no template is known for, or a script of several statements; out goes 42601, or what else PostgreSQL's
//! scanner and grammar say of it. What they take goes on to the parser that plans are made of, which may still refuse it by
//! name. Called by `session`.

use engine::types::{Error, Result, SqlState};
use syntax::SyntaxError;

use crate::bounded::check_length;

/// Bytes of a text that is parsed where it was received: a third of a millisecond.
pub const SHORT_TEXT: usize = 8 << 10;

/// Refuses what PostgreSQL's grammar refuses.
pub fn check(text: &str) -> Result<()> {
    check_length(text)?;
    syntax::parse(text).map(drop).map_err(refusal)
}

fn refusal(refused: SyntaxError) -> Error {
    let state = SqlState::of_code(refused.sqlstate()).unwrap_or(SqlState::SyntaxError);
    let mut error = Error::new(state, refused.message);
    if let Some(detail) = refused.detail {
        error = error.detail(detail);
    }
    if let Some(hint) = refused.hint {
        error = error.hint(hint);
    }
    match refused.position.and_then(|position| u32::try_from(position).ok()) {
        Some(position) => error.position(position),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (&'static str, String, Option<u32>) {
        let error = check(text).expect_err(text);
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
    fn what_it_takes_is_taken() {
        let taken = ["", "-- nothing", "SELECT 1; SELECT 2", "TABLE t", "SET a.b = c"];
        taken.iter().for_each(|text| assert!(check(text).is_ok(), "{text}"));
    }
}
