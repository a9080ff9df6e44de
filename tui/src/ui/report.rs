//! The report of a panic: what is needed to find the mistake, in a file that can be sent along.
//!
//! Owns what stands in it: version, time, thread, the panic's own words and place, and the backtrace.
//! Nothing of the screen, of the daemon or of the environment goes into it.

use std::{
    backtrace::Backtrace,
    ffi::OsString,
    fs, io,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    panic::PanicHookInfo,
    path::{Path, PathBuf},
    thread,
};

use super::saved_state;
use crate::clock;

/// What went wrong, in the words of the panic.
#[derive(Debug)]
pub(crate) struct Report {
    message: String,
    place: String,
    thread: String,
}

/// Where it is kept. The newest takes the place of the one before, so that they never grow in number.
pub(crate) fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    Some(saved_state::state(variable)?.join("panic.txt"))
}

impl Report {
    pub(crate) fn of(panic: &PanicHookInfo) -> Self {
        Self {
            message: panic.payload_as_str().unwrap_or("no words about it").to_owned(),
            place: panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string),
            thread: thread::current().name().unwrap_or("without a name").to_owned(),
        }
    }

    /// Keeps it where only its user can read it.
    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        // A file that somebody made readable for others is not written into.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(path)?;
        let Self { message, place, thread } = self;
        writeln!(file, "farrier {}, {}", env!("CARGO_PKG_VERSION"), clock::now())?;
        writeln!(file, "thread {thread}, {place}\n{message}\n\n{}", Backtrace::force_capture())
    }

    /// What is said on the terminal that was given back.
    pub(crate) fn words(&self, path: &Path) -> String {
        format!(
            "farrier ended because of a mistake of its own: {}\n  at {}\n  a report for its makers: {}",
            self.message,
            self.place,
            path.display()
        )
    }
}
