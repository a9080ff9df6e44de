//! The terminal, while it belongs to this program.
//!
//! Owns what is switched on when it is taken (raw mode, the alternate screen, bracketed paste) and
//! that all of it is undone exactly once, on every way out: an orderly end, a panic, a signal, a
//! suspension. After a hang-up nothing is written.

mod backend;
mod input;
mod keys;
mod look;
pub(crate) mod query;
mod watch;

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
    input::{InputEvent, InputPause, PausePoint, listen, pausable_input},
    watch::wait_for_hangup,
};

/// Pastes are told from keys.
const PASTE: &str = "\x1b[?2004h";
const NO_PASTE: &str = "\x1b[?2004l";
/// Clicks and the wheel, in a form that knows no largest column.
const MOUSE: &str = "\x1b[?1000h\x1b[?1006h";
const NO_MOUSE: &str = "\x1b[?1006l\x1b[?1000l";

static ACQUIRED: AtomicBool = AtomicBool::new(false);
/// Whether the mouse is wanted whenever the terminal is held.
static MOUSE_ENABLED: AtomicBool = AtomicBool::new(false);

/// The terminal, taken. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct TerminalGuard(());

impl TerminalGuard {
    /// Takes the terminal, and sees to it that a panic gives it back before it speaks, and leaves a
    /// report.
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
                    // Whoever cannot be told finds the report.
                    let _ = writeln!(io::stderr(), "{}", report.words(path));
                }
                // What cannot be kept is said as other programs say it.
                _ => before(panic),
            }
            if std::thread::current().id() != own {
                // Without its network or its input the screen would only look alive.
                // The thread that could end in order waits for this one.
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

/// Takes the terminal; again, when somebody else may have changed it in the meantime.
pub(crate) fn acquire() -> io::Result<()> {
    enable_raw_mode()?;
    ACQUIRED.store(true, Ordering::SeqCst);
    let mut begin = Vec::new();
    queue!(begin, EnterAlternateScreen, Print(PASTE), Hide, ResetColor, Clear(ClearType::All))?;
    stream()?.write_all(&begin)?;
    if MOUSE_ENABLED.load(Ordering::SeqCst) { mouse(true) } else { Ok(()) }
}

/// Gives the terminal back; a second time does nothing.
pub(crate) fn release() {
    if ACQUIRED.swap(false, Ordering::SeqCst) {
        // A terminal that cannot be written to has no use for the rest either.
        let _ = leave();
        let _ = disable_raw_mode();
    }
}

fn leave() -> io::Result<()> {
    let mut end = Vec::new();
    queue!(end, ResetColor, Print(NO_MOUSE), Print(NO_PASTE), Show, LeaveAlternateScreen)?;
    stream()?.write_all(&end)
}

/// Gives back what can be given back without writing: for a terminal that nobody reads, also while
/// another thread waits there in the middle of [`release`].
pub(crate) fn abandon() {
    ACQUIRED.store(false, Ordering::SeqCst);
    // What was given back already stays as it is.
    let _ = disable_raw_mode();
}

/// The terminal as a file that keeps nothing back: a frame is one write.
pub(crate) fn stream() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Lets the terminal tell of the mouse, or not.
pub(crate) fn mouse(on: bool) -> io::Result<()> {
    MOUSE_ENABLED.store(on, Ordering::SeqCst);
    stream()?.write_all(if on { MOUSE } else { NO_MOUSE }.as_bytes())
}

/// Rings.
pub(crate) fn bell() -> io::Result<()> {
    stream()?.write_all(b"\x07")
}

/// Puts a text into the title of the terminal's window. What would steer it is taken out.
pub(crate) fn title(text: &str) -> io::Result<()> {
    write!(stream()?, "\x1b]2;{}\x07", crate::output::clean_line(text))
}

/// How large the terminal is.
pub(crate) fn size() -> io::Result<Size> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout())?;
    // A terminal that does not know is taken for the usual one.
    let or = |n: u16, usual: u16| if n == 0 { usual } else { n };
    Ok(Size::new(or(size.ws_col, 80), or(size.ws_row, 24)))
}

#[cfg(test)]
mod tests;
