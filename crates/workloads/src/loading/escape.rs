//! Values in the text format of COPY, whatever they hold.

/// Appends a text with what COPY would take for structure escaped.
pub fn append_text(out: &mut Vec<u8>, text: &[u8]) {
    // Runs without special bytes are the rule.
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r'))
    {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\\');
        out.push(match rest[at] {
            b'\t' => b't',
            b'\n' => b'n',
            b'\r' => b'r',
            other => other,
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends bytes as `bytea`: `\x` and hexadecimal digits, the backslash escaped.
pub fn append_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\\\x");
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// An identifier as SQL takes it literally.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_is_escaped() {
        let mut out = Vec::new();
        append_text(&mut out, b"a\tb\\c\nd\re");
        assert_eq!(out, b"a\\tb\\\\c\\nd\\re");
        out.clear();
        append_bytes(&mut out, &[0, 255]);
        assert_eq!(out, b"\\\\x00ff");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
