//! How it begins and how it ends, whatever ends it.

use std::{
    fs::File,
    io::Write as _,
    os::{
        fd::AsFd as _,
        unix::{fs::OpenOptionsExt as _, net::UnixListener, process::ExitStatusExt as _},
    },
};

use rustix::process::Signal;

use super::{Session, restored, usual_modes};
use crate::program::World;

#[test]
fn it_opens_shows_what_there_is_and_leaves_no_trace() {
    let world = World::new();
    let mut session = world.start().session();
    session.wait_for("octo/tool");
    session.wait("the screen of its own", |screen| screen.alternate_screen() && screen.bracketed_paste());
    session.type_("\r");
    session.wait_for("[Overview]");
    session.type_("qq");
    assert_eq!(session.ended().code(), Some(0));
    restored(&session);
}

#[test]
fn the_first_picture_waits_for_no_answer() {
    let world = World::new();
    let socket = world.dir.path().join("silent.sock");
    // Connections are taken by the kernel; nobody answers them.
    let _silent = UnixListener::bind(&socket).unwrap();
    let mut session = super::Start { socket, ..world.start() }.session();
    session.wait_for("[2 Repos]");
    session.wait_for("loading repositories");
    session.type_("?");
    session.wait_for("Help: Repositories");
    session.type_("\x1b");
    session.leave();
}

#[test]
fn a_daemon_that_is_nowhere_is_named() {
    let world = World::new();
    let mut session = super::Start { words: &["--socket", "/nonexistent/s"], ..world.start() }.session();
    session.wait_for("cannot reach the socket /nonexistent/s");
    session.wait_for("start it with");
    session.type_("q");
    assert_eq!(session.ended().code(), Some(0));
}

#[test]
fn signals_end_it_in_order() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let world = World::new();
        let mut session = world.start().session();
        session.wait_for("octo/tool");
        session.signal(signal);
        assert_eq!(session.ended().code(), Some(code));
        restored(&session);
    }
}

#[test]
fn signals_end_it_on_a_terminal_that_nobody_reads() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let world = World::new();
        let mut session = world.start().session();
        session.wait_for("octo/tool");
        session.stop_reading();
        fill(&session);
        // The next picture finds no room.
        session.type_("?");
        session.signal(signal);
        assert_eq!(session.ended().code(), Some(code));
        usual_modes(&session);
    }
}

/// Writes until the terminal takes no more.
fn fill(session: &Session) {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let mut terminal = File::options().write(true).custom_flags(nonblocking).open(&session.name).unwrap();
    // What is left after the large pieces is filled byte by byte.
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
fn a_terminal_that_went_away_takes_the_program_with_it() {
    // The signal of a hang-up may be ignored by whoever started the program.
    for script in ["exec \"$0\" \"$@\"", "trap '' HUP; exec \"$0\" \"$@\""] {
        let world = World::new();
        let mut session = super::Start { script: Some(script), ..world.start() }.session();
        session.wait_for("octo/tool");
        session.hang_up();
        let status = session.ended();
        assert_eq!(status.code().or(status.signal()), Some(129), "{script}");
    }
}

#[test]
fn a_hang_up_that_is_only_said_ends_it_without_a_word() {
    let world = World::new();
    let mut session = world.start().session();
    session.wait_for("octo/tool");
    session.wait("the mark of the link", |screen| screen.contents().contains(" ok"));
    let before = session.count();
    session.signal(Signal::HUP);
    let status = session.ended();
    assert_eq!(status.code().or(status.signal()), Some(129));
    assert_eq!(session.count(), before, "nothing is written to a terminal that may be gone");
}

#[test]
fn it_stops_like_any_other_program_and_goes_on_where_it_was() {
    let world = World::new();
    let script = "set -m; \"$0\" \"$@\"; echo stopped; read line; fg >/dev/null; exit $?";
    let mut session = super::Start { script: Some(script), ..world.start() }.session();
    session.wait_for("octo/tool");
    session.type_("?");
    session.wait_for("Help: Repositories");
    session.type_("\x1a");
    session.wait_for("stopped");
    restored(&session);
    let asked = || world.fake.state().seen.iter().filter(|one| one.contains("/repos/search")).count();
    let before = asked();
    session.resize((120, 40));
    session.type_("\n");
    session.wait("the same screen in another size", |screen| {
        let bottom = screen.rows(0, 120).last();
        screen.alternate_screen()
            && screen.bracketed_paste()
            && screen.contents().contains("Help: Repo")
            && screen.rows(0, 120).next().is_some_and(|tabs| tabs.chars().count() > 80)
            && bottom.is_some_and(|row| row.contains("Esc close"))
    });
    session.type_("\x1b");
    session.wait_at("octo/tool");
    super::until("another look at what is shown", || asked() > before);
    session.leave();
}

#[test]
fn another_size_is_another_picture() {
    let world = World::new();
    let session = world.start().session();
    session.wait_for("octo/tool");
    for (size, text) in [((30, 8), "terminal too small"), ((120, 40), "[Overview]"), ((40, 10), "[2 Repos]")] {
        session.resize(size);
        session.wait_for(text);
    }
    session.leave();
}

#[test]
fn a_storm_of_sizes_ends_in_the_last_one() {
    let world = World::new();
    let mut session = world.start().session();
    session.wait_for("octo/tool");
    // Any sequence without a pattern would do.
    let mut odd = 7_u64;
    for _ in 0..200 {
        odd = odd.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (columns, rows) = ((odd >> 33) % 250 + 1, (odd >> 50) % 80 + 1);
        session.resize((columns.try_into().unwrap(), rows.try_into().unwrap()));
    }
    session.resize((80, 24));
    session.type_("?");
    session.wait("help in the last size", |screen| {
        screen.rows(0, 80).last().is_some_and(|row| row.contains("Esc close")) && screen.contents().contains("Help")
    });
    session.type_("\x1b");
    session.wait_at("octo/tool");
    assert!(rustix::termios::tcgetwinsize(session.terminal.as_fd()).unwrap().ws_col == 80);
    session.leave();
}
