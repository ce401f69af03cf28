//! Statements of psql's scripts.

/// The statements of a script, without psql's commands and COPY's data.
pub fn statements(script: &str) -> Vec<String> {
    let mut kept = String::new();
    let mut in_data = false;
    for line in script.lines() {
        if in_data {
            in_data = line != "\\.";
            continue;
        }
        let lower = line.to_ascii_lowercase();
        in_data = lower.starts_with("copy ") && lower.contains("from stdin");
        if !line.trim_start().starts_with('\\') && !in_data {
            kept.push_str(line.split(" \\").next().unwrap_or(line));
            kept.push('\n');
        }
    }
    cut(&kept)
}

/// Cuts at semicolons outside of literals, comments and parentheses.
fn cut(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let (mut found, mut start, mut at, mut depth) = (Vec::new(), 0, 0, 0_i32);
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => {
                let escapes = quote == b'\'' && at > 0 && matches!(bytes[at - 1], b'e' | b'E');
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if escapes && bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'-' if bytes[at..].starts_with(b"--") => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            b'/' if bytes[at..].starts_with(b"/*") => {
                at += text[at..].find("*/").unwrap_or(text.len() - at);
            }
            b'$' => {
                let tag = text[at + 1..].find('$').map(|end| &text[at..at + end + 2]);
                let is_tag = |tag: &&str| {
                    tag[1..tag.len() - 1]
                        .bytes()
                        .all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
                };
                if let Some(tag) = tag.filter(is_tag) {
                    let rest = at + tag.len();
                    let end = text[rest..].find(tag);
                    at = end.map_or(text.len(), |end| rest + end + tag.len() - 1);
                }
            }
            b'(' => depth += 1,
            b')' => depth -= 1,
            b';' if depth <= 0 => {
                found.push(text[start..at].trim().to_owned());
                (start, depth) = (at + 1, 0);
            }
            _ => {}
        }
        at += 1;
    }
    found.push(text[start.min(text.len())..].trim().to_owned());
    found.retain(|statement| !statement.is_empty());
    found
}
