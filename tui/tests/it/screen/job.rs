//! `farrier ci exec` on a terminal: the command reads typed input, and the keys that interrupt and suspend it work.

use super::{Session, SessionOptions, wait_until};
use crate::program::Sandbox;

/// Reads a line, and then waits until it is interrupted. Starts no process after that line, because a shell that is
/// suspended while it starts a process does not always continue.
const COMMAND: &str = "trap 'echo heard; exit 5' INT; sleep 600 & echo ready; read line; echo \"got $line\"; wait";
/// A shell with job control.
const SHELL: &str = "set -m; \"$0\" \"$@\"; echo \"first $?\"; fg; echo \"last $?\"; read end";

#[test]
fn a_command_on_a_terminal_reads_input_and_can_be_suspended_continued_and_interrupted() {
    let sandbox = Sandbox::new();
    let words = ["ci", "exec", "--repo", "o/r", "--", "sh", "-c", COMMAND];
    let mut session = SessionOptions { words: &words, script: Some(SHELL), ..sandbox.session_options() }.session();
    session.wait_for("ready");
    session.type_keys("hello\r");
    session.wait_for("got hello");
    let foreground = |session: &Session| rustix::termios::tcgetpgrp(session.master.as_ref().unwrap()).ok();
    let command = foreground(&session);
    session.type_keys("\x1a");
    // 128 + SIGTSTP: the shell sees that the program is suspended, not only the command.
    session.wait_for("first 148");
    // Until the shell continues the job, Ctrl-C interrupts the shell.
    wait_until("the command to be in the foreground again", || foreground(&session) == command);
    session.type_keys("\x03");
    session.wait_for("last 5");
    assert_eq!(sandbox.fake.state().ended, ["failure"]);
}
