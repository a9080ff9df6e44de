//! Descriptors that are kept back, so that the daemon can still be asked how it is when no other is free.

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

/// Descriptors that are kept.
const KEPT: usize = 8;

/// Descriptors that are only there to be given up.
#[derive(Debug)]
pub struct Reserve {
    kept: Mutex<Vec<OwnedFd>>,
    /// Somebody had to be refused a descriptor of the ordinary ones.
    short: AtomicBool,
}

impl Default for Reserve {
    fn default() -> Self {
        let reserve = Self { kept: Mutex::default(), short: AtomicBool::new(false) };
        reserve.fill();
        reserve
    }
}

impl Reserve {
    /// Gives up one descriptor: the next that is opened finds room. `None`: none is left.
    pub fn lend(self: &Arc<Self>) -> Option<Lent> {
        let given_up = self.kept().pop()?;
        drop(given_up);
        Some(self.owed())
    }

    /// Somebody has opened a descriptor. Where it is one that should be kept, it is lent, and only to be
    /// had for a short while.
    pub(super) fn taken(self: &Arc<Self>) -> Option<Lent> {
        if !self.fill() {
            return Some(self.owed());
        }
        if self.short.load(Ordering::Relaxed) && self.has_room() && self.short.swap(false, Ordering::Relaxed) {
            tracing::info!("descriptors are free again");
        }
        None
    }

    /// No descriptor was free. Said once, until many are.
    pub(super) fn is_short(&self, error: &io::Error) {
        if !self.short.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "no descriptor is free: new connections get one request each");
        }
    }

    /// Keeps as many as there should be; whether there was room for them.
    fn fill(&self) -> bool {
        let mut kept = self.kept();
        while kept.len() < KEPT {
            let Ok(fd) = spare() else { return false };
            kept.push(fd);
        }
        true
    }

    /// Whether as many again could be kept: one that is free for a moment changes nothing.
    fn has_room(&self) -> bool {
        let _kept = self.kept();
        (0..KEPT).map(|_| spare()).collect::<Result<Vec<_>, _>>().is_ok()
    }

    fn owed(self: &Arc<Self>) -> Lent {
        Lent(Arc::clone(self))
    }

    fn kept(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spare() -> Result<OwnedFd, Errno> {
    eventfd(0, EventfdFlags::CLOEXEC)
}

/// Room for one descriptor. It is taken back when this goes, which is to be after the descriptor.
#[derive(Debug)]
pub struct Lent(Arc<Reserve>);

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.fill();
    }
}

/// Whether the process, or the machine, has no room for another descriptor.
pub(super) fn is_exhausted(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_comes_back() {
        let reserve = Arc::new(Reserve::default());
        let all: Vec<Lent> = (0..KEPT).filter_map(|_| reserve.lend()).collect();
        assert_eq!(all.len(), KEPT);
        assert!(reserve.lend().is_none());
        drop(all);
        assert!(reserve.lend().is_some());
        assert!(reserve.taken().is_none(), "there is room for all");
    }

    #[test]
    fn only_a_full_table_is_exhausted() {
        assert!(is_exhausted(&Errno::MFILE.into()));
        assert!(!is_exhausted(&Errno::CONNABORTED.into()) && !is_exhausted(&io::Error::other("x")));
    }
}
