//! SIMILAR TO: SQL's patterns as regular expressions.

use crate::error::{Result, ValueError};

/// The advanced regular expression that matches what a pattern of SIMILAR TO does. `escape` is the character that takes the next one
/// literally; none where it is empty. A pattern in three parts, for SUBSTRING, has its middle in a group.
///
/// # Errors
/// 22025 for an escape of several characters; 2200C for more than three parts.
pub fn similar_escape(pattern: &str, escape: &str) -> Result<String> {
    let mut letters = escape.chars();
    let (escape, None) = (letters.next(), letters.next()) else {
        return Err(ValueError {
            hint: Some("Escape string must be empty or one character.".into()),
            ..ValueError::new("22025", "invalid escape string")
        });
    };
    let mut out = String::with_capacity(pattern.len() + 8);
    out.push_str("^(?:");
    let (mut is_escaped, mut is_in_brackets, mut separators) = (false, false, 0);
    for letter in pattern.chars() {
        if is_escaped {
            is_escaped = false;
            if letter == '"' && !is_in_brackets {
                out.push_str(separator(separators)?);
                separators += 1;
            } else {
                out.extend(['\\', letter]);
            }
        } else if Some(letter) == escape {
            is_escaped = true;
        } else if is_in_brackets {
            if letter == '\\' {
                out.push('\\');
            }
            out.push(letter);
            is_in_brackets = letter != ']';
        } else {
            is_in_brackets = letter == '[';
            push(&mut out, letter);
        }
    }
    out.push_str(")$");
    Ok(out)
}

/// What stands between the parts: the first takes as little as it can, the second is a group.
fn separator(before: usize) -> Result<&'static str> {
    match before {
        0 => Ok("){1,1}?("),
        1 => Ok("){1,1}(?:"),
        _ => Err(ValueError::new(
            "2200C",
            "SQL regular expression may not contain more than two escape-double-quote separators",
        )),
    }
}

fn push(out: &mut String, letter: char) {
    match letter {
        '%' => out.push_str(".*"),
        '_' => out.push('.'),
        '(' => out.push_str("(?:"),
        '\\' | '.' | '^' | '$' => out.extend(['\\', letter]),
        other => out.push(other),
    }
}
