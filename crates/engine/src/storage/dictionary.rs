//! Distinct strings of a column, numbered in order of arrival.

/// Append-only; a code once given stays. One writer, readers without locks.
#[derive(Debug)]
pub struct Dictionary {}

impl Dictionary {
    /// Codes given so far.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// Whether no code was given yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string of a code.
    pub fn get(&self, code: u32) -> &str {
        let _ = code;
        todo!()
    }

    /// The code of a string, if any row ever had it.
    pub fn code(&self, value: &str) -> Option<u32> {
        let _ = value;
        todo!()
    }
}
