//! Start and end of the program, for every cause of the end.

use std::{
    fs::File,
    io::Write as _,
    os::{
        fd::AsFd as _,
        unix::{fs::OpenOptionsExt as _, net::UnixListener, process::ExitStatusExt as _},
    },
};

use rustix::process::Signal;

use super::{Session, assert_restored, assert_usual_modes, wait_for_refresh};
use crate::program::Sandbox;

#[test]
fn the_screen_starts_shows_repositories_and_restores_the_terminal() {
    let sandbox = Sandbox::new();
    let mut session = sandbox.session_options().session();
    session.wait_for("octo/tool");
    session.wait("the alternate screen", |screen| screen.alternate_screen() && screen.bracketed_paste());
    session.type_keys("\r");
    session.wait_for("[Overview]");
    session.type_keys("qq");
    assert_eq!(session.wait_for_exit().code(), Some(0));
    assert_restored(&session);
}

#[test]
fn the_first_frame_does_not_wait_for_a_response() {
    let sandbox = Sandbox::new();
    let socket = sandbox.dir.path().join("silent.sock");
    // The kernel accepts connections, but nothing answers them.
    let _silent = UnixListener::bind(&socket).unwrap();
    let mut session = super::SessionOptions { socket, ..sandbox.session_options() }.session();
    session.wait_for("[2 Repos]");
    session.wait_for("loading repositories");
    session.type_keys("?");
    session.wait_for("Help: Repositories");
    session.type_keys("\x1b");
    session.leave();
}

#[test]
fn an_unreachable_daemon_is_reported() {
    let sandbox = Sandbox::new();
    let mut session =
        super::SessionOptions { words: &["--socket", "/nonexistent/s"], ..sandbox.session_options() }.session();
    session.wait_for("cannot reach the socket /nonexistent/s");
    session.wait_for("start it with");
    session.type_keys("q");
    assert_eq!(session.wait_for_exit().code(), Some(0));
}

#[test]
fn signals_end_the_program_cleanly() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let sandbox = Sandbox::new();
        let mut session = sandbox.session_options().session();
        session.wait_for("octo/tool");
        session.signal(signal);
        assert_eq!(session.wait_for_exit().code(), Some(code));
        assert_restored(&session);
    }
}

#[test]
fn signals_end_the_program_on_a_blocked_terminal() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let sandbox = Sandbox::new();
        let mut session = sandbox.session_options().session();
        session.wait_for("octo/tool");
        session.stop_reading();
        fill(&session);
        // The next frame cannot be written.
        session.type_keys("?");
        session.signal(signal);
        assert_eq!(session.wait_for_exit().code(), Some(code));
        assert_usual_modes(&session);
    }
}

/// Writes until the terminal accepts no more bytes.
fn fill(session: &Session) {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let mut terminal = File::options().write(true).custom_flags(nonblocking).open(&session.name).unwrap();
    // After the large pieces, fill the rest byte by byte.
    for piece in [&[b'x'; 4096][..], b"x"] {
        let full = loop {
            if let Err(full) = terminal.write_all(piece) {
                break full;
            }
        };
        assert_eq!(full.kind(), std::io::ErrorKind::WouldBlock);
    }
}

#[test]
fn the_program_ends_when_its_terminal_disappears() {
    // The process that starts the program may ignore SIGHUP.
    for script in ["exec \"$0\" \"$@\"", "trap '' HUP; exec \"$0\" \"$@\""] {
        let sandbox = Sandbox::new();
        let mut session = super::SessionOptions { script: Some(script), ..sandbox.session_options() }.session();
        session.wait_for("octo/tool");
        session.hang_up();
        let status = session.wait_for_exit();
        assert_eq!(status.code().or(status.signal()), Some(129), "{script}");
    }
}

#[test]
fn sighup_ends_the_program_without_output() {
    let sandbox = Sandbox::new();
    let mut session = sandbox.session_options().session();
    session.wait_for("octo/tool");
    session.wait("the connection mark", |screen| screen.contents().contains(" ok"));
    wait_for_refresh(&sandbox);
    let before = session.count();
    session.signal(Signal::HUP);
    let status = session.wait_for_exit();
    assert_eq!(status.code().or(status.signal()), Some(129));
    assert_eq!(session.count(), before, "nothing is written to a terminal that may be gone");
}

#[test]
fn the_program_can_be_suspended_and_continues_where_it_was() {
    let sandbox = Sandbox::new();
    let script = "set -m; \"$0\" \"$@\"; echo stopped; read line; fg >/dev/null; exit $?";
    let mut session = super::SessionOptions { script: Some(script), ..sandbox.session_options() }.session();
    session.wait_for("octo/tool");
    session.type_keys("?");
    session.wait_for("Help: Repositories");
    session.type_keys("\x1a");
    session.wait_for("stopped");
    assert_restored(&session);
    let searches = || sandbox.fake.state().requests.iter().filter(|one| one.contains("/repos/search")).count();
    let before = searches();
    session.resize((120, 40));
    session.type_keys("\n");
    session.wait("the same screen in another size", |screen| {
        let bottom = screen.rows(0, 120).last();
        screen.alternate_screen()
            && screen.bracketed_paste()
            && screen.contents().contains("Help: Repo")
            && screen.rows(0, 120).next().is_some_and(|tabs| tabs.chars().count() > 80)
            && bottom.is_some_and(|row| row.contains("Esc close"))
    });
    session.type_keys("\x1b");
    session.wait_for_cursor_row("octo/tool");
    super::wait_until("another search request", || searches() > before);
    session.leave();
}

#[test]
fn a_resize_redraws_the_screen() {
    let sandbox = Sandbox::new();
    let session = sandbox.session_options().session();
    session.wait_for("octo/tool");
    for (size, text) in [((30, 8), "terminal too small"), ((120, 40), "[Overview]"), ((40, 10), "[2 Repos]")] {
        session.resize(size);
        session.wait_for(text);
    }
    session.leave();
}

#[test]
fn after_many_resizes_the_last_size_is_drawn() {
    let sandbox = Sandbox::new();
    let mut session = sandbox.session_options().session();
    session.wait_for("octo/tool");
    // An arbitrary sequence without a pattern.
    let mut random = 7_u64;
    for _ in 0..200 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (columns, rows) = ((random >> 33) % 250 + 1, (random >> 50) % 80 + 1);
        session.resize((columns.try_into().unwrap(), rows.try_into().unwrap()));
    }
    session.resize((80, 24));
    // In a terminal that is too small, the program ignores keys. The state at the right end of the first row and the
    // hints in row 24 together exist only in the last size.
    session.wait("the last size", |screen| {
        let rows: Vec<String> = screen.rows(0, 80).collect();
        rows[0].chars().count() == 80 && rows[0].ends_with("farrier ok") && rows[23].contains("? help")
    });
    session.type_keys("?");
    session.wait("help in the last size", |screen| {
        screen.rows(0, 80).last().is_some_and(|row| row.contains("Esc close")) && screen.contents().contains("Help")
    });
    session.type_keys("\x1b");
    session.wait_for_cursor_row("octo/tool");
    assert!(rustix::termios::tcgetwinsize(session.terminal.as_fd()).unwrap().ws_col == 80);
    session.leave();
}
