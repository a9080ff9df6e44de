//! The full screen in a window of GNU screen: keys, another size, detaching and attaching, and a clean end.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{Session, SessionOptions, has_client, wait_until};
use crate::program::Sandbox;

/// Without the page about the license, which waits for a key, and without an entry in the list of logins.
const CONFIGURATION: &str = "startup_message off\ndeflogin off\ndefutf8 on\n";
/// Ctrl-A and the key that detaches the terminal.
const DETACH: &str = "\x01d";

/// The directories of a GNU screen whose windows only this test knows. Dropping it ends the windows.
struct GnuScreen {
    /// `SCREENDIR`, which only its owner may open.
    sockets: PathBuf,
}

impl GnuScreen {
    /// Returns `None` if the program is not installed, so that the test is skipped. Fails where all clients are
    /// required.
    fn new(sandbox: &Sandbox) -> Option<Self> {
        if !has_client("screen") {
            return None;
        }
        sandbox.write("screenrc", CONFIGURATION);
        let sockets = sandbox.dir.path().join("sockets");
        fs::create_dir(&sockets).unwrap();
        fs::set_permissions(&sockets, fs::Permissions::from_mode(0o700)).unwrap();
        Some(Self { sockets })
    }

    /// Runs a script of the shell that starts `screen` on a terminal of this size.
    fn terminal(&self, sandbox: &Sandbox, script: &str, size: (u16, u16)) -> Session {
        let configuration = sandbox.work("screenrc");
        let env = [("SCREENDIR", text(&self.sockets)), ("SCREENRC", text(&configuration))];
        SessionOptions { script: Some(script), env: &env, size, ..sandbox.session_options() }.session()
    }
}

impl Drop for GnuScreen {
    fn drop(&mut self) {
        #[expect(clippy::disallowed_methods, reason = "the terminal that the test is about")]
        let mut quit = Command::new("screen");
        quit.args(["-S", "farrier", "-X", "quit"]).env("SCREENDIR", &self.sockets);
        // After a successful test, there is no window any more.
        let _ = quit.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_screen_runs_in_gnu_screen_and_survives_detaching_attaching_and_resizing() {
    let sandbox = Sandbox::new();
    let Some(screen) = GnuScreen::new(&sandbox) else { return };
    let mut first = screen.terminal(&sandbox, "exec screen -U -S farrier \"$0\" \"$@\"", (100, 30));
    first.wait_for_cursor_row("octo/tool");
    first.type_keys("?");
    first.wait_for("Help: Repositories");
    first.type_keys("\x1b");
    first.wait("the list", |screen| !screen.contents().contains("Help: Repositories"));
    // GNU screen forwards neither the query for synchronized output nor its answer.
    first.wait("no message about an unknown key", |screen| !screen.contents().contains("has no action"));
    for (columns, rows) in [(140, 45), (40, 10), (120, 40)] {
        first.resize((columns, rows));
        first.wait("the hints in the last row of the new size", |screen| {
            screen.rows(0, columns).last().is_some_and(|row| row.contains("? help"))
        });
    }
    first.type_keys(DETACH);
    assert_eq!(first.wait_for_exit().code(), Some(0));

    // The program runs on while no terminal is attached.
    let mut second = screen.terminal(&sandbox, "exec screen -U -r farrier", (80, 24));
    second.wait_for_cursor_row("octo/tool");
    second.wait("the hints in the last row", |screen| {
        screen.rows(0, 80).last().is_some_and(|row| row.contains("? help"))
    });
    second.type_keys("\r");
    second.wait_for("[Overview]");
    second.type_keys("qq");
    assert_eq!(second.wait_for_exit().code(), Some(0), "the window ends with the program");
    wait_until("no window", || fs::read_dir(&screen.sockets).unwrap().count() == 0);
}
