//! The drawn screen: colors, characters, and redraws.

use super::{SessionOptions, cursor_row, wait_for_refresh};
use crate::program::Sandbox;

#[test]
fn without_colors_the_row_of_the_cursor_is_reversed() {
    let sandbox = Sandbox::new();
    sandbox.fake.state().repositories = 30;
    let mut session = SessionOptions { env: &[("NO_COLOR", "1")], ..sandbox.session_options() }.session();
    session.wait_for_cursor_row("repo-00000");
    session.type_keys("jjj");
    session.wait_for_cursor_row("repo-00003");
    session.wait("the cursor's row reversed and no color anywhere", |screen| {
        let row = (0..24).find(|y| screen.cell(*y, 0).is_some_and(|cell| cell.contents() == ">")).unwrap();
        let cells = (0..24).flat_map(|y| (0..80).map(move |x| (y, x)));
        (0..80).all(|x| screen.cell(row, x).unwrap().inverse())
            && cells
                .map(|(y, x)| screen.cell(y, x).unwrap())
                .all(|cell| cell.fgcolor() == vt100::Color::Default && cell.bgcolor() == vt100::Color::Default)
    });
    // Also not in earlier frames: an empty color code would reset the attributes.
    let bytes = session.output.0.lock().unwrap().bytes.clone();
    let text = String::from_utf8(bytes).unwrap();
    let codes = text.split('\x1b').filter_map(|part| part.strip_prefix('[')?.split_once('m').map(|(codes, _)| codes));
    for codes in codes.filter(|codes| codes.bytes().all(|b| b.is_ascii_digit() || b == b';')) {
        assert!(codes.split(';').all(|code| matches!(code, "" | "0" | "1" | "2" | "4" | "7")), "{codes}");
    }
    session.leave();
}

#[test]
fn a_terminal_without_unicode_gets_ascii_only() {
    let sandbox = Sandbox::new();
    let mut session = SessionOptions { env: &[("LANG", "C")], size: (120, 40), ..sandbox.session_options() }.session();
    session.wait_for("[Overview]");
    session.type_keys("?");
    session.wait_for("Help: Repositories");
    assert!(session.output.0.lock().unwrap().bytes.is_ascii());
    session.leave();
}

#[test]
fn nothing_is_drawn_while_nothing_changes() {
    let sandbox = Sandbox::new();
    sandbox.fake.state().repositories = 5;
    let session = sandbox.session_options().session();
    session.wait_for_cursor_row("repo-00000");
    session.wait("the connection mark", |screen| screen.contents().contains(" ok"));
    wait_for_refresh(&sandbox);
    let sent = session.count();
    // The list is refreshed from time to time. It does not change, so nothing may be drawn.
    for _ in 0..2 {
        wait_for_refresh(&sandbox);
    }
    assert_eq!(session.count(), sent);
    session.leave();
}

#[test]
fn escape_sequences_from_the_daemon_are_not_sent_to_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.fake.state().name = Some("octo/\u{1b}]0;owned\u{7}\u{1b}[2Jx\u{9b}31m".to_owned());
    let session = sandbox.session_options().session();
    session.wait("the name without escape sequences", |screen| {
        cursor_row(screen).is_some_and(|row| row.contains("]0;owned"))
    });
    let bytes = session.output.0.lock().unwrap().bytes.clone();
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains('\u{7}') && !text.contains("\u{1b}]") && !text.contains('\u{9b}'), "{text:?}");
    assert_eq!(text.matches("\u{1b}[2J").count(), 1, "only the program clears the screen");
    session.leave();
}
