//! Finalizes cache entries: verifies the uploaded content and makes it visible.

use farrier_proto::store::{CacheEntry, Committed, Content, Upload};

use super::{evict, refs_of, reserve::check_size, upload_key};
use crate::{
    service::{Context, Error, artifacts, authentication::JobIdentity},
    store::{
        Tx, artifacts as blocks,
        caches::{self, CacheSlot},
    },
};

/// What a job claims about its upload.
#[derive(Clone, Debug)]
pub struct FinalizeEntry {
    /// The key.
    pub key: String,
    /// The version.
    pub version: String,
    /// Size in bytes.
    pub size: i64,
}

/// The result of finalizing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finalized {
    /// The entry with this id is visible.
    Ready(u64),
    /// Another job has finalized or reserved the key.
    InUse,
    /// The reservation was deleted or replaced while it was finalized.
    Replaced,
    /// The uploaded content is not what the job claims. The job may reserve the key again.
    WrongSize {
        /// Bytes that the job claims.
        expected: i64,
        /// Bytes of the committed upload.
        uploaded: u64,
    },
}

/// Finalizes the upload of `job` for a key. Repeated calls return the same result.
pub async fn finalize(context: &Context, job: &JobIdentity, input: &FinalizeEntry) -> Result<Finalized, Error> {
    let snapshot = context.store.read().await?;
    let refs = refs_of(&snapshot, job).await?;
    let slot = CacheSlot { git_ref: refs.own(), version: &input.version, key: &input.key };
    let row = match caches::reserved(&snapshot, job.repository_id, slot).await? {
        Some(row) => Some(row),
        None => caches::ready(&snapshot, job.repository_id, slot).await?,
    };
    drop(snapshot);
    match row {
        None => Ok(Finalized::WrongSize { expected: input.size, uploaded: 0 }),
        Some(row) if row.job_id != job.job_id => Ok(Finalized::InUse),
        Some(row) => finalize_entry(context, row, input.size).await,
    }
}

/// Finalizes the entry `row` of the calling job.
pub(super) async fn finalize_entry(context: &Context, row: CacheEntry, size: i64) -> Result<Finalized, Error> {
    let wrong = |uploaded| Ok(Finalized::WrongSize { expected: size, uploaded });
    let expected = u64::try_from(size).ok();
    if let Some(content) = &row.content {
        return if expected == Some(content.size) { Ok(Finalized::Ready(row.id)) } else { wrong(content.size) };
    }
    let committed = row.upload.as_ref().and_then(|upload| upload.committed.clone());
    let committed = match committed {
        Some(committed) if expected == Some(committed.size) => committed,
        Some(committed) => return wrong(committed.size),
        None => return wrong(0),
    };
    check_size(context, committed.size)?;
    let key = upload_key(&row);
    let refs = artifacts::block_refs(&context.store.read().await?, key).await?;
    let failed = |source| Error::Blob { doing: "hashing the content", source };
    let sha256 = context.digests.finish(key, &refs).await.map_err(failed)?;
    if !confirm(context, &row, &committed, &sha256).await? {
        return Ok(Finalized::Replaced);
    }
    context.digests.forget(key);
    if let Err(error) = evict::enforce_limits(context, row.repository_id, row.id).await {
        // The entry is acknowledged all the same. The next entry of the repository applies the limits again.
        tracing::error!(error = &error as &dyn std::error::Error, "evicting cache entries failed");
    }
    Ok(Finalized::Ready(row.id))
}

/// Makes the upload the content of the entry. Returns `false` if the reservation was deleted or
/// replaced meanwhile.
async fn confirm(context: &Context, row: &CacheEntry, committed: &Committed, sha256: &[u8]) -> Result<bool, Error> {
    let now = context.now_ms();
    let key = upload_key(row);
    let confirmed = context
        .store
        .write(async |tx: Tx| {
            let Some(before) = caches::get(&tx, row.id).await? else { return Ok(false) };
            let mut row = before.clone();
            // Without an upload, a concurrent call has finalized the entry.
            let Some(upload) = row.upload.take() else { return Ok(true) };
            if upload.committed.as_ref() != Some(committed) {
                return Err(Error::Precondition { reason: "the block list was changed meanwhile".into() });
            }
            row.content = Some(content(&upload, committed, sha256));
            row.accessed_ms = now;
            blocks::mark_trim(&tx, key.artifact, key.generation, now);
            caches::put(&tx, Some(&before), &row);
            Ok(true)
        })
        .await?;
    // Removes blocks that are not in the list.
    context.sweep.due_at(now);
    Ok(confirmed)
}

fn content(upload: &Upload, committed: &Committed, sha256: &[u8]) -> Content {
    Content {
        generation: upload.generation,
        size: committed.size,
        sha256: sha256.to_vec(),
        mime_type: upload.mime_type.clone(),
        blocks: committed.blocks,
        list_sha256: committed.list_sha256.clone(),
        version: upload.version,
        committed_ms: committed.committed_ms,
        files_sha256: committed.files_sha256.clone(),
    }
}
