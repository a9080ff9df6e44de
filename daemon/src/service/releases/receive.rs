//! Receives the bytes of files of releases.

use std::pin::pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

use super::assets::upload_key;
use crate::{
    blob::RequestedChecksums,
    id_locks::IdLock,
    service::{
        Context, Error,
        access_watch::AccessWatch,
        claimed_writer::ClaimedWriter,
        quota_watch::{QuotaKind, QuotaUse},
    },
    store::{Tx, releases::assets},
};

/// Most bytes of disk space that an upload of unknown length claims before they arrive. It claims as many bytes as it
/// has sent.
const CLAIM_MAX_BYTES: u64 = 1 << 20;

/// Writes the bytes of the file `id`. Returns their number and their SHA-256. `announced`: see
/// [`super::assets::AssetInput`].
pub(super) async fn receive<S, E>(
    context: &Context,
    access: &mut AccessWatch,
    (repository, id, file): (u64, u64, u64),
    announced: u64,
    body: S,
) -> Result<(u64, [u8; 32]), Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let limit = context.config.artifacts.max_bytes;
    let left = quota_left(context, repository).await?;
    let requested = RequestedChecksums { sha256: true, ..RequestedChecksums::default() };
    let writer = context.blobs.create(upload_key(id), file, requested, None);
    let mut writer = ClaimedWriter::new(writer, context.disk_space.empty_claim(), "writing a file of a release");
    let (mut received, mut claimed) = (0_u64, 0_u64);
    let mut body = pin!(body);
    while let Some(bytes) = body.next().await {
        let bytes = bytes.map_err(|error| Error::Body { reason: format!("the body ended early: {error}") })?;
        let length = bytes.len() as u64;
        let written = received;
        received += length;
        if received > limit {
            return Err(Error::TooLarge { limit });
        }
        if received > left {
            return Err(quota_exceeded(context));
        }
        if !access.holds().await {
            return Err(Error::Forbidden { reason: "the caller has lost its access".into() });
        }
        if received > claimed {
            let expected = announced.min(limit).saturating_sub(written);
            let more = length.max(written.min(CLAIM_MAX_BYTES)).max(expected);
            writer.claim(context, written + more - claimed).await?;
            claimed = written + more;
        }
        writer.write(context, bytes).await?;
    }
    let written = writer.finish().await?;
    if !access.holds().await {
        return Err(Error::Forbidden { reason: "the caller has lost its access".into() });
    }
    Ok((written.size, written.sha256.expect("it was requested")))
}

/// Checks that the repository may store `size` bytes more. Other uploads may have been recorded since this one began.
/// No other upload to this node and repository passes this check while the lock is held, so the caller holds it until
/// the bytes are recorded. `None`: there is no quota.
pub(super) async fn check_quota(context: &Context, repository: u64, size: u64) -> Result<Option<IdLock>, Error> {
    if context.config.artifacts.quota_bytes == 0 {
        return Ok(None);
    }
    let lock = context.recording_assets.lock(repository).await;
    let left = quota_left(context, repository).await?;
    if size > left {
        return Err(quota_exceeded(context));
    }
    note_left(context, repository, left - size);
    Ok(Some(lock))
}

/// Checks the quota in the transaction that records a file, after its row was written: another node may record one at
/// the same time. Does nothing if no other node can use the store, because [`check_quota`] is enough then.
pub(super) async fn check_recorded(context: &Context, tx: &Tx, repository: u64) -> Result<(), Error> {
    let quota = context.config.artifacts.quota_bytes;
    if quota == 0 || !context.store.is_shared() {
        return Ok(());
    }
    if assets::exact_size_of_repository(tx, repository).await? <= quota { Ok(()) } else { Err(quota_exceeded(context)) }
}

/// Returns how many more bytes of files of releases the repository may store.
async fn quota_left(context: &Context, repository: u64) -> Result<u64, Error> {
    match context.config.artifacts.quota_bytes {
        0 => Ok(u64::MAX),
        quota => {
            let used = assets::size_of_repository(&context.store.read().await?, repository).await?;
            let left = quota.saturating_sub(used);
            note_left(context, repository, left);
            Ok(left)
        }
    }
}

/// Remembers how many bytes of its quota a repository has left.
fn note_left(context: &Context, repository: u64, left: u64) {
    let (max, now_ms) = (context.config.artifacts.quota_bytes, context.now_ms());
    let (kind, used) = (QuotaKind::ReleaseFiles, max.saturating_sub(left));
    context.quotas.note(repository, QuotaUse { kind, repository, used, max, since_ms: now_ms, checked_ms: now_ms });
}

fn quota_exceeded(context: &Context) -> Error {
    let quota = context.config.artifacts.quota_bytes;
    Error::Quota { reason: format!("the repository may store at most {quota} bytes of files of releases") }
}
