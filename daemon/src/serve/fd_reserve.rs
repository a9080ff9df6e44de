//! Spare file descriptors, so that the daemon still answers health checks when the process has run out of them.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::{
    event::{EventfdFlags, eventfd},
    io::Errno,
};

/// Number of spare descriptors.
const KEPT: usize = 8;

/// Holds spare file descriptors. Closing one of them makes room for a descriptor that is needed.
#[derive(Debug)]
pub struct FdReserve {
    kept: Mutex<Vec<OwnedFd>>,
    /// Whether an `accept` has failed because no descriptor was free.
    short: AtomicBool,
}

impl Default for FdReserve {
    fn default() -> Self {
        let reserve = Self { kept: Mutex::default(), short: AtomicBool::new(false) };
        reserve.fill();
        reserve
    }
}

impl FdReserve {
    /// Closes one spare descriptor, so that the next `open` or `accept` succeeds. `None`: no spare descriptor is left.
    pub fn acquire(self: &Arc<Self>) -> Option<FdGuard> {
        let spare = self.kept().pop()?;
        drop(spare);
        Some(self.guard())
    }

    /// Refills the reserve after a connection was accepted. If that fails, the connection uses up a spare
    /// descriptor: the caller gets a guard and closes the connection soon.
    pub(super) fn after_accept(self: &Arc<Self>) -> Option<FdGuard> {
        if !self.fill() {
            return Some(self.guard());
        }
        if self.short.load(Ordering::Relaxed) && self.has_room() && self.short.swap(false, Ordering::Relaxed) {
            tracing::info!("file descriptors are available again");
        }
        None
    }

    /// Records that no descriptor was free. Logs this once, until descriptors are free again.
    pub(super) fn note_exhausted(&self, error: &io::Error) {
        if !self.short.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "no file descriptor is free: each new connection gets one request only");
        }
    }

    /// Opens spare descriptors up to [`KEPT`]. Returns whether that succeeded.
    fn fill(&self) -> bool {
        let mut kept = self.kept();
        while kept.len() < KEPT {
            let Ok(fd) = spare() else { return false };
            kept.push(fd);
        }
        true
    }

    /// Returns whether another [`KEPT`] descriptors could be opened. A single free descriptor is not enough.
    fn has_room(&self) -> bool {
        let _kept = self.kept();
        (0..KEPT).map(|_| spare()).collect::<Result<Vec<_>, _>>().is_ok()
    }

    fn guard(self: &Arc<Self>) -> FdGuard {
        FdGuard(Arc::clone(self))
    }

    fn kept(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spare() -> Result<OwnedFd, Errno> {
    eventfd(0, EventfdFlags::CLOEXEC)
}

/// Represents one used spare descriptor. Dropping it refills the reserve, so drop it after the descriptor is closed.
#[derive(Debug)]
pub struct FdGuard(Arc<FdReserve>);

impl Drop for FdGuard {
    fn drop(&mut self) {
        self.0.fill();
    }
}

/// Returns whether `error` says that the process or the machine has no free descriptor.
pub(super) fn is_exhausted(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_guards_refill_the_reserve() {
        let reserve = Arc::new(FdReserve::default());
        let all: Vec<FdGuard> = (0..KEPT).filter_map(|_| reserve.acquire()).collect();
        assert_eq!(all.len(), KEPT);
        assert!(reserve.acquire().is_none());
        drop(all);
        assert!(reserve.acquire().is_some());
        assert!(reserve.after_accept().is_none(), "all spare descriptors are open");
    }

    #[test]
    fn only_full_descriptor_tables_count_as_exhausted() {
        assert!(is_exhausted(&Errno::MFILE.into()));
        assert!(!is_exhausted(&Errno::CONNABORTED.into()) && !is_exhausted(&io::Error::other("x")));
    }
}
