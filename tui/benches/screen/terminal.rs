//! Runs the program on a pseudo-terminal and measures response times.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::process::Process;

/// Time limit of every wait.
const BOUND: Duration = Duration::from_secs(60);
/// A picture is complete after a pause of this length, which is longer than the interval between pictures.
const WHOLE: Duration = Duration::from_millis(45);
/// Longer than the pause after which details of the selected row are requested.
const DETAILS: Duration = Duration::from_millis(200);

pub(crate) struct Terminal {
    master: File,
    child: Child,
    parser: vt100::Parser,
    pub(crate) begun: Instant,
    pub(crate) bytes: usize,
}

impl Terminal {
    #[expect(clippy::disallowed_methods, reason = "what is measured is the program itself")]
    pub(crate) fn start(directory: &Path, socket: &Path, (columns, rows): (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(name).unwrap();
        tcsetwinsize(&terminal, window((columns, rows))).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_farrier"));
        command.env_clear().env("HOME", directory).env("TERM", "xterm").env("LANG", "C.UTF-8");
        command.env("FARRIER_SOCKET", socket).env("PATH", "/usr/bin:/bin").current_dir(directory);
        let end = || terminal.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(end());
        let begun = Instant::now();
        let child = command.spawn().unwrap();
        Self { master: master.into(), child, parser: parser((columns, rows)), begun, bytes: 0 }
    }

    /// Changes the size of the terminal and waits until the program has drawn everything again.
    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        tcsetwinsize(&self.master, window(size)).unwrap();
        self.parser = parser(size);
        // The pseudo-terminal is not the controlling terminal, so that the kernel sends no signal.
        kill_process(Pid::from_child(&self.child), Signal::WINCH).unwrap();
        self.rest();
    }

    pub(crate) fn process(&self) -> Process {
        Process(self.child.id())
    }

    pub(crate) fn type_(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for output and reads it. Returns whether there was any.
    pub(crate) fn take(&mut self, wait: Duration) -> bool {
        let wait = Timespec::try_from(wait).unwrap();
        if poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&wait)).unwrap() == 0 {
            return false;
        }
        let mut bytes = [0; 1 << 12];
        // A terminal without a program at its other end cannot be read.
        let Ok(count) = self.master.read(&mut bytes) else { return false };
        self.parser.process(&bytes[..count]);
        self.bytes += count;
        true
    }

    /// Reads output until there is no more.
    pub(crate) fn settle(&mut self) {
        while self.take(WHOLE) {}
    }

    /// Reads output until the program has requested and drawn the details of the selected row.
    pub(crate) fn rest(&mut self) {
        while self.take(DETAILS) {}
    }

    pub(crate) fn shows(&self, text: &str) -> bool {
        self.parser.screen().contents().contains(text)
    }

    pub(crate) fn wait_for(&mut self, text: &str) {
        let begun = Instant::now();
        while !self.shows(text) {
            assert!(begun.elapsed() < BOUND, "no {text:?} on:\n{}", self.parser.screen().contents());
            self.take(Duration::from_secs(1));
        }
    }

    /// Types `key` and returns the time until the first byte of output.
    pub(crate) fn answer(&mut self, key: &str) -> Duration {
        let begun = Instant::now();
        self.type_(key);
        assert!(self.take(BOUND), "no answer to {key:?}");
        let time = begun.elapsed();
        self.settle();
        time
    }

    /// Moves the cursor to the first row. Also works if it is there already.
    pub(crate) fn go_to_first(&mut self) {
        self.type_("g");
        self.settle();
    }

    /// Closes the terminal and returns the time until the program ends.
    pub(crate) fn close(mut self) -> Duration {
        let begun = Instant::now();
        drop(self.master);
        self.child.wait().unwrap();
        begun.elapsed()
    }

    pub(crate) fn leave(mut self) {
        self.type_("\x03");
        while self.child.try_wait().unwrap().is_none() {
            self.take(Duration::from_millis(1));
        }
    }
}

fn window((columns, rows): (u16, u16)) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn parser((columns, rows): (u16, u16)) -> vt100::Parser {
    vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0)
}
