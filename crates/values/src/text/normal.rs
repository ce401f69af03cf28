//! Unicode's normal forms.

use unicode_normalization::UnicodeNormalization;

use crate::error::{Result, ValueError};

/// A text in one of the forms NFC, NFD, NFKC and NFKD.
///
/// # Errors
/// 22023 for another form.
pub(super) fn normalized(text: &str, form: &str) -> Result<String> {
    let is = |name: &str| form.eq_ignore_ascii_case(name);
    if is("NFC") {
        Ok(text.nfc().collect())
    } else if is("NFD") {
        Ok(text.nfd().collect())
    } else if is("NFKC") {
        Ok(text.nfkc().collect())
    } else if is("NFKD") {
        Ok(text.nfkd().collect())
    } else {
        Err(ValueError::new("22023", format!("invalid normalization form: {form}")))
    }
}
