//! Reads a line or a password from the terminal.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _},
};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::{blocking, child::Signals, exit::Failure};

/// Returns whether the user can be asked: standard input and standard error must be a terminal.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Prints a question and returns the answer without its line break.
pub(crate) async fn line(question: &str) -> Result<String, Failure> {
    read(question).await
}

/// Asks for a password. The input is not echoed.
pub(crate) async fn secret(question: &str) -> Result<String, Failure> {
    let failed = |source| Failure::io("disabling the echo of the terminal", source);
    let echo_disabled = EchoDisabled::new().map_err(failed)?;
    let answer = read(question).await;
    drop(echo_disabled);
    // The line break that the user typed was not echoed either.
    let _ = writeln!(io::stderr());
    answer
}

async fn read(question: &str) -> Result<String, Failure> {
    // An interrupt must not end this program before the terminal settings are restored.
    let mut signals = Signals::caught().map_err(|source| Failure::io("catching signals", source))?;
    let question = question.to_owned();
    let answer = blocking::run(move || {
        let mut line = String::new();
        let result = write!(io::stderr(), "{question}").and_then(|()| {
            // Not `io::stdin`: bytes left in its buffer would be lost.
            BufReader::new(File::open("/dev/tty")?).read_line(&mut line)
        });
        match result {
            Ok(0) => Err(Failure::Interrupted),
            Ok(_) => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
            Err(source) => Err(Failure::io("reading the answer", source)),
        }
    });
    tokio::select! {
        answer = answer => answer,
        _ = signals.next() => Err(Failure::Interrupted),
    }
}

/// Disables the echo of the terminal while this value exists.
struct EchoDisabled {
    terminal: File,
    before: Termios,
}

impl EchoDisabled {
    fn new() -> io::Result<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&terminal)?;
        let mut without_echo = before.clone();
        without_echo.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &without_echo)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for EchoDisabled {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
