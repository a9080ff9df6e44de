//! Tests of a panic, in a child process with a terminal of its own: the test binary starts itself.

use std::{
    io::Read as _,
    process::{Command, Stdio},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, tcgetattr},
};

use super::*;

const WHERE: &str = "FARRIER_PANICS";

#[test]
fn a_panic_restores_the_terminal_before_the_report() {
    match std::env::var(WHERE).as_deref() {
        Ok("here") => {
            let _held = TerminalGuard::acquire().unwrap();
            panic!("on purpose");
        }
        Ok(_) => {
            let _held = TerminalGuard::acquire().unwrap();
            elsewhere();
        }
        Err(_) => ["here", "elsewhere"].into_iter().for_each(panics),
    }
}

#[expect(clippy::disallowed_methods, reason = "the test is about a panic of another thread")]
fn elsewhere() {
    let _ = std::thread::spawn(|| panic!("on purpose")).join();
    panic!("the program continues without one of its threads");
}

#[expect(clippy::disallowed_methods, reason = "a test starts itself, to panic on a terminal")]
fn panics(thread: &str) {
    let home = tempfile::tempdir().unwrap();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = File::options().read(true).write(true).open(name).unwrap();
    let end = || Stdio::from(terminal.try_clone().unwrap());
    let test = "ui::term::tests::a_panic_restores_the_terminal_before_the_report";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(WHERE, thread).env("XDG_STATE_HOME", home.path());
    let status = command.stdin(end()).stdout(end()).stderr(end()).status().unwrap();
    assert_eq!(status.code(), Some(101), "{thread}");
    let modes = tcgetattr(&terminal).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{thread}");
    // The other end is closed, so that reading ends.
    drop(terminal);
    drop(command);
    let mut parser = vt100::Parser::default();
    let (mut master, mut bytes) = (File::from(master), [0; 4096]);
    while let Ok(count @ 1..) = master.read(&mut bytes) {
        parser.process(&bytes[..count]);
    }
    let screen = parser.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste(), "{thread}");
    // Long lines continue in the next row.
    let shown: String = screen.rows(0, 80).collect();
    let report = home.path().join("farrier/panic.txt");
    for part in ["farrier crashed: on purpose", report.to_str().unwrap()] {
        assert!(shown.contains(part), "{thread}, {part}: {shown}");
    }
    assert!(!shown.contains("RUST_BACKTRACE"), "{thread}: {shown}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&report).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&report).unwrap();
    for part in ["\non purpose\n", "src/ui/term/tests.rs", "rust_begin_unwind"] {
        assert!(text.contains(part), "{thread}, {part}: {text}");
    }
}
