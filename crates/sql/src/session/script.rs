//! A simple Query's text into statements.

use std::sync::Arc;

use engine::types::{Error, Result};

use super::Session;
use super::prepared::is_checkpoint;
use crate::bounded::{check_length, checkpoint};
use crate::statement::{alter_sequence, cursor, rewrite, rights};
use crate::template::{Pieces, parse, plain};

impl Session {
    /// Splits a simple Query's text and plans what can be planned now. Later statements may need
    /// the effects of earlier ones: those are planned when their turn comes. 42601 with a position
    /// before anything runs if any of it does not parse.
    pub async fn parse_script(&mut self, text: &str) -> Result<Vec<Arc<str>>> {
        check_length(text)?;
        let parts = split(text);
        // A lone statement is parsed when it is prepared, with the same positions.
        if let [(0, part)] = parts.as_slice() {
            return Ok(vec![Arc::from(*part)]);
        }
        self.check_grammar(text).await?;
        let script = Arc::<str>::from(text);
        self.on_planning_thread(text.len(), move || check_script(&script)).await?;
        Ok(parts.into_iter().map(|(_, part)| Arc::from(part)).collect())
    }
}

/// Whether all statements of a script parse.
fn check_script(text: &str) -> Result<()> {
    let (mut before, mut counted) = (0, 0);
    for (start, part) in split(text) {
        checkpoint()?;
        before += text[counted..start].chars().count() as u32;
        counted = start;
        let at = |error| moved(error, before);
        let part = &*plain(part).map_err(at)?;
        if is_checkpoint(part)
            || rights::parse(part).map_err(at)?.is_some()
            || alter_sequence::parse(part)?.is_some()
            || cursor::parse(part).map_err(at)?.is_some()
        {
            continue;
        }
        let rewritten = rewrite::rewrite(part);
        parse(rewritten.as_deref().unwrap_or(part)).map_err(at)?;
    }
    Ok(())
}

/// An error whose position counts from an earlier start.
fn moved(error: Error, by: u32) -> Error {
    match error.position {
        Some(position) => error.position(position + by),
        None => error,
    }
}

/// The statements between semicolons, with the byte where each starts; empty ones are left out.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut visible) = (0, false);
    for piece in Pieces::of(text) {
        if piece.of(text) != ";" {
            visible |= piece.is_visible();
            continue;
        }
        if visible {
            parts.push((start, &text[start..piece.start]));
        }
        (start, visible) = (piece.end, false);
    }
    if visible {
        parts.push((start, &text[start..]));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        split(text).into_iter().map(|(_, part)| part.trim()).collect()
    }

    #[test]
    fn semicolons_inside_quotes_and_comments_do_not_split() {
        assert_eq!(parts("a; b;"), ["a", "b"]);
        assert_eq!(parts("select ';' ; select \";\""), ["select ';'", "select \";\""]);
        assert_eq!(parts("a -- ; \n b; c /* ; /* ; */ */"), ["a -- ; \n b", "c /* ; /* ; */ */"]);
        assert_eq!(parts("select $$;$$; select $x$;$$;$x$"), ["select $$;$$", "select $x$;$$;$x$"]);
        assert_eq!(parts("select E'\\';'; b"), ["select E'\\';'", "b"]);
        assert_eq!(parts(" ; -- nothing\n ;"), Vec::<&str>::new());
        assert_eq!(parts("select $1; select 'it''s;'"), ["select $1", "select 'it''s;'"]);
        assert_eq!(parts("a -- ;\r; b"), ["a -- ;", "b"]);
    }
}
