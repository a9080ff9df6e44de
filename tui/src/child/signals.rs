//! Catches signals that would end this program while a command runs.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// Receives the signals that ask a program to end.
///
/// A signal that was ignored when this program started, as under `nohup`, stays ignored, also for the command.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Option<unix::Signal>,
    terminate: Option<unix::Signal>,
    hang_up: Option<unix::Signal>,
    quit: Option<unix::Signal>,
}

impl Signals {
    /// Catches the signals from now on.
    pub(crate) fn caught() -> io::Result<Self> {
        let ignored = std::fs::read_to_string("/proc/self/status").map_or(0, |status| ignored(&status));
        let caught = |kind: SignalKind| {
            let is_ignored = ignored & (1 << (kind.as_raw_value() - 1)) != 0;
            if is_ignored { Ok(None) } else { unix::signal(kind).map(Some) }
        };
        Ok(Self {
            interrupt: caught(SignalKind::interrupt())?,
            terminate: caught(SignalKind::terminate())?,
            hang_up: caught(SignalKind::hangup())?,
            quit: caught(SignalKind::quit())?,
        })
    }

    /// Returns the next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            () = received(&mut self.interrupt) => Signal::INT,
            () = received(&mut self.terminate) => Signal::TERM,
            () = received(&mut self.hang_up) => Signal::HUP,
            () = received(&mut self.quit) => Signal::QUIT,
        }
    }
}

async fn received(signal: &mut Option<unix::Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Returns the mask of ignored signals from the text of `/proc/self/status`; bit 0 is signal 1.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_proc_status() {
        assert_eq!(ignored("Name:\tfarrier\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"), 0x1001);
        assert_eq!(ignored("SigIgn:\tnonsense\n"), 0);
        assert_eq!(ignored(""), 0);
    }
}
