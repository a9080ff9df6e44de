//! The user's pager on the terminal of the program.

use super::{Session, SessionOptions, assert_usual_modes};
use crate::session::Daemon;

/// A pager that saves its input and one typed line to files.
const PAGER: &str = "cat >got; echo PAGER IS HERE; read -r line <&2; echo \"$line\" >typed";

/// A pager that runs until it is interrupted. The program that prints the text also gets the signal: a shell that is
/// starting another program can miss it.
const INTERRUPTIBLE_PAGER: &str = "echo PAGER IS HERE >text; exec tail -f text";

/// Starts the screen on the request of a failed delivery, which is created if necessary.
fn open_request(daemon: &Daemon, pager: &str) -> Session {
    if daemon.farrier(&["hook", "list", "-q"]).ok().stdout.is_empty() {
        daemon.farrier(&["hook", "create", "http://127.0.0.1:9/in", "--events", "repository"]).ok();
        daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    }
    let start = SessionOptions {
        socket: daemon.socket(),
        directory: daemon.work("."),
        words: &["--screen", "deliveries"],
        env: &[("PAGER", pager)],
        size: (80, 24),
        // The shell receives SIGINT as well and must not end.
        script: Some("trap : INT; \"$0\" \"$@\"; exit $?"),
    };
    let mut session = start.session();
    session.wait_for_cursor_row("repository");
    session.type_keys("\r]");
    session.wait_for("[Request]");
    session.wait_for("x-github-event");
    session
}

#[test]
fn the_pager_shows_a_body_and_gets_the_terminal_and_its_keys() {
    let daemon = Daemon::with_allowed_hosts("loopback");
    let mut session = open_request(&daemon, PAGER);
    session.type_keys("o");
    session.wait_for("PAGER IS HERE");
    assert_usual_modes(&session);
    session.wait("the screen from before", |screen| !screen.alternate_screen());
    session.type_keys("qq?\n");
    session.wait("the screen of the program", |screen| screen.alternate_screen() && screen.bracketed_paste());
    session.wait_for("[Request]");
    let read = |name: &str| std::fs::read_to_string(daemon.work(name)).unwrap();
    assert_eq!(read("typed"), "qq?\n");
    assert!(read("got").starts_with("{\n") && read("got").contains("admin/demo"), "{}", read("got"));
    // The program reads keys again.
    session.type_keys("?");
    session.wait_for("Help: Deliveries");
    session.type_keys("\x1b");
    session.leave();
}

#[test]
fn the_screen_survives_an_interrupted_and_a_missing_pager() {
    let daemon = Daemon::with_allowed_hosts("loopback");
    let mut session = open_request(&daemon, INTERRUPTIBLE_PAGER);
    session.type_keys("o");
    session.wait_for("PAGER IS HERE");
    session.type_keys("\x03");
    session.wait("the screen of the program", vt100::Screen::alternate_screen);
    session.wait_for("[Request]");
    session.leave();
    let mut session = open_request(&daemon, "farrier-no-such-pager");
    session.type_keys("o");
    session.wait_for("farrier-no-such-pager not found");
    session.type_keys("?");
    session.wait_for("Help: Deliveries");
    session.leave();
}
