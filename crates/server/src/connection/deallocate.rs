//! Which statements a DEALLOCATE or DISCARD names.

/// What to forget.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// DEALLOCATE ALL, DISCARD ALL.
    All,
    /// DEALLOCATE name, folded as identifiers are.
    One(String),
}

/// What the statement forgets, if it is one of these.
pub fn target(text: &str) -> Option<Target> {
    let text = text.trim().trim_end_matches(';').trim_end();
    // Nearly all statements leave here.
    let rest = match text.as_bytes().first()? {
        b'd' | b'D' => word(text, "discard").or_else(|| word(text, "deallocate"))?,
        _ => return None,
    };
    if rest.eq_ignore_ascii_case("all") {
        return Some(Target::All);
    }
    let rest = word(text, "deallocate")?;
    let rest = word(rest, "prepare").unwrap_or(rest);
    match rest.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => Some(Target::One(quoted.replace("\"\"", "\""))),
        None if rest.eq_ignore_ascii_case("all") => Some(Target::All),
        None => Some(Target::One(rest.to_lowercase())),
    }
}

/// What follows a first word and blanks.
fn word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    let is_whole = head.eq_ignore_ascii_case(word) && rest.starts_with(char::is_whitespace);
    is_whole.then(|| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_forget() {
        let one = |name: &str| Some(Target::One(name.to_string()));
        assert_eq!(target("DEALLOCATE Foo"), one("foo"));
        assert_eq!(target(" deallocate prepare \"S_1\" ; "), one("S_1"));
        assert_eq!(target("deallocate all"), Some(Target::All));
        assert_eq!(target("DISCARD ALL;"), Some(Target::All));
    }

    #[test]
    fn statements_that_do_not() {
        for text in ["", "SELECT 1", "DELETE FROM all", "DISCARD PLANS", "deallocate"] {
            assert_eq!(target(text), None, "{text}");
        }
    }
}
