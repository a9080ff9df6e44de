//! Control of the running daemon from inside its process: health check, configuration reload.

use std::fmt;

use crate::{
    config::{self, Config, StoreEngine},
    serve::{self, AdmissionLimits, FdGuard},
    service::{
        Context, Error, WeakContext,
        audit::{self, Action, Entry, Object},
    },
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

    /// Returns whether the daemon handles requests: a listener responds and the file of the store can be read. Logs the
    /// reason if not. A full disk or a server of the store that is away is not a failure here, because a restart would
    /// not help.
    pub async fn is_healthy(&self) -> bool {
        let Some(context) = self.0.upgrade() else { return false };
        let has_server = context.config.store.engine == StoreEngine::Postgres;
        if !has_server && let Err(error) = context.store.health().await {
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

    /// Records that a configuration was refused.
    pub async fn refused(&self, reason: &str) {
        let Some(context) = self.0.upgrade() else { return };
        let entry = Entry::new(Action::SettingsReload, Object::new("settings", 0, "configuration"));
        audit::record_after(&context, entry.failed(reason)).await;
    }

    /// Frees a spare file descriptor for a health check, in case all others are in use.
    pub fn spare_descriptor(&self) -> Option<FdGuard> {
        self.0.upgrade()?.serving.reserve.acquire()
    }

    /// Makes `next` the current configuration, except for the values that cannot change while the daemon runs.
    ///
    /// Fails if the reload cannot be recorded in the audit log and `audit.required` is set.
    pub async fn reload(&self, mut next: Config) -> Result<ReloadResult, Error> {
        let Some(context) = self.0.upgrade() else { return Ok(ReloadResult::default()) };
        let current: &Config = &context.config;
        let pending = config::keep_fixed(current, &mut next);
        let sections: Vec<&str> = config::changed_sections(current, &next);
        let entry = Entry::new(Action::SettingsReload, Object::new("settings", 0, "configuration"));
        audit::record_before(&context, entry.set("changed", sections).set("pending", pending.clone())).await?;
        // Also when the value in the file did not change: the API may have changed the filter.
        context.log_filter.send_replace(next.log.filter.clone());
        let changed = *current != next;
        if changed {
            context.work.set_limits(&next);
            context.serving.admission.set_limits(AdmissionLimits::of(&next));
            context.serving.memory.set_mib(next.server.request_memory_mib);
            context.client.allow(&next.webhook.allowed_hosts);
            context.config.replace(next);
            // Callers with a password may have lost their access.
            context.access_changes.notify();
            // New limits can make data overdue for deletion.
            context.sweep.now();
            context.pruning.now();
            // More deliveries may wait.
            context.backlog.wake();
            // `audit.file` may be another one.
            context.audit.wake();
        }
        Ok(ReloadResult { changed, pending })
    }
}
