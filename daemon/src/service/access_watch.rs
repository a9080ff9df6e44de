//! Ends long transfers when their caller loses access: a deleted or expired token, a changed password, passwords that
//! are no longer accepted, a closed account, a lost permission for a repository.
//!
//! The rights of a caller depend on many rows. So nothing is tracked per caller: every change through the API wakes all
//! transfers, and each one reads its own rows again. Once a minute they do so without a wake-up, because tokens expire.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};

use super::{
    Context, Error,
    access::{self, Action},
    authentication,
};
use crate::{
    hints::{OutgoingHints, Topic},
    model::identity::Identity,
    store::{Read, owners, repositories, retried_work::is_unavailable},
};

/// How often a transfer reads the rights of its caller without a change.
const RECHECK: Duration = Duration::from_secs(60);

/// Wakes long transfers when the rights of some caller may have changed.
#[derive(Debug, Default)]
pub struct AccessChanges {
    changes: watch::Sender<()>,
    hints: OutgoingHints,
}

impl AccessChanges {
    /// Creates the signal. It notifies other nodes with `hints`.
    pub fn new(hints: OutgoingHints) -> Self {
        Self { changes: watch::Sender::default(), hints }
    }

    /// Wakes all transfers. Called after each change through the API, and after a reload of the configuration.
    pub fn notify(&self) {
        self.notify_here();
        self.hints.add(Topic::Access);
    }

    /// Wakes the transfers on this node.
    pub(super) fn notify_here(&self) {
        self.changes.send_replace(());
    }

    /// Returns a receiver that is notified of each later change.
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }
}

/// The access of one transfer: its caller, and the repository that it uses.
pub struct AccessWatch {
    context: Context,
    identity: Identity,
    repository: Option<(u64, Action)>,
    changes: watch::Receiver<()>,
    /// Whether a check is due. Cleared after the check, because callers may drop it halfway.
    is_due: bool,
    checked: Instant,
}

impl AccessWatch {
    /// Watches a caller who was just authorized for `repository`.
    pub fn new(context: &Context, identity: Identity, repository: Option<(u64, Action)>) -> Self {
        let changes = context.access_changes.subscribe();
        Self { context: context.clone(), identity, repository, changes, is_due: false, checked: Instant::now() }
    }

    /// Like [`AccessWatch::new`], for a caller who was not authorized yet. `None`: it has no access.
    pub async fn checked(
        context: &Context,
        read: &impl Read,
        identity: Identity,
        repository: Option<(u64, Action)>,
    ) -> Result<Option<Self>, Error> {
        match repository {
            Some((id, action)) if !may(read, &identity, id, action).await? => Ok(None),
            _ => Ok(Some(Self::new(context, identity, repository))),
        }
    }

    /// Returns the caller with the rights of the last check.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Waits until the caller has lost its access.
    pub async fn lost(&mut self) {
        while self.holds().await {
            self.wake().await;
        }
    }

    /// Waits until the rights of the caller must be read again.
    pub async fn wake(&mut self) {
        tokio::select! {
            // The sender is in the context, which this keeps alive.
            _ = self.changes.changed() => {}
            () = tokio::time::sleep_until(self.checked + RECHECK) => {}
        }
        self.is_due = true;
    }

    /// Returns whether the caller still has access. Reads its rights only after a change and once a minute.
    pub async fn holds(&mut self) -> bool {
        // An error of `has_changed` means that the sender was dropped, but the context owns it.
        self.is_due |= self.checked.elapsed() >= RECHECK || self.changes.has_changed().unwrap_or(true);
        if !self.is_due {
            return true;
        }
        // Before the rows are read: a later change needs another check.
        self.changes.mark_unchanged();
        let current = self.check().await;
        self.is_due = false;
        self.checked = Instant::now();
        match current {
            Ok(Some(identity)) => {
                self.identity = identity;
                true
            }
            Ok(None) => false,
            // The store does not answer. The transfer continues until the next check in a minute.
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                // Every transfer gets this error, each time that a change is possible.
                if is_unavailable(error) {
                    tracing::debug!(error, "the rights of a transfer were not checked");
                } else {
                    tracing::warn!(error, "the rights of a transfer were not checked");
                }
                true
            }
        }
    }

    /// Returns the caller with its current rights, or `None` if it has lost its access.
    async fn check(&self) -> Result<Option<Identity>, Error> {
        let snapshot = self.context.store.read().await?;
        let (accepts_passwords, now) = (self.context.config.auth.password_login, self.context.now_ms());
        let refreshed = authentication::refresh(&snapshot, &self.identity, accepts_passwords, now).await?;
        let Some(identity) = refreshed else { return Ok(None) };
        match self.repository {
            Some((id, action)) if !may(&snapshot, &identity, id, action).await? => Ok(None),
            _ => Ok(Some(identity)),
        }
    }
}

/// Returns whether a caller may do `action` in a repository that is not deleted.
pub(super) async fn may(read: &impl Read, identity: &Identity, repository: u64, action: Action) -> Result<bool, Error> {
    let row = repositories::get(read, repository).await?;
    let Some(row) = row.filter(|row| !row.deleted) else { return Ok(false) };
    let Some(owner) = owners::owner(read, row.owner_kind(), row.owner_id).await? else { return Ok(false) };
    Ok(access::access_level(read, identity, &owner, &row).await?.allows(action))
}
