//! The full screen on a pseudo-terminal, as a person has it: start, keys, sizes, signals, the end.

use std::{
    fs::File,
    io::{PipeWriter, Read as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, ExitStatus},
    sync::{Arc, Condvar, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};

use crate::program::World;

/// Nothing takes this long; only a bug does.
const BOUND: Duration = Duration::from_secs(60);

type Shown = Arc<(Mutex<vt100::Parser>, Condvar)>;

/// A program on a terminal of its own.
struct Session {
    /// Keys go in here; dropping it and the reader's hangs the terminal up.
    master: Option<File>,
    /// Dropping it ends the reader.
    reading: Option<(PipeWriter, JoinHandle<()>)>,
    /// Without anybody at this end, what was written would be lost with the program.
    terminal: File,
    shown: Shown,
    child: Child,
}

impl Session {
    fn start(world: &World, before: Option<&str>) -> Self {
        Self::with(world, before, &[])
    }

    fn with(world: &World, before: Option<&str>, words: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(&name).unwrap();
        resize(&terminal, 80, 24);
        let mut program = world.command();
        program.args(words);
        // Hang-ups are about a session with a terminal of its own; the end of one takes away what was
        // not read yet, so that only tests of hang-ups have one.
        let script = format!("{} exec \"$0\" \"$@\"", before.unwrap_or_default());
        #[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
        let mut command = if before.is_some() { Command::new("setsid") } else { Command::new("sh") };
        if before.is_some() {
            command.args(["--ctty", "sh"]);
        }
        command.args(["-c", &script]).arg(program.get_program()).args(program.get_args());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm").env("LANG", "C.UTF-8").env_remove("LC_ALL").env_remove("NO_COLOR");
        let end = || terminal.try_clone().unwrap();
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let shown = Shown::new((Mutex::new(vt100::Parser::default()), Condvar::new()));
        let master = File::from(master);
        let reading = Some(read_on(master.try_clone().unwrap(), Arc::clone(&shown)));
        Self { master: Some(master), reading, terminal, shown, child }
    }

    fn type_(&mut self, keys: &str) {
        self.master.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    #[track_caller]
    fn wait(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let (parser, changed) = &*self.shown;
        let until = Instant::now() + BOUND;
        let mut parser = parser.lock().unwrap();
        while !holds(parser.screen()) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what} did not come:\n{}", parser.screen().contents());
            parser = changed.wait_timeout(parser, left).unwrap().0;
        }
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        self.wait(text, |screen| screen.contents().contains(text));
    }

    fn hang_up(&mut self) {
        let (stop, reader) = self.reading.take().unwrap();
        drop(stop);
        reader.join().unwrap();
        self.master = None;
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    #[track_caller]
    fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + BOUND;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "the program does not end");
            std::thread::yield_now();
        }
    }
}

/// Reads what the program draws until it is told to stop.
#[expect(clippy::disallowed_methods, reason = "the terminal needs somebody who reads it beside the test")]
fn read_on(mut from: File, shown: Shown) -> (PipeWriter, JoinHandle<()>) {
    let (stop, told) = std::io::pipe().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        loop {
            let mut both = [PollFd::new(&from, PollFlags::IN), PollFd::new(&stop, PollFlags::IN)];
            poll(&mut both, None).unwrap();
            let (come, over) = (both[0].revents(), both[1].revents());
            if !over.is_empty() {
                return;
            }
            let Ok(count @ 1..) = from.read(&mut bytes) else { return };
            assert!(!come.is_empty());
            shown.0.lock().unwrap().process(&bytes[..count]);
            shown.1.notify_all();
        }
    });
    (told, reader)
}

fn resize(terminal: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// The terminal is as it was: its modes and what it shows.
#[track_caller]
fn restored(session: &Session) {
    let shown = &session.shown;
    let modes = tcgetattr(&session.terminal).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
    let until = Instant::now() + BOUND;
    let mut parser = shown.0.lock().unwrap();
    while parser.screen().alternate_screen() {
        let left = until.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "the alternate screen stays");
        parser = shown.1.wait_timeout(parser, left).unwrap().0;
    }
    let screen = parser.screen();
    assert!(!screen.hide_cursor() && !screen.bracketed_paste());
}

#[test]
fn it_opens_shows_what_there_is_and_leaves_no_trace() {
    let world = World::new();
    let mut session = Session::start(&world, None);
    session.wait_for("octo/tool");
    session.wait("the screen of its own", |screen| screen.alternate_screen() && screen.bracketed_paste());
    session.type_("\r");
    session.wait_for("[Overview]");
    session.type_("qq");
    let status = session.ended();
    assert_eq!(status.code(), Some(0));
    restored(&session);
}

#[test]
fn keys_that_come_in_pieces_are_keys_and_pastes_are_not() {
    let world = World::new();
    let mut session = Session::start(&world, None);
    session.wait_for("octo/tool");
    session.type_("\x1b[200~q\nD\x03\x1b[201~?");
    session.wait_for("Help: Repositories");
    for piece in ["\x1b", "[", "B"] {
        session.type_(piece);
    }
    session.type_("filter");
    // A torn arrow that counted as Escape would have closed the help.
    session.wait_for("search: filter");
    session.type_("\x03");
    assert_eq!(session.ended().code(), Some(0));
}

#[test]
fn another_size_is_another_picture() {
    let world = World::new();
    let mut session = Session::start(&world, None);
    session.wait_for("octo/tool");
    for (columns, rows, text) in [(30, 8, "terminal too small"), (120, 40, "[Overview]"), (40, 10, "[2 Repos]")] {
        let terminal = session.master.as_ref().unwrap();
        session.shown.0.lock().unwrap().screen_mut().set_size(rows.try_into().unwrap(), columns.try_into().unwrap());
        resize(terminal, columns, rows);
        session.signal(Signal::WINCH);
        session.wait_for(text);
    }
    session.type_("q");
    assert_eq!(session.ended().code(), Some(0));
}

#[test]
fn signals_end_it_in_order() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let world = World::new();
        let mut session = Session::start(&world, None);
        session.wait_for("octo/tool");
        session.signal(signal);
        let status = session.ended();
        assert_eq!(status.code(), Some(code));
        restored(&session);
    }
}

#[test]
fn a_terminal_that_went_away_takes_the_program_with_it() {
    // The signal of a hang-up may be ignored by whoever started the program.
    for before in [Some(""), Some("trap '' HUP;")] {
        let world = World::new();
        let mut session = Session::start(&world, before);
        session.wait_for("octo/tool");
        session.hang_up();
        let status = session.ended();
        assert_eq!(status.code().or(status.signal()), Some(129), "{before:?}");
    }
}

#[test]
fn a_daemon_that_is_nowhere_is_named() {
    let world = World::new();
    let mut session = Session::with(&world, None, &["--socket", "/nonexistent/s"]);
    session.wait_for("cannot reach the socket /nonexistent/s");
    session.wait_for("start one with");
    session.type_("q");
    assert_eq!(session.ended().code(), Some(0));
}
