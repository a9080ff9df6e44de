//! Control of the running daemon from inside its process: health check, configuration reload.

use std::{fmt, sync::Arc};

use tokio::sync::Semaphore;

use crate::{
    config::{self, Config},
    serve::{self, AdmissionLimits, FdGuard},
    service::{Context, WeakContext},
    tasks::Tasks,
};

/// A weak handle to the running daemon.
#[derive(Clone)]
pub struct Control(WeakContext);

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Control")
    }
}

/// The result of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadResult {
    /// Whether a value of the running daemon changed.
    pub changed: bool,
    /// Keys whose new values take effect at the next start.
    pub pending: Vec<&'static str>,
}

impl Control {
    pub(crate) fn new(context: &Context) -> Self {
        Self(context.downgrade())
    }

    /// Returns whether the daemon handles requests: a listener responds and the store can be read. Logs the reason if
    /// not. A full disk is not a failure here, because a restart would not help.
    pub async fn is_healthy(&self) -> bool {
        let Some(context) = self.0.upgrade() else { return false };
        if let Err(error) = context.store.health().await {
            tracing::error!(%error, "the store failed its health check");
            return false;
        }
        // The Unix socket is preferred: no firewall or proxy can block it.
        let listeners = &context.serving.listeners;
        let unix = listeners.iter().find(|(kind, _)| *kind == "unix");
        let Some((kind, address)) = unix.or(listeners.first()) else { return true };
        // With all slots in use the probe would be refused. That is load, not a failure.
        if context.serving.admission.is_full(kind) {
            return true;
        }
        match serve::probe(kind, address).await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%error, address, "a listener failed its health check");
                false
            }
        }
    }

    /// Frees a spare file descriptor for a health check, in case all others are in use.
    pub fn spare_descriptor(&self) -> Option<FdGuard> {
        self.0.upgrade()?.serving.reserve.acquire()
    }

    /// Makes `next` the current configuration, except for the values that cannot change while the daemon runs.
    pub fn reload(&self, mut next: Config) -> ReloadResult {
        let Some(context) = self.0.upgrade() else { return ReloadResult::default() };
        let current: &Config = &context.config;
        let pending = config::keep_fixed(current, &mut next);
        // Also when the value in the file did not change: the API may have changed the filter.
        context.log_filter.send_replace(next.log.filter.clone());
        let changed = *current != next;
        if changed {
            let resize = |permits: &Arc<Semaphore>, from, to| resize(&context.tasks, permits, from, to);
            resize(&context.uploads, current.artifacts.max_uploads, next.artifacts.max_uploads);
            resize(&context.archives, current.git.max_archives, next.git.max_archives);
            context.serving.admission.set_limits(AdmissionLimits::of(&next));
            context.client.allow(&next.webhook.allowed_hosts);
            context.config.replace(next);
            // New limits can make data overdue for deletion.
            context.sweep.now();
            context.pruning.now();
            // More deliveries may wait.
            context.backlog.wake();
        }
        ReloadResult { changed, pending }
    }
}

/// Changes the number of permits from `from` to `to`. Permits in use are removed when they are released.
fn resize(tasks: &Tasks, permits: &Arc<Semaphore>, from: usize, to: usize) {
    if to >= from {
        permits.add_permits(to - from);
        return;
    }
    let in_use = (from - to) - permits.forget_permits(from - to);
    let (permits, stop) = (permits.clone(), tasks.stop().clone());
    tasks.short(async move {
        for _ in 0..in_use {
            let Some(Ok(permit)) = stop.run_until_cancelled(permits.acquire()).await else { return };
            permit.forget();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn permits_in_use_are_removed_when_they_are_released() {
        let (tasks, permits) = (Tasks::default(), Arc::new(Semaphore::new(3)));
        let used = [permits.clone().try_acquire_owned(), permits.clone().try_acquire_owned()].map(|p| p.expect("free"));
        resize(&tasks, &permits, 3, 1);
        assert_eq!(permits.available_permits(), 0, "the free permit is removed at once");
        let [first, second] = used;
        drop(first);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(permits.available_permits(), 0, "the first released permit is removed");
        drop(second);
        assert_eq!(permits.available_permits(), 1);
        resize(&tasks, &permits, 1, 5);
        assert_eq!(permits.available_permits(), 5);
    }
}
