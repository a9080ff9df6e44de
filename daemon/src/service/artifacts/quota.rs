//! The quota of the artifacts of a repository, `artifacts.quota_bytes`.

use super::rows;
use crate::{
    id_locks::IdLock,
    service::{
        Context, Error,
        quota_watch::{QuotaKind, QuotaUse},
    },
    store::{Snapshot, Tx},
};

/// Returns an error if `more` bytes would exceed the quota of the repository.
pub(super) async fn check(context: &Context, snapshot: &Snapshot, repository: u64, more: u64) -> Result<(), Error> {
    let quota = context.config.artifacts.quota_bytes;
    if quota == 0 {
        return Ok(());
    }
    let used = rows::bytes_of_repository(snapshot, repository).await?;
    let after = used.saturating_add(more);
    let fits = after <= quota;
    note_use(context, repository, if fits { after } else { used });
    if fits { Ok(()) } else { Err(exceeded(quota)) }
}

/// Checks the quota in the transaction that records an artifact, after its row was written: another node may record one
/// at the same time. Does nothing if no other node can use the store, because [`lock`] is enough then.
pub(super) async fn check_recorded(context: &Context, tx: &Tx, repository: u64) -> Result<(), Error> {
    let quota = context.config.artifacts.quota_bytes;
    if quota == 0 || !context.store.is_shared() {
        return Ok(());
    }
    if rows::exact_bytes_of_repository(tx, repository).await? <= quota { Ok(()) } else { Err(exceeded(quota)) }
}

fn exceeded(quota: u64) -> Error {
    Error::Quota { reason: format!("the repository may store at most {quota} bytes of artifacts") }
}

/// Remembers that a repository has `used` bytes of artifacts.
fn note_use(context: &Context, repository: u64, used: u64) {
    let (max, now_ms) = (context.config.artifacts.quota_bytes, context.now_ms());
    let kind = QuotaKind::Artifacts;
    context.quotas.note(repository, QuotaUse { kind, repository, used, max, since_ms: now_ms, checked_ms: now_ms });
}

/// Waits until this node records no other upload of the repository. The caller checks the quota then, and keeps the
/// lock until the upload is recorded, so that uploads cannot exceed the quota together. `None`: there is no quota.
pub(super) async fn lock(context: &Context, repository: u64) -> Option<IdLock> {
    if context.config.artifacts.quota_bytes == 0 {
        return None;
    }
    Some(context.recording_artifacts.lock(repository).await)
}
