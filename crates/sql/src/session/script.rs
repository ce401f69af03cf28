//! A simple Query's text into statements.

use std::ops::Range;
use std::sync::Arc;

use engine::types::Result;

use super::Session;
use crate::template::{SHORT_TEXT, tree};

impl Session {
    /// Splits a simple Query's text. What PostgreSQL's grammar refuses of it is refused before anything runs, with a position in the
    /// whole text; what else is wrong with a statement is said when its turn comes, for it may need the effects of earlier ones.
    pub async fn parse_script(&mut self, text: &str) -> Result<Vec<Arc<str>>> {
        // A lone statement is parsed when it is prepared, with the same positions, or known.
        if !may_be_several(text) || self.known(text, &[]).is_some() {
            return Ok(vec![Arc::from(text)]);
        }
        let places = if text.len() <= SHORT_TEXT {
            split(text)?
        } else {
            let own = Arc::<str>::from(text);
            self.on_planning_thread(text.len(), move || split(&own)).await?
        };
        Ok(places.into_iter().map(|place| Arc::from(&text[place])).collect())
    }
}

/// Whether there is a semicolon in the midst of the text.
fn may_be_several(text: &str) -> bool {
    text.trim_end_matches([';', ' ', '\t', '\r', '\n']).contains(';')
}

/// Where the statements of a text stand; empty ones are left out.
fn split(text: &str) -> Result<Vec<Range<usize>>> {
    let tree = tree(text)?;
    Ok(tree.statements().map(|statement| statement.range).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        let places = split(text).expect(text);
        places.into_iter().map(|place| text[place].trim()).collect()
    }

    #[test]
    fn semicolons_inside_quotes_and_comments_do_not_split() {
        assert_eq!(parts("end; abort;"), ["end", "abort"]);
        assert_eq!(parts("select ';' ; table \";\""), ["select ';'", "table \";\""]);
        assert_eq!(
            parts("begin -- ; \n work; end /* ; /* ; */ */"),
            ["begin -- ; \n work", "end /* ; /* ; */ */"]
        );
        assert_eq!(parts("select $$;$$; select $x$;$$;$x$"), ["select $$;$$", "select $x$;$$;$x$"]);
        assert_eq!(parts("select E'\\';'; end"), ["select E'\\';'", "end"]);
        assert_eq!(parts(" ; -- nothing\n ;"), Vec::<&str>::new());
        assert_eq!(parts("select $1; select 'it''s;'"), ["select $1", "select 'it''s;'"]);
    }

    #[test]
    fn lone_statements_are_not_parsed_here() {
        assert!(!may_be_several("SELECT 1 ; \n;"));
        assert!(may_be_several("SELECT 1; SELECT 2") && may_be_several("SELECT ';'"));
    }
}
