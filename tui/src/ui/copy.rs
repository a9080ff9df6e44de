//! Copies text to the clipboard.
//!
//! tmux silently drops the terminal's own sequence, so inside tmux the `tmux` command is used; otherwise the
//! terminal. Neither reports success, so the screen always shows the copied text.

use std::{
    io::{self, Write as _},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::settings::Clipboard;

/// Maximum length that terminals accept, encoded.
const ENCODED_MAX: usize = 74_994;

/// Copies `text`. Writes to `terminal` if tmux does not run.
pub(crate) fn copy(text: &str, to: Clipboard, in_tmux: bool, terminal: &mut impl io::Write) -> io::Result<()> {
    let encoded = STANDARD.encode(text);
    if encoded.len() > ENCODED_MAX {
        return Err(io::Error::other("too long for the terminal's clipboard"));
    }
    match to {
        Clipboard::Off => Ok(()),
        Clipboard::Tmux | Clipboard::Auto if to == Clipboard::Tmux || in_tmux => {
            // If tmux does not respond, it may still forward the terminal's sequence.
            through_tmux("tmux", text).or_else(|_| to_terminal(terminal, &encoded))
        }
        _ => to_terminal(terminal, &encoded),
    }
}

fn to_terminal(terminal: &mut impl io::Write, encoded: &str) -> io::Result<()> {
    write!(terminal, "\x1b]52;c;{encoded}\x07")
}

/// Timeout of the `tmux` command.
const TMUX_MAX: Duration = Duration::from_secs(1);
const LOOKED_AT_EVERY: Duration = Duration::from_millis(5);

#[expect(clippy::disallowed_methods, reason = "tmux's buffer has no other door")]
fn through_tmux(tmux: &str, text: &str) -> io::Result<()> {
    let mut tmux = Command::new(tmux)
        .args(["load-buffer", "-w", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = tmux.stdin.take() {
        stdin.write_all(text.as_bytes())?;
    }
    let begun = Instant::now();
    loop {
        match tmux.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(format!("tmux ended with {status}"))),
            None if begun.elapsed() < TMUX_MAX => std::thread::sleep(LOOKED_AT_EVERY),
            None => {
                tmux.kill()?;
                tmux.wait()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_piped_to_tmux_and_tmux_failures_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let fake = |name: &str, script: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
            std::fs::set_permissions(&path, mode).unwrap();
            path.display().to_string()
        };
        let got = dir.path().join("got");
        let works = fake("works", &format!("echo \"$@\" >'{0}'; exec cat >>'{0}'", got.display()));
        through_tmux(&works, "text").unwrap();
        assert_eq!(std::fs::read_to_string(&got).unwrap(), "load-buffer -w -\ntext");
        let hangs = through_tmux(&fake("hangs", "exec sleep 600"), "text").unwrap_err();
        assert_eq!(hangs.kind(), io::ErrorKind::TimedOut);
        assert!(through_tmux(&fake("fails", "exit 1"), "text").is_err());
        assert!(through_tmux("/nonexistent/tmux", "text").is_err());
    }

    #[test]
    fn the_terminal_receives_base64_and_long_texts_are_refused() {
        let mut out = Vec::new();
        copy("a\x07b", Clipboard::Auto, false, &mut out).unwrap();
        copy("x", Clipboard::Off, false, &mut out).unwrap();
        assert_eq!(out, b"\x1b]52;c;YQdi\x07");
        assert!(copy(&"x".repeat(60_000), Clipboard::Terminal, true, &mut out).is_err());
    }
}
