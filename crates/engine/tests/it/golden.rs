//! Texts that a person can read, kept beside the tests. `UPDATE_GOLDEN=1` writes them anew.

use std::path::Path;

/// Compares `text` with `golden/<name>.txt`.
pub fn check(name: &str, text: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden");
    let path = directory.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(&directory).expect("the directory can be made");
        std::fs::write(&path, text).expect("the golden text can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, text, "{name} differs from its golden text");
}
