//! Questions on the terminal: a line, or a password without an echo.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _},
};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::{blocking, child::Signals, exit::Failure};

/// Whether somebody can be asked: standard input and standard error are a terminal.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question and reads the answer, without the line break at its end.
pub(crate) async fn line(question: &str) -> Result<String, Failure> {
    read(question).await
}

/// Asks for a password; what is typed is not shown.
pub(crate) async fn secret(question: &str) -> Result<String, Failure> {
    let failed = |source| Failure::io("disabling the echo of the terminal", source);
    let quiet = Quiet::new().map_err(failed)?;
    let answer = read(question).await;
    drop(quiet);
    // The line break that was typed was not shown either.
    let _ = writeln!(io::stderr());
    answer
}

async fn read(question: &str) -> Result<String, Failure> {
    // An interrupt must not end this program before the terminal is as it was.
    let mut signals = Signals::caught().map_err(|source| Failure::io("catching signals", source))?;
    let question = question.to_owned();
    let answer = blocking::run(move || {
        let mut line = String::new();
        let asked = write!(io::stderr(), "{question}").and_then(|()| {
            // Not the standard input of the library: a byte too many in its buffer would be lost.
            BufReader::new(File::open("/dev/tty")?).read_line(&mut line)
        });
        match asked {
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

/// The terminal does not show what is typed while this value exists.
struct Quiet {
    terminal: File,
    before: Termios,
}

impl Quiet {
    fn new() -> io::Result<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&terminal)?;
        let mut without_echo = before.clone();
        without_echo.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &without_echo)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
