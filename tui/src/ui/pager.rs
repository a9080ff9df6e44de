//! Shows texts in the user's pager.
//!
//! Owns the choice of the program and its input: the text is passed only through stdin, never in arguments or the
//! environment. The caller has released the terminal.

use std::{
    ffi::OsString,
    io::{self, Write as _},
    process::{Command, Stdio},
};

/// Exit code of a shell for an unknown command.
const MISSING: i32 = 127;
/// Default if `PAGER` is not set.
const USUAL: &str = "less";

/// Returns the command line of the pager.
pub(crate) fn command(variable: impl Fn(&str) -> Option<OsString>) -> OsString {
    variable("PAGER").unwrap_or_else(|| USUAL.into())
}

/// Shows `text` until the pager exits. Returns an error if the pager failed.
#[expect(clippy::disallowed_methods, reason = "the program that the user reads with")]
pub(crate) fn show(pager: &OsString, text: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("{} could not be started: {error}", pager.display());
    // `PAGER` often contains arguments: `less -S`.
    let mut child = Command::new("sh").arg("-c").arg(pager).stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A closed pipe means that the user left the pager early.
        let _ = stdin.write_all(text.as_bytes());
    }
    match child.wait().map_err(failed)?.code() {
        Some(MISSING) => Err(format!("{} not found; set PAGER to another program", pager.display())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_passed_only_through_stdin() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("got");
        let pager: OsString = format!("{{ cat; env; tr '\\0' '\\n' </proc/$$/cmdline; }} >'{}'", file.display()).into();
        show(&pager, "s3cret body\n").unwrap();
        let got = std::fs::read_to_string(&file).unwrap();
        assert!(got.starts_with("s3cret body\n") && got.contains("PATH="), "{got}");
        assert_eq!(got.matches("s3cret").count(), 1, "{got}");
    }

    #[test]
    fn a_missing_pager_is_reported_and_an_early_exit_is_accepted() {
        let missing = show(&"farrier-no-such-pager -S".into(), "x").unwrap_err();
        assert_eq!(missing, "farrier-no-such-pager -S not found; set PAGER to another program");
        assert_eq!(show(&"true".into(), &"x".repeat(1 << 20)), Ok(()));
        assert_eq!(command(|_| None), "less");
        assert_eq!(command(|name| (name == "PAGER").then(|| "more".into())), "more");
    }
}
