//! The full screen over mosh: keys, another size, an interrupted connection, copies, and a clean end.

use rustix::process::Signal;

use super::{Session, SessionOptions, has_client};
use crate::program::Sandbox;

/// Starts the server for the program, which prints a port and a key, and then the client with this terminal. The server
/// ends with the program, or if it hears nothing from the client.
const CONNECT: &str = "set -- $(mosh-server new -c 256 -i 127.0.0.1 -- \"$0\" \"$@\" 2>/dev/null | tr -d '\\r' | \
                       grep 'MOSH CONNECT')\nMOSH_KEY=$4 exec mosh-client 127.0.0.1 \"$3\"\n";

fn connect(sandbox: &Sandbox, size: (u16, u16)) -> Session {
    // Without predictions, the client shows only what the program has drawn.
    let env = [("TERM", "xterm-256color"), ("MOSH_PREDICTION_DISPLAY", "never"), ("MOSH_SERVER_NETWORK_TMOUT", "60")];
    SessionOptions { script: Some(CONNECT), env: &env, size, ..sandbox.session_options() }.session()
}

#[test]
fn the_screen_runs_over_mosh_and_survives_an_interrupted_connection_and_another_size() {
    if !has_client("mosh-server") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.fake.state().repositories = 60;
    let mut session = connect(&sandbox, (80, 24));
    session.wait_for_cursor_row("repo-00000");
    session.type_keys("?");
    session.wait_for("Help: Repositories");
    session.type_keys("\x1b");
    session.wait("the list", |screen| !screen.contents().contains("Help: Repositories"));
    // mosh forwards neither the query for synchronized output nor its answer.
    session.wait("no message about an unknown key", |screen| !screen.contents().contains("has no action"));
    for (columns, rows) in [(140, 45), (40, 10), (120, 40)] {
        session.resize((columns, rows));
        session.wait("the hints in the last row of the new size", |screen| {
            screen.rows(0, columns).last().is_some_and(|row| row.contains("? help"))
        });
    }

    // Keys that are typed while the connection is interrupted arrive in order.
    session.type_keys("jjj");
    session.wait_for_cursor_row("repo-00003");
    session.signal(Signal::STOP);
    session.type_keys("jj\x1b[A");
    session.signal(Signal::CONT);
    session.wait_for_cursor_row("repo-00004");
    session.type_keys("yn");
    session.wait_for("copied: octo/repo-00004");
    assert!(session.written().contains("\x1b]52;c;b2N0by9yZXBvLTAwMDA0"), "the copy reaches the terminal");

    session.type_keys("q");
    assert_eq!(session.wait_for_exit().code(), Some(0));
    let written = session.written();
    assert!(written.contains("repo-00004"), "{written}");
    session.wait("a visible cursor", |screen| !screen.hide_cursor());
}
