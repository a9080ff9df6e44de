//! A daemon that is suspended by a signal: its socket accepts connections, but nothing answers.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use super::SessionOptions;
use crate::session::Daemon;

/// The daemon as a separate process that a signal can suspend.
struct DaemonProcess {
    child: Child,
    socket: String,
    _output: BufReader<ChildStdout>,
}

impl DaemonProcess {
    #[expect(clippy::disallowed_methods, reason = "the daemon must be another process than the test")]
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "screen::unresponsive::a_daemon_for_another_test", "--ignored", "--nocapture"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let socket = loop {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "the daemon does not start");
            if let Some((_, socket)) = line.trim_end().split_once("SOCKET ") {
                break socket.to_owned();
            }
        };
        Self { child, socket, _output: output }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        // The process ends and removes its data when its input is closed.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "started by the test below"]
fn a_daemon_for_another_test() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    println!("\nSOCKET {}", daemon.socket().display());
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn a_suspended_daemon_and_its_return_are_reported() {
    let daemon = DaemonProcess::start();
    let work = tempfile::tempdir().unwrap();
    let start = SessionOptions {
        socket: daemon.socket.clone().into(),
        directory: work.path().to_owned(),
        words: &[],
        env: &[],
        size: (80, 24),
        script: None,
    };
    let mut session = start.session();
    session.wait_for("admin/demo");
    session.wait_for(" ok");
    daemon.signal(Signal::STOP);
    session.wait_for("no answer for ");
    session.wait_for("stale ");
    session.type_keys("n\tother\x13");
    session.wait_for("s, Esc cancels");
    session.type_keys("\x1b");
    session.wait_for("Cancelled while waiting");
    daemon.signal(Signal::CONT);
    session.wait("the connection mark", |screen| {
        let header = screen.rows(0, 80).next().unwrap_or_default();
        header.ends_with(" ok") && !screen.contents().contains("stale ")
    });
    session.leave();
}
