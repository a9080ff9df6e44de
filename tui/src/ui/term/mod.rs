//! Owns the terminal while the full screen runs.
//!
//! Switches on raw mode, the alternate screen and bracketed paste, and restores the terminal exactly once on every
//! exit: normal exit, panic, signal, suspension. After a hang-up it writes nothing.

mod backend;
mod input;
mod keys;
mod look;

use std::{
    fs::File,
    io::{self, Write as _},
    os::fd::AsFd as _,
    sync::atomic::{AtomicBool, Ordering},
};

use crossterm::{
    cursor::{Hide, Show},
    queue,
    style::{Print, ResetColor},
    terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use ratatui::layout::Size;

use super::report::{self, Report};
use crate::endpoint::variable;

pub(crate) use self::{
    backend::AnsiBackend,
    input::{
        InputEvent, InputPause, PausePoint, is_closed, is_sync_answer_in_time, listen, pausable_input, query_sync,
        wait_for_hangup,
    },
};

/// Bracketed paste, which distinguishes pasted text from keys.
const PASTE: &str = "\x1b[?2004h";
const NO_PASTE: &str = "\x1b[?2004l";
/// Clicks and the wheel, in the SGR form, which has no maximum column.
const MOUSE: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const NO_MOUSE: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

static ACQUIRED: AtomicBool = AtomicBool::new(false);
/// Whether mouse reporting is on while the terminal is acquired.
static MOUSE_ENABLED: AtomicBool = AtomicBool::new(false);

/// Guard for the acquired terminal. Dropping it restores the terminal.
#[derive(Debug)]
pub(crate) struct TerminalGuard(());

impl TerminalGuard {
    /// Acquires the terminal, and installs a panic hook that restores it and writes a report.
    pub(crate) fn acquire() -> io::Result<Self> {
        acquire()?;
        let kept = report::path(variable);
        let before = std::panic::take_hook();
        let own = std::thread::current().id();
        std::panic::set_hook(Box::new(move |panic| {
            release();
            let report = Report::of(panic);
            match &kept {
                Some(path) if report.save(path).is_ok() => {
                    // If stderr cannot be written, the report file is still available.
                    let _ = writeln!(io::stderr(), "{}", report.words(path));
                }
                // If the report cannot be written, the default hook prints the panic.
                _ => before(panic),
            }
            if std::thread::current().id() != own {
                // Without its network or input thread, the screen would not respond. The main thread, which could
                // end the program normally, waits for this thread.
                std::process::exit(101);
            }
        }));
        Ok(Self(()))
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        release();
    }
}

/// Acquires the terminal, also after another program may have changed its modes.
pub(crate) fn acquire() -> io::Result<()> {
    enable_raw_mode()?;
    ACQUIRED.store(true, Ordering::SeqCst);
    let mut begin = Vec::new();
    queue!(begin, EnterAlternateScreen, Print(PASTE), Hide, ResetColor, Clear(ClearType::All))?;
    stream()?.write_all(&begin)?;
    if MOUSE_ENABLED.load(Ordering::SeqCst) { mouse(true) } else { Ok(()) }
}

/// Restores the terminal; a second call does nothing.
pub(crate) fn release() {
    if ACQUIRED.swap(false, Ordering::SeqCst) {
        // An error is ignored: a terminal that cannot be written does not need the reset.
        let _ = leave();
        let _ = disable_raw_mode();
    }
}

fn leave() -> io::Result<()> {
    let mut end = Vec::new();
    queue!(end, ResetColor, Print(NO_MOUSE), Print(NO_PASTE), Show, LeaveAlternateScreen)?;
    stream()?.write_all(&end)
}

/// Restores the modes that need no writing: for a terminal that nothing reads any more, and while
/// another thread waits there in the middle of [`release`].
pub(crate) fn abandon() {
    ACQUIRED.store(false, Ordering::SeqCst);
    // Repeating it does no harm.
    let _ = disable_raw_mode();
}

/// Returns the terminal as an unbuffered file: a frame is one write.
pub(crate) fn stream() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Turns mouse reporting on or off.
pub(crate) fn mouse(on: bool) -> io::Result<()> {
    MOUSE_ENABLED.store(on, Ordering::SeqCst);
    stream()?.write_all(if on { MOUSE } else { NO_MOUSE }.as_bytes())
}

/// Rings the bell.
pub(crate) fn bell() -> io::Result<()> {
    stream()?.write_all(b"\x07")
}

/// Sets the title of the terminal's window. Control characters are removed.
pub(crate) fn title(text: &str) -> io::Result<()> {
    write!(stream()?, "\x1b]2;{}\x07", crate::output::clean_line(text))
}

/// Returns the size of the terminal.
pub(crate) fn size() -> io::Result<Size> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout())?;
    // If the terminal does not report its size, 80 by 24 is assumed.
    let or = |n: u16, usual: u16| if n == 0 { usual } else { n };
    Ok(Size::new(or(size.ws_col, 80), or(size.ws_row, 24)))
}

#[cfg(test)]
mod tests;
