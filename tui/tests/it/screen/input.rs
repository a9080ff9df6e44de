//! Keyboard input: split into pieces, all at once, and pasted.

use rustix::process::Signal;

use super::SessionOptions;
use crate::program::Sandbox;

/// A long escape delay, for a machine that is busy in the middle of a key sequence.
const LONG_ESCAPE_DELAY: &[(&str, &str)] = &[("ESCDELAY", "10000")];

#[test]
fn a_key_is_recognized_wherever_its_bytes_are_split() {
    let sandbox = Sandbox::new();
    sandbox.fake.state().repositories = 60;
    let mut session = SessionOptions { env: LONG_ESCAPE_DELAY, ..sandbox.session_options() }.session();
    session.wait_for_cursor_row("repo-00000");
    // Each pair moves the cursor away and back, so that a lost or misread key is noticed at once.
    let pairs = [
        ("\x1b[B", "repo-00001", "\x1b[A"),
        ("\x1bOB", "repo-00001", "\x1bOA"),
        ("\x1b[6~", "repo-00020", "\x1b[5~"),
        ("\x1b[F", "repo-00059", "\x1b[H"),
        ("\x1bOF", "repo-00059", "\x1bOH"),
        ("\x1b[4~", "repo-00059", "\x1b[1~"),
    ];
    for (away, row, back) in pairs {
        for at in 1..away.len() {
            for (key, row) in [(away, row), (back, "repo-00000")] {
                let (one, two) = key.split_at(at);
                session.type_keys_separately(one);
                session.type_keys_separately(two);
                session.wait_for_cursor_row(row);
            }
        }
    }
    session.wait("no message about an unknown key", |screen| !screen.contents().contains("has no action"));
    session.leave();
}

#[test]
fn a_paste_triggers_no_command_wherever_its_bytes_are_split() {
    let sandbox = Sandbox::new();
    let mut session = SessionOptions { env: LONG_ESCAPE_DELAY, ..sandbox.session_options() }.session();
    session.wait_for("octo/tool");
    let paste = "\x1b[200~?D\rq\x03\x1b[201~";
    for at in 1..paste.len() {
        let (one, two) = paste.split_at(at);
        session.type_keys_separately(one);
        session.type_keys_separately(two);
    }
    // In a text field, a paste is text, and its line break does not submit.
    session.type_keys("/");
    session.wait_for("Enter keep");
    for at in [1, 3, 8, 12] {
        let (one, two) = "\x1b[200~to\ro\x1b[201~".split_at(at);
        session.type_keys_separately(one);
        session.type_keys_separately(two);
        session.wait("the pasted text", |screen| screen.contents().contains("to o"));
        session.type_keys("\x15");
        session.wait_for_cursor_row("octo/tool");
    }
    let requests = sandbox.fake.state().requests.clone();
    assert!(requests.iter().all(|one| one.starts_with("GET ")), "{requests:?}");
    session.leave();
}

#[test]
fn a_paste_triggers_no_command_in_any_view() {
    let sandbox = Sandbox::new();
    let mut session = sandbox.session_options().session();
    session.wait_for("octo/tool");
    // Keys that open a view, a text that it shows, and whether the view takes text.
    let views = [
        ("", "[2 Repos]", false),
        ("?", "Help: Repositories", true),
        ("x", "Actions: octo/tool", false),
        ("y", "Copy", false),
        ("s", "Sort by", false),
        ("D", "Delete repository", false),
        (":", "Command", true),
        ("/", "Enter keep", true),
        ("n", "New repository", true),
        ("M", "Import a repository", true),
    ];
    for (keys, title, takes_text) in views {
        session.type_keys(keys);
        session.wait_for(title);
        // The paste begins with a key that would confirm, and ends with a key that would leave.
        session.type_keys("\x1b[200~y\rDq\x03octo/tool\r\x1b[201~");
        if takes_text {
            session.wait("the pasted text", |screen| screen.contents().contains("Dq"));
        }
        session.wait_for(title);
        if keys == "D" {
            // A question ignores keys for a short time, so that no key typed ahead answers it.
            let opened = std::time::Instant::now();
            super::wait_until("the question accepts keys", || opened.elapsed().as_millis() > 300);
        }
        session.type_keys("\x1b");
        if keys == "n" || keys == "M" {
            session.wait_for("discard changes?");
            session.type_keys("y");
        }
        if !keys.is_empty() {
            session.wait("the view to close", |screen| !screen.contents().contains(title));
        }
        session.wait_for_cursor_row("octo/tool");
    }
    let requests = sandbox.fake.state().requests.clone();
    assert!(requests.iter().all(|one| one.starts_with("GET ")), "{requests:?}");
    session.leave();
}

#[test]
fn queued_keys_are_drawn_once_and_the_next_key_works() {
    let sandbox = Sandbox::new();
    sandbox.fake.state().repositories = 500;
    let mut session = sandbox.session_options().session();
    session.wait("all rows", |screen| screen.contents().contains("1/500"));
    session.signal(Signal::STOP);
    session.type_keys("j".repeat(400));
    let before = session.count();
    session.signal(Signal::CONT);
    session.wait_for_cursor_row("repo-00400");
    let sent = session.count() - before;
    assert!(sent <= 6_000, "{sent} bytes for 400 keys");
    session.type_keys("g");
    session.wait_for_cursor_row("repo-00000");
    session.leave();
}

#[test]
fn split_keys_are_recognized_and_pastes_are_text() {
    let sandbox = Sandbox::new();
    let mut session = SessionOptions { env: LONG_ESCAPE_DELAY, ..sandbox.session_options() }.session();
    session.wait_for("octo/tool");
    session.type_keys("\x1b[200~q\nD\x03\x1b[201~?");
    session.wait_for("Help: Repositories");
    for piece in ["\x1b", "[", "B"] {
        session.type_keys_separately(piece);
    }
    session.type_keys("filter");
    // If a split arrow key counted as Escape, the help would be closed.
    session.wait_for("Search: filter");
    session.leave();
}

#[test]
fn a_single_escape_works_without_another_key() {
    let sandbox = Sandbox::new();
    let mut session = sandbox.session_options().session();
    session.wait_for("octo/tool");
    session.type_keys("?");
    session.wait_for("Help: Repositories");
    session.type_keys("\x1b");
    session.wait("the help to close", |screen| !screen.contents().contains("Help: Repositories"));
    session.leave();
}

#[test]
fn the_mouse_is_reported_only_while_it_is_on() {
    let sandbox = Sandbox::new();
    let mut session = sandbox.session_options().session();
    session.wait_for_cursor_row("octo/tool");
    assert!(!session.written().contains("\x1b[?1002h"));
    session.type_keys("m");
    session.wait_for("Mouse on");
    super::wait_until("the mouse is on", || session.written().contains("\x1b[?1002h\x1b[?1006h"));
    // A click on the tab, and the release of the button.
    session.type_keys("\x1b[<0;21;1M\x1b[<0;21;1m");
    session.wait_for("[3 Hooks]");
    session.type_keys("m");
    session.wait_for("Mouse off");
    super::wait_until("the mouse is off", || session.written().contains("\x1b[?1006l\x1b[?1002l"));
    session.leave();
}
