//! The full screen on a pseudo-terminal: tests send keys and inspect the screen that a terminal emulator makes of the
//! output.
//!
//! This module contains the terminal, its submodules the tests. Tests wait for screen contents and never for time;
//! benches measure durations.

mod day;
mod gnu_screen;
mod input;
mod job;
mod latency;
mod lifecycle;
mod management;
mod mosh;
mod operator_tasks;
mod organizations;
mod pager;
mod palette;
mod places;
mod rendering;
mod sections;
mod slow_link;
mod terminal;
mod tmux;
mod unresponsive;

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

use crate::program::{Sandbox, program};

/// Upper bound of every wait.
const BOUND: Duration = Duration::from_secs(60);

/// The output of the program.
#[derive(Default)]
struct Output {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

type SharedOutput = Arc<(Mutex<Output>, Condvar)>;

/// How to start a session.
pub(crate) struct SessionOptions<'a> {
    pub(crate) socket: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) words: &'a [&'a str],
    pub(crate) env: &'a [(&'a str, &'a str)],
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// A shell script that runs in a session of its own with this terminal. `$0` and `$@` start the program.
    pub(crate) script: Option<&'a str>,
}

/// A program on its own terminal.
pub(crate) struct Session {
    /// Keys are written here. Dropping it and the reader's copy hangs up the terminal.
    master: Option<File>,
    /// Dropping it stops the reader.
    reading: Option<(PipeWriter, JoinHandle<()>)>,
    /// Kept open: otherwise unread output would be lost when the program ends.
    terminal: File,
    name: String,
    output: SharedOutput,
    child: Child,
}

impl SessionOptions<'_> {
    pub(crate) fn session(&self) -> Session {
        let (master, mut session) = self.start();
        let output = Arc::clone(&session.output);
        session.reading = Some(start_reader(master.try_clone().unwrap(), move |bytes| show(&output, bytes)));
        session.master = Some(master);
        session
    }

    /// Starts the program. The caller connects the returned end of the terminal with the session.
    fn start(&self) -> (File, Session) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(&name).unwrap();
        set_size(&terminal, self.size);
        let parser = vt100::Parser::new(self.size.1.try_into().unwrap(), self.size.0.try_into().unwrap(), 0);
        let output = SharedOutput::new((Mutex::new(Output { parser, bytes: Vec::new() }), Condvar::new()));
        let end = || terminal.try_clone().unwrap();
        let child = self.command().stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        (File::from(master), Session { master: None, reading: None, terminal, name, output, child })
    }

    fn command(&self) -> Command {
        let mut program = program(&self.directory);
        program.env("FARRIER_SOCKET", &self.socket).args(self.words);
        program.env("TERM", "xterm").env("LANG", "C.UTF-8").envs(self.env.iter().copied());
        let Some(script) = self.script else { return program };
        // Only tests that need it get a session with a controlling terminal: when such a session ends, unread output is
        // lost.
        #[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
        let mut command = Command::new("setsid");
        command.args(["--ctty", "sh", "-c", script]).arg(program.get_program()).args(program.get_args());
        command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(&self.directory);
        command
    }
}

impl Session {
    pub(crate) fn type_keys(&mut self, keys: impl AsRef<[u8]>) {
        self.master.as_mut().unwrap().write_all(keys.as_ref()).unwrap();
    }

    /// Types `keys` and waits until the program has read them, so that further keys arrive in another read.
    fn type_keys_separately(&mut self, keys: impl AsRef<[u8]>) {
        self.type_keys(keys);
        wait_until("the program to read the keys", || rustix::io::ioctl_fionread(&self.terminal).unwrap() == 0);
    }

    #[track_caller]
    pub(crate) fn wait(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) {
        let (locked, changed) = &*self.output;
        let deadline = Instant::now() + BOUND;
        let mut locked = locked.lock().unwrap();
        while !holds(locked.parser.screen()) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "timed out waiting for {what}:\n{}", locked.parser.screen().contents());
            locked = changed.wait_timeout(locked, left).unwrap().0;
        }
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait(text, |screen| screen.contents().contains(text));
    }

    /// Waits until the row of the cursor contains `text`.
    #[track_caller]
    pub(crate) fn wait_for_cursor_row(&self, text: &str) {
        self.wait(text, |screen| cursor_row(screen).is_some_and(|row| row.contains(text)));
    }

    /// All output of the program so far, with its escape sequences.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.output.0.lock().unwrap().bytes).into_owned()
    }

    /// Number of bytes that the program has written so far.
    fn count(&self) -> usize {
        self.output.0.lock().unwrap().bytes.len()
    }

    fn resize(&self, size: (u16, u16)) {
        self.resize_shown(size);
        set_size(self.master.as_ref().unwrap(), size);
        self.signal(Signal::WINCH);
    }

    /// Changes the size of the terminal that shows the output, which the program is not told.
    fn resize_shown(&self, size: (u16, u16)) {
        let mut locked = self.output.0.lock().unwrap();
        locked.parser.screen_mut().set_size(size.1.try_into().unwrap(), size.0.try_into().unwrap());
    }

    fn hang_up(&mut self) {
        self.stop_reading();
        self.master = None;
    }

    /// Stops reading the output of the program.
    fn stop_reading(&mut self) {
        let (stop, reader) = self.reading.take().unwrap();
        drop(stop);
        reader.join().unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    #[track_caller]
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        let deadline = Instant::now() + BOUND;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the program does not end");
            std::thread::yield_now();
        }
    }

    /// Leaves the program, which must exit with code 0.
    #[track_caller]
    pub(crate) fn leave(mut self) {
        self.type_keys("\x03");
        assert_eq!(self.wait_for_exit().code(), Some(0));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After a failed test, the program still runs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the output of the program until the returned pipe is closed, and passes it to `take`.
#[expect(clippy::disallowed_methods, reason = "the terminal needs a reader thread beside the test")]
fn start_reader(mut from: File, mut take: impl FnMut(&[u8]) + Send + 'static) -> (PipeWriter, JoinHandle<()>) {
    let (stop, stop_receiver) = std::io::pipe().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        loop {
            let mut both = [PollFd::new(&from, PollFlags::IN), PollFd::new(&stop, PollFlags::IN)];
            poll(&mut both, None).unwrap();
            let (readable, stopped) = (both[0].revents(), both[1].revents());
            if !stopped.is_empty() {
                return;
            }
            let Ok(count @ 1..) = from.read(&mut bytes) else { return };
            assert!(!readable.is_empty());
            take(&bytes[..count]);
        }
    });
    (stop_receiver, reader)
}

/// Shows output of the program.
fn show(output: &SharedOutput, bytes: &[u8]) {
    let mut locked = output.0.lock().unwrap();
    locked.parser.process(bytes);
    locked.bytes.extend_from_slice(bytes);
    drop(locked);
    output.1.notify_all();
}

fn set_size(terminal: &File, (columns, rows): (u16, u16)) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// Returns whether a program of the terminal is installed. A test without it is skipped, and fails where all clients
/// are required.
fn has_client(program: &str) -> bool {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = std::env::split_paths(&directories).any(|directory| directory.join(program).is_file());
    if !is_installed {
        assert!(std::env::var_os("FARRIER_REQUIRE_CLIENTS").is_none(), "{program} is not installed");
        println!("skipped: {program} is not installed");
    }
    is_installed
}

/// Waits for a condition that the screen does not show.
#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + BOUND;
    while !holds() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::yield_now();
    }
}

/// Waits until the list is requested again. By then, the responses that followed the start are drawn.
#[track_caller]
fn wait_for_refresh(sandbox: &Sandbox) {
    let searches = || sandbox.fake.state().requests.iter().filter(|one| one.contains("/repos/search")).count();
    let before = searches();
    wait_until("another search request", || searches() > before);
}

/// The row with the cursor of the list.
pub(crate) fn cursor_row(screen: &vt100::Screen) -> Option<String> {
    screen.rows(0, screen.size().1.get()).find(|row| row.starts_with('>'))
}

/// Checks that the terminal has its original modes and screen.
#[track_caller]
fn assert_restored(session: &Session) {
    assert_usual_modes(session);
    session.wait("the screen from before", |screen| !screen.alternate_screen());
    session.wait("a cursor and plain pastes", |screen| !screen.hide_cursor() && !screen.bracketed_paste());
}

#[track_caller]
fn assert_usual_modes(session: &Session) {
    let modes = tcgetattr(&session.terminal).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
}
