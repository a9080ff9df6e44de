//! Terminal capabilities: detected in time, late, or never, and in tmux.

use std::time::Duration;

use super::{Session, SessionOptions, tmux::Tmux, wait_until};
use crate::program::Sandbox;

const QUERY: &[u8] = b"\x1b[?2026$p";
const BEGINS: &[u8] = b"\x1b[?2026h";
const REPLY: &str = "\x1b[?2026;2$y";

fn has(session: &Session, bytes: &[u8]) -> bool {
    session.output.0.lock().unwrap().bytes.windows(bytes.len()).any(|part| part == bytes)
}

/// How often the program queried the terminal.
fn queries(session: &Session) -> usize {
    let locked = session.output.0.lock().unwrap();
    locked.bytes.windows(QUERY.len()).filter(|part| *part == QUERY).count()
}

/// Checks that keys work as usual and that no byte of a response counts as a key.
#[track_caller]
fn assert_keys_work(session: &mut Session) {
    session.type_keys("?");
    session.wait_for("Help: Repositories");
    session.type_keys("\x1b");
    session.wait("the list", |screen| !screen.contents().contains("Help: Repositories"));
    session.wait_for_cursor_row("octo/tool");
    session.wait("no message about an unknown key", |screen| !screen.contents().contains("has no action"));
}

#[test]
fn frames_are_marked_for_a_terminal_that_reports_support_in_time() {
    let sandbox = Sandbox::new();
    let mut session = sandbox.session_options().session();
    // A busy machine may respond too late. Then the test makes the program query again.
    for question in 1..50 {
        wait_until("the query", || queries(&session) == question);
        session.type_keys(REPLY);
        session.wait_for("octo/tool");
        assert_keys_work(&mut session);
        if has(&session, BEGINS) {
            break;
        }
        session.type_keys(":redetect\r");
    }
    assert!(has(&session, BEGINS));
    session.leave();
}

#[test]
fn frames_are_not_marked_without_a_report_of_support() {
    for answer in ["", "\x1b[?2026;0$y"] {
        let sandbox = Sandbox::new();
        let mut session = sandbox.session_options().session();
        wait_until("the query", || has(&session, QUERY));
        session.type_keys(answer);
        session.wait_for("octo/tool");
        assert_keys_work(&mut session);
        assert!(!has(&session, BEGINS));
        session.leave();
    }
}

#[test]
fn a_late_or_split_reply_is_ignored_and_types_nothing() {
    let sandbox = Sandbox::new();
    let mut session = sandbox.session_options().session();
    wait_until("the query", || has(&session, QUERY));
    session.wait_for("octo/tool");
    // Like a terminal behind a slow connection.
    std::thread::sleep(Duration::from_millis(300));
    let (one, two) = REPLY.split_at(6);
    session.type_keys_separately(one);
    std::thread::sleep(Duration::from_millis(200));
    session.type_keys_separately(two);
    assert_keys_work(&mut session);
    assert!(!has(&session, BEGINS));
    session.leave();
}

#[test]
fn a_configured_setting_sends_no_query_and_detection_can_be_repeated() {
    let sandbox = Sandbox::new();
    for (word, marked) in [("on", true), ("off", false)] {
        sandbox.write(".config/farrier/config.toml", format!("[ui]\nsync = \"{word}\"\n"));
        let mut session = sandbox.session_options().session();
        session.wait_for("octo/tool");
        assert_keys_work(&mut session);
        assert_eq!((has(&session, QUERY), has(&session, BEGINS)), (false, marked));
        session.leave();
    }
    sandbox.write(".config/farrier/config.toml", "");
    let mut session = sandbox.session_options().session();
    session.wait_for("octo/tool");
    session.type_keys(":redetect\r");
    session.wait_for("Terminal detected again");
    wait_until("another query", || queries(&session) == 2);
    session.type_keys(REPLY);
    assert_keys_work(&mut session);
    session.leave();
}

#[test]
fn copied_text_is_put_into_the_tmux_buffer() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::new(sandbox.dir.path().join("tmux.sock"));
    if !tmux.start(&["new-session", "-d", "sleep", "600"]) {
        return;
    }
    let tmux_variable = format!("{},1,0", tmux.socket.display());
    let mut session = SessionOptions { env: &[("TMUX", &tmux_variable)], ..sandbox.session_options() }.session();
    session.wait_for_cursor_row("octo/tool");
    session.type_keys("yn");
    session.wait_for("copied: octo/tool");
    wait_until("the text in the buffer", || tmux.run(&["show-buffer"]).as_deref() == Some("octo/tool"));
    assert!(!has(&session, b"\x1b]52;"), "tmux forwards the text, so the terminal gets no sequence");
    session.leave();
}
