//! Views: a name and a query.

/// A view's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewDefinition {
    /// The name as stored, in `public`.
    pub name: String,
    /// The query, in SQL.
    pub text: String,
    /// Names of its columns; empty: the query's own.
    pub columns: Vec<String>,
}

fn put(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend_from_slice(&(count as u32).to_le_bytes());
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

fn take_count(bytes: &mut &[u8]) -> Option<usize> {
    let count = take(bytes, 4)?;
    Some(u32::from_le_bytes(count.try_into().ok()?) as usize)
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let length = take_count(bytes)?;
    String::from_utf8(take(bytes, length)?.to_vec()).ok()
}

impl ViewDefinition {
    /// All views as bytes, for the engine's key-value catalog.
    pub fn encode_all<'a>(views: impl IntoIterator<Item = &'a ViewDefinition>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for view in views {
            put(&mut bytes, &view.name);
            put(&mut bytes, &view.text);
            put_count(&mut bytes, view.columns.len());
            view.columns.iter().for_each(|column| put(&mut bytes, column));
        }
        bytes
    }

    /// What `encode_all` wrote; a damaged tail is left out.
    pub fn decode_all(mut bytes: &[u8]) -> Vec<ViewDefinition> {
        std::iter::from_fn(|| ViewDefinition::decode(&mut bytes)).collect()
    }

    fn decode(bytes: &mut &[u8]) -> Option<ViewDefinition> {
        let name = take_text(bytes)?;
        let text = take_text(bytes)?;
        let count = take_count(bytes)?;
        let columns = (0..count).map(|_| take_text(bytes)).collect::<Option<_>>()?;
        Some(ViewDefinition { name, text, columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_survive_their_encoding() {
        let view = |name: &str, columns: &[&str]| ViewDefinition {
            name: name.to_owned(),
            text: "SELECT 1".to_owned(),
            columns: columns.iter().map(|c| c.to_string()).collect(),
        };
        let views = [view("a", &[]), view("b", &["x", "y"])];
        let bytes = ViewDefinition::encode_all(&views);
        assert_eq!(ViewDefinition::decode_all(&bytes), views);
        assert_eq!(ViewDefinition::decode_all(&bytes[..bytes.len() - 1]), views[..1]);
    }
}
