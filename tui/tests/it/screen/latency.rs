//! A slow link to the terminal, and a daemon that is away for a while: the work goes on at the same place.

use super::{SessionOptions, wait_until};
use crate::session::Daemon;

fn options<'a>(daemon: &Daemon, env: &'a [(&'a str, &'a str)]) -> SessionOptions<'a> {
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    SessionOptions { socket, directory, words: &[], env, size: (80, 24), script: None }
}

#[test]
fn work_is_done_over_a_link_with_a_latency_of_300_ms() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let link = options(&daemon, &[("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")]).behind_slow_link();
    // The terminal answers the query late.
    wait_until("the query", || link.written().contains("\x1b[?2026$p"));
    link.type_keys("\x1b[?2026;2$y");
    link.wait_for_cursor_row("admin/demo");
    link.wait_for(" ok");
    // Keys are typed before their effect is seen.
    link.type_keys("n\ttool\x13");
    link.wait_for_cursor_row("admin/tool");
    link.type_keys("?");
    link.wait_for("Help: Repositories");
    link.type_keys("\x1b");
    link.wait("the list", |screen| !screen.contents().contains("Help: Repositories"));
    link.type_keys("\x1b[A");
    link.wait_for_cursor_row("admin/demo");
    link.type_keys("\x1b[B");
    link.wait_for_cursor_row("admin/tool");
    link.type_keys("D");
    link.wait_for("Type admin/tool to confirm:");
    link.type_keys("admin/tool\r");
    link.wait_for_cursor_row("admin/demo");
    assert_eq!(daemon.farrier(&["repo", "list", "-q"]).ok().stdout, "admin/demo\n");
    link.leave();
}

#[test]
fn after_a_lost_connection_the_filter_the_cursor_and_a_form_are_as_before() {
    let mut daemon = Daemon::start();
    for name in ["admin/alpha", "admin/beta", "admin/gamma"] {
        daemon.farrier(&["repo", "create", name]).ok();
    }
    let mut session = options(&daemon, &[]).session();
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
