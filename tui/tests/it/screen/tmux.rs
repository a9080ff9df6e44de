//! tmux with a private server and no configuration, and the full screen in one of its panes.

use std::{
    io,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use super::BOUND;
use crate::session::{Daemon, FARRIER};

/// Pause between two looks at the pane. Each look starts a process.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longer than a question drops keys after it opened, and than a text that a response opened does.
const DEAF: Duration = Duration::from_millis(300);

/// A tmux server. Dropping it ends the server and the programs in its panes, also after a panic.
pub(super) struct Tmux {
    pub(super) socket: PathBuf,
    /// The variables of the server and its panes, besides `PATH` and `LANG`.
    variables: Vec<(&'static str, PathBuf)>,
}

impl Tmux {
    pub(super) fn new(socket: PathBuf) -> Self {
        Self { socket, variables: Vec::new() }
    }

    fn output(&self, words: &[&str]) -> io::Result<Output> {
        #[expect(clippy::disallowed_methods, reason = "the terminal that the test is about")]
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-S"]).arg(&self.socket).args(["-f", "/dev/null"]).args(words).stdin(Stdio::null());
        tmux.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LANG", "C.UTF-8");
        tmux.envs(self.variables.iter().map(|(name, value)| (name, value))).output()
    }

    /// Runs a command of tmux. Returns its output, or `None` if it fails.
    pub(super) fn run(&self, words: &[&str]) -> Option<String> {
        let output = self.output(words).ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts the server with the command `words`. Returns false if tmux is not installed, so that the test is skipped.
    /// Fails where all clients are required.
    #[track_caller]
    pub(super) fn start(&self, words: &[&str]) -> bool {
        match self.output(words) {
            Ok(output) => {
                assert!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
                true
            }
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::NotFound, "tmux cannot be started: {error}");
                assert!(std::env::var_os("FARRIER_REQUIRE_CLIENTS").is_none(), "tmux is not installed");
                println!("skipped: tmux is not installed");
                false
            }
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

/// The full screen in a pane of 120 columns and 40 rows. Counts the pressed keys.
pub(super) struct Pane {
    pub(super) tmux: Tmux,
    keys: usize,
}

impl Pane {
    /// Starts the full screen and waits until its first list is loaded. Returns `None` if tmux is not installed.
    pub(super) fn open(daemon: &Daemon) -> Option<Self> {
        let directory = daemon.work(".");
        let variables = vec![("HOME", directory.clone()), ("FARRIER_SOCKET", daemon.socket())];
        let tmux = Tmux { socket: daemon.work("tmux.sock"), variables };
        let directory = directory.to_str().unwrap();
        let start = ["new-session", "-d", "-s", "farrier", "-x", "120", "-y", "40", "-c", directory, "env", FARRIER];
        let options = [";", "set", "-g", "status", "off", ";", "set", "-g", "escape-time", "0"];
        // On a busy machine, the program may stop waiting for `tmux load-buffer` and send the sequence of the terminal.
        let clipboard = [";", "set", "-s", "set-clipboard", "on"];
        if !tmux.start(&[&start[..], &options, &clipboard].concat()) {
            return None;
        }
        let pane = Self { tmux, keys: 0 };
        pane.wait("the connection and the repositories", |text| {
            let header = text.lines().next().unwrap_or_default().trim_end();
            header.contains("[2 Repos]") && header.ends_with(" ok") && !text.contains("loading")
        });
        Some(pane)
    }

    /// The text of the pane.
    pub(super) fn text(&self) -> String {
        self.tmux.run(&["capture-pane", "-p"]).unwrap_or_default()
    }

    #[track_caller]
    pub(super) fn wait(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + BOUND;
        loop {
            let text = self.text();
            if holds(&text) {
                return;
            }
            assert!(Instant::now() < deadline, "timed out waiting for {what}:\n{text}");
            std::thread::sleep(LOOK_EVERY);
        }
    }

    #[track_caller]
    pub(super) fn wait_for(&self, part: &str) {
        self.wait(part, |text| text.contains(part));
    }

    /// Waits until the row of the cursor contains all of `parts`.
    #[track_caller]
    pub(super) fn wait_for_cursor_row(&self, parts: &[&str]) {
        self.wait(&format!("a cursor row with {parts:?}"), |text| {
            let mut rows = text.lines().filter(|row| row.starts_with('>'));
            rows.any(|row| parts.iter().all(|part| row.contains(part)))
        });
    }

    /// Waits until the cursor is on the problem whose row contains all of `parts`. On a machine whose disk is nearly
    /// full, that problem comes first: the key that moves past it is not counted.
    #[track_caller]
    pub(super) fn wait_for_problem(&self, parts: &[&str]) {
        let has_all = |row: &str| parts.iter().all(|part| row.contains(part));
        self.wait(&format!("a problem with {parts:?}"), |text| text.lines().any(has_all));
        if self.text().lines().any(|row| row.starts_with('>') && row.contains("% full")) {
            self.tmux.run(&["send-keys", "j"]).unwrap();
        }
        self.wait_for_cursor_row(parts);
    }

    /// Waits until the buffer of tmux, which copied text is put into, begins with `start`. Returns the text.
    #[track_caller]
    pub(super) fn wait_for_copy(&self, start: &str) -> String {
        let copy = || self.tmux.run(&["show-buffer"]).unwrap_or_default();
        self.wait("the copied text", |_| copy().starts_with(start));
        copy()
    }

    /// Waits until a question or a text that was just shown accepts keys. It drops keys that are pressed too early.
    pub(super) fn once_it_accepts_keys(&mut self) -> &mut Self {
        std::thread::sleep(DEAF);
        self
    }

    /// Presses a key, by its name in tmux.
    pub(super) fn press(&mut self, key: &str) {
        self.keys += 1;
        self.tmux.run(&["send-keys", key]).unwrap();
    }

    /// Types a text. It counts as one key.
    pub(super) fn type_text(&mut self, text: &str) {
        self.keys += 1;
        self.tmux.run(&["send-keys", "-l", "--", text]).unwrap();
    }

    /// Returns the number of keys since the last call.
    pub(super) fn take_keys(&mut self) -> usize {
        std::mem::take(&mut self.keys)
    }
}
