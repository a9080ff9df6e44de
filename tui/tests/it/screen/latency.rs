//! A slow link to the terminal, and a daemon that is away for a while: the work goes on at the same place.

use std::{thread::sleep, time::Duration};

use super::{Session, SessionOptions, wait_until};
use crate::session::Daemon;

/// The time that bytes need in each direction of a link with a latency of 300 ms.
const ONE_WAY: Duration = Duration::from_millis(150);

fn session(daemon: &Daemon, env: &[(&str, &str)]) -> Session {
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    SessionOptions { socket, directory, words: &[], env, size: (80, 24), script: None }.session()
}

/// Types keys, which the program gets later.
fn type_late(session: &mut Session, keys: &str) {
    sleep(ONE_WAY);
    session.type_keys(keys);
}

/// Waits for a text, which the user sees later.
fn see(session: &Session, text: &str) {
    session.wait_for(text);
    sleep(ONE_WAY);
}

#[test]
fn work_is_done_over_a_link_with_a_latency_of_300_ms() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let mut session = session(&daemon, &[("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")]);
    // The terminal answers the query late.
    wait_until("the query", || session.written().contains("\x1b[?2026$p"));
    sleep(ONE_WAY * 2);
    session.type_keys("\x1b[?2026;2$y");
    session.wait_for_cursor_row("admin/demo");
    see(&session, " ok");
    // Keys are typed before their effect is seen.
    type_late(&mut session, "n\ttool\x13");
    session.wait_for_cursor_row("admin/tool");
    see(&session, "admin/tool");
    type_late(&mut session, "?");
    see(&session, "Help: Repositories");
    type_late(&mut session, "\x1b");
    session.wait("the list", |screen| !screen.contents().contains("Help: Repositories"));
    type_late(&mut session, "\x1b[A");
    session.wait_for_cursor_row("admin/demo");
    type_late(&mut session, "\x1b[B");
    session.wait_for_cursor_row("admin/tool");
    sleep(ONE_WAY);
    type_late(&mut session, "D");
    see(&session, "Type admin/tool to confirm:");
    type_late(&mut session, "admin/tool\r");
    session.wait_for_cursor_row("admin/demo");
    assert_eq!(daemon.farrier(&["repo", "list", "-q"]).ok().stdout, "admin/demo\n");
    session.leave();
}

#[test]
fn after_a_lost_connection_the_filter_the_cursor_and_a_form_are_as_before() {
    let mut daemon = Daemon::start();
    for name in ["admin/alpha", "admin/beta", "admin/gamma"] {
        daemon.farrier(&["repo", "create", name]).ok();
    }
    let mut session = session(&daemon, &[]);
    session.wait_for_cursor_row("admin/alpha");
    session.type_keys("/!alpha\r");
    session.wait_for_cursor_row("admin/beta");
    session.type_keys("j");
    session.wait_for_cursor_row("admin/gamma");
    daemon.stop();
    session.wait_for("No connection to");
    session.wait_for_cursor_row("admin/gamma");
    daemon.start_again();
    session.wait("the connection", |screen| !screen.contents().contains("No connection to"));
    session.wait_for_cursor_row("admin/gamma");
    session.wait("the filter", |screen| {
        let text = screen.contents();
        text.contains("admin/beta") && !text.contains("admin/alpha")
    });

    session.type_keys("n\ttool");
    session.wait_for("[tool ");
    daemon.stop();
    session.wait_for("No connection to");
    session.wait_for("[tool ");
    daemon.start_again();
    session.wait("the connection", |screen| !screen.contents().contains("No connection to"));
    session.wait_for("[tool ");
    session.type_keys("\x13");
    session.wait_for_cursor_row("admin/tool");
    daemon.farrier(&["repo", "show", "admin/tool"]).ok();
    session.leave();
}
