//! The user's pager on the terminal that the program had.

use super::{Session, Start, usual_modes};
use crate::session::Daemon;

/// Keeps what it gets, and what is typed to it; here everything but a terminal is a file.
const PAGER: &str = "cat >got; echo PAGER IS HERE; read -r line <&2; echo \"$line\" >typed";

/// A daemon with one delivery that failed, and the screen that reads it.
fn reading(daemon: &Daemon, pager: &str) -> Session {
    if daemon.farrier(&["hook", "list", "-q"]).ok().stdout.is_empty() {
        daemon.farrier(&["hook", "create", "http://127.0.0.1:9/in", "--events", "repository"]).ok();
        daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    }
    let start = Start {
        socket: daemon.socket(),
        directory: daemon.work("."),
        words: &["--screen", "deliveries"],
        env: &[("PAGER", pager)],
        size: (80, 24),
        // The shell hears of an interruption, too, and lives on.
        script: Some("trap : INT; \"$0\" \"$@\"; exit $?"),
    };
    let mut session = start.session();
    session.wait_at("repository");
    session.type_("\r]");
    session.wait_for("[Request]");
    session.wait_for("x-github-event");
    session
}

#[test]
fn a_body_is_read_in_the_pager_which_has_the_terminal_and_its_keys() {
    let daemon = Daemon::reaching("loopback");
    let mut session = reading(&daemon, PAGER);
    session.type_("o");
    session.wait_for("PAGER IS HERE");
    usual_modes(&session);
    session.wait("the screen from before", |screen| !screen.alternate_screen());
    session.type_("qq?\n");
    session.wait("the screen of the program", |screen| screen.alternate_screen() && screen.bracketed_paste());
    session.wait_for("[Request]");
    let read = |name: &str| std::fs::read_to_string(daemon.work(name)).unwrap();
    assert_eq!(read("typed"), "qq?\n");
    assert!(read("got").starts_with("{\n") && read("got").contains("admin/demo"), "{}", read("got"));
    // Keys are the program's again.
    session.type_("?");
    session.wait_for("Help: Deliveries");
    session.type_("\x1b");
    session.leave();
}

#[test]
fn a_pager_that_is_interrupted_or_not_there_takes_nothing_with_it() {
    let daemon = Daemon::reaching("loopback");
    let mut session = reading(&daemon, "echo PAGER IS HERE; sleep 600");
    session.type_("o");
    session.wait_for("PAGER IS HERE");
    session.type_("\x03");
    session.wait("the screen of the program", vt100::Screen::alternate_screen);
    session.wait_for("[Request]");
    session.leave();
    let mut session = reading(&daemon, "farrier-no-such-pager");
    session.type_("o");
    session.wait_for("there is no farrier-no-such-pager");
    session.type_("?");
    session.wait_for("Help: Deliveries");
    session.leave();
}
