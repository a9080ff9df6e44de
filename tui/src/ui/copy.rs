//! Putting text where it can be pasted from.
//!
//! Inside tmux the terminal's own sequence is dropped without a word, so tmux is asked; elsewhere
//! the terminal is. Neither says whether it worked, so the screen always shows what was copied.

use std::{
    io::{self, Write as _},
    process::{Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::settings::Clipboard;

/// What terminals take, encoded.
const ENCODED_MAX: usize = 74_994;

/// Copies `text`. `terminal` is written to when there is no tmux.
pub(crate) fn copy(text: &str, to: Clipboard, in_tmux: bool, terminal: &mut impl io::Write) -> io::Result<()> {
    let encoded = STANDARD.encode(text);
    if encoded.len() > ENCODED_MAX {
        return Err(io::Error::other("too long for the terminal's clipboard"));
    }
    match to {
        Clipboard::Off => Ok(()),
        Clipboard::Tmux => through_tmux(text),
        Clipboard::Auto if in_tmux => through_tmux(text),
        Clipboard::Auto | Clipboard::Terminal => write!(terminal, "\x1b]52;c;{encoded}\x07"),
    }
}

#[expect(clippy::disallowed_methods, reason = "tmux's buffer has no other door")]
fn through_tmux(text: &str) -> io::Result<()> {
    let mut tmux = Command::new("tmux")
        .args(["load-buffer", "-w", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = tmux.stdin.take() {
        stdin.write_all(text.as_bytes())?;
    }
    tmux.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_gets_it_encoded_and_never_too_much() {
        let mut out = Vec::new();
        copy("a\x07b", Clipboard::Auto, false, &mut out).unwrap();
        copy("x", Clipboard::Off, false, &mut out).unwrap();
        assert_eq!(out, b"\x1b]52;c;YQdi\x07");
        assert!(copy(&"x".repeat(60_000), Clipboard::Terminal, true, &mut out).is_err());
    }
}
