//! The panic report: a file with the data that developers need to find the fault.
//!
//! Contains the version, the time, the thread, the panic message, its source location and the backtrace. Contains
//! no data of the screen, the daemon or the environment.

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

/// Message, location and thread of a panic.
#[derive(Debug)]
pub(crate) struct Report {
    message: String,
    location: String,
    thread: String,
}

/// Returns the path of the report. A new report replaces the previous one, so reports do not accumulate.
pub(crate) fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    Some(saved_state::state(variable)?.join("panic.txt"))
}

impl Report {
    pub(crate) fn of(panic: &PanicHookInfo) -> Self {
        Self {
            message: panic.payload_as_str().unwrap_or("no message").to_owned(),
            location: panic.location().map_or_else(|| "unknown location".to_owned(), ToString::to_string),
            thread: thread::current().name().unwrap_or("unnamed").to_owned(),
        }
    }

    /// Writes the report to a file that only the user can read.
    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        // The file is created anew: an existing one might be readable by others.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(path)?;
        let Self { message, location, thread } = self;
        writeln!(file, "farrier {}, {}", env!("CARGO_PKG_VERSION"), clock::now())?;
        writeln!(file, "thread {thread}, {location}\n{message}\n\n{}", Backtrace::force_capture())
    }

    /// Returns the message for the terminal after it was restored.
    pub(crate) fn words(&self, path: &Path) -> String {
        format!(
            "farrier crashed: {}\n  at {}\n  report for the developers: {}",
            self.message,
            self.location,
            path.display()
        )
    }
}
