//! The full screen on a pseudo-terminal, as a person has it: keys go in, and what the bytes that come
//! out make of a terminal is looked at.
//!
//! Here is the terminal; the tests stand in modules. They wait for what is to be seen and never for
//! time: how long something takes is measured by benches.

mod day;
mod input;
mod job;
mod life;
mod pager;
mod parts;
mod pictures;
mod silence;
mod terminal;

use std::{
    fs::File,
    io::{PipeWriter, Read as _, Write as _},
    path::PathBuf,
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

use crate::program::program;

/// Nothing takes this long; only a bug does.
const BOUND: Duration = Duration::from_secs(60);

/// What came out of the program.
#[derive(Default)]
struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

type Shown = Arc<(Mutex<Seen>, Condvar)>;

/// How a session begins.
pub(crate) struct Start<'a> {
    pub(crate) socket: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) words: &'a [&'a str],
    pub(crate) env: &'a [(&'a str, &'a str)],
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// What a shell does before, in a session of its own with this terminal. `$0` and `$@` start the
    /// program.
    pub(crate) script: Option<&'a str>,
}

/// A program on a terminal of its own.
pub(crate) struct Session {
    /// Keys go in here; dropping it and the reader's hangs the terminal up.
    master: Option<File>,
    /// Dropping it ends the reader.
    reading: Option<(PipeWriter, JoinHandle<()>)>,
    /// Without anybody at this end, what was written would be lost with the program.
    terminal: File,
    name: String,
    shown: Shown,
    child: Child,
}

impl Start<'_> {
    pub(crate) fn session(&self) -> Session {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(&name).unwrap();
        set_size(&terminal, self.size);
        let parser = vt100::Parser::new(self.size.1.try_into().unwrap(), self.size.0.try_into().unwrap(), 0);
        let shown = Shown::new((Mutex::new(Seen { parser, bytes: Vec::new() }), Condvar::new()));
        let end = || terminal.try_clone().unwrap();
        let child = self.command().stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let master = File::from(master);
        let reading = Some(read_on(master.try_clone().unwrap(), Arc::clone(&shown)));
        Session { master: Some(master), reading, terminal, name, shown, child }
    }

    fn command(&self) -> Command {
        let mut program = program(&self.directory);
        program.env("FARRIER_SOCKET", &self.socket).args(self.words);
        program.env("TERM", "xterm").env("LANG", "C.UTF-8").envs(self.env.iter().copied());
        let Some(script) = self.script else { return program };
        // Only tests about it have a session with the terminal: the end of one takes away what was not
        // read yet.
        #[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
        let mut command = Command::new("setsid");
        command.args(["--ctty", "sh", "-c", script]).arg(program.get_program()).args(program.get_args());
        command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(&self.directory);
        command
    }
}

impl Session {
    pub(crate) fn type_(&mut self, keys: impl AsRef<[u8]>) {
        self.master.as_mut().unwrap().write_all(keys.as_ref()).unwrap();
    }

    /// Types, and waits until somebody has read it: what is typed next comes in another piece.
    fn type_apart(&mut self, keys: impl AsRef<[u8]>) {
        self.type_(keys);
        until("a reader of what is typed", || rustix::io::ioctl_fionread(&self.terminal).unwrap() == 0);
    }

    #[track_caller]
    pub(crate) fn wait(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let (seen, changed) = &*self.shown;
        let until = Instant::now() + BOUND;
        let mut seen = seen.lock().unwrap();
        while !holds(seen.parser.screen()) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what} did not come:\n{}", seen.parser.screen().contents());
            seen = changed.wait_timeout(seen, left).unwrap().0;
        }
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait(text, |screen| screen.contents().contains(text));
    }

    /// Waits until the cursor's row holds `text`.
    #[track_caller]
    pub(crate) fn wait_at(&self, text: &str) {
        self.wait(text, |screen| cursor_row(screen).is_some_and(|row| row.contains(text)));
    }

    /// Everything that the program wrote so far, with its escape sequences.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.shown.0.lock().unwrap().bytes).into_owned()
    }

    /// How many bytes came so far.
    fn count(&self) -> usize {
        self.shown.0.lock().unwrap().bytes.len()
    }

    fn resize(&self, size: (u16, u16)) {
        let mut seen = self.shown.0.lock().unwrap();
        seen.parser.screen_mut().set_size(size.1.try_into().unwrap(), size.0.try_into().unwrap());
        drop(seen);
        set_size(self.master.as_ref().unwrap(), size);
        self.signal(Signal::WINCH);
    }

    fn hang_up(&mut self) {
        self.stop_reading();
        self.master = None;
    }

    /// Nobody looks at the terminal any more.
    fn stop_reading(&mut self) {
        let (stop, reader) = self.reading.take().unwrap();
        drop(stop);
        reader.join().unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + BOUND;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "the program does not end");
            std::thread::yield_now();
        }
    }

    /// Leaves, and the program has nothing against it.
    #[track_caller]
    pub(crate) fn leave(mut self) {
        self.type_("\x03");
        assert_eq!(self.ended().code(), Some(0));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After a test that failed nobody else ends it.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
            let mut seen = shown.0.lock().unwrap();
            seen.parser.process(&bytes[..count]);
            seen.bytes.extend_from_slice(&bytes[..count]);
            drop(seen);
            shown.1.notify_all();
        }
    });
    (told, reader)
}

fn set_size(terminal: &File, (columns, rows): (u16, u16)) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// Waits for something that is not to be seen.
#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + BOUND;
    while !holds() {
        assert!(Instant::now() < until, "{what} did not come");
        std::thread::yield_now();
    }
}

/// The row that the list's cursor is in.
pub(crate) fn cursor_row(screen: &vt100::Screen) -> Option<String> {
    screen.rows(0, screen.size().1.get()).find(|row| row.starts_with('>'))
}

/// The terminal is as it was: its modes and what it shows.
#[track_caller]
fn restored(session: &Session) {
    usual_modes(session);
    session.wait("the screen from before", |screen| !screen.alternate_screen());
    session.wait("a cursor and plain pastes", |screen| !screen.hide_cursor() && !screen.bracketed_paste());
}

#[track_caller]
fn usual_modes(session: &Session) {
    let modes = tcgetattr(&session.terminal).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
}
