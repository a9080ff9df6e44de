//! The program that is measured.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use serde_json::Value;

use crate::Result;

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");

/// Returns the path of `farrierd`. The first call builds it, in the profile of this benchmark, because cargo builds
/// programs only for benchmarks of their own package.
pub(crate) fn farrierd() -> Result<&'static Path> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if let Some(path) = BUILT.get() {
        return Ok(path);
    }
    let path = build()?;
    Ok(BUILT.get_or_init(|| path))
}

fn build() -> Result<PathBuf> {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    #[expect(clippy::disallowed_methods, reason = "builds the program that is measured")]
    let mut command = Command::new(env!("CARGO"));
    // Build scripts run again if one of these variables has changed, and cargo sets them for this program.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    let output = command
        .args(["build", "--manifest-path", MANIFEST, "--bin", "farrierd", "--profile", profile])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("cargo cannot build farrierd".into());
    }
    let messages = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>().flatten();
    let programs = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    programs.last().ok_or_else(|| "cargo did not say where farrierd is".into())
}
