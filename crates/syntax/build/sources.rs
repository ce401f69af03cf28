//! Where Cargo has put the C files.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crate with the sources; its version stands in `Cargo.toml`.
const SOURCES: &str = "pg_query";

/// Where Cargo has put the sources: asked without the network first, for they are usually there.
pub fn sources() -> PathBuf {
    let offline = metadata(&["--offline"]);
    let listing = offline.or_else(|_| metadata(&[])).unwrap_or_else(|fault| {
        panic!("cargo metadata does not tell where the sources of {SOURCES} are: {fault}")
    });
    let packages = listing["packages"].as_array().expect("cargo metadata lists packages");
    let package = packages.iter().find(|package| package["name"] == SOURCES);
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let manifest = manifest.unwrap_or_else(|| panic!("{SOURCES} is not in Cargo.lock"));
    Path::new(manifest).parent().expect("a manifest lies in a folder").to_owned()
}

fn metadata(options: &[&str]) -> Result<serde_json::Value, String> {
    let mut command = Command::new(env::var_os("CARGO").expect("Cargo sets it"));
    command.args(["metadata", "--format-version", "1", "--locked"]).args(options);
    let output = command.output().map_err(|fault| fault.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|fault| fault.to_string())
}
