//! Reserves the keys of cache entries.

use farrier_proto::store::{CacheEntry, RunStatus, Upload};

use super::{GENERATION, MIME_TYPE, refs_of, upload_key};
use crate::{
    blob::UploadKey,
    clock::Millis,
    model::{
        cache_key::{check_key, check_version},
        signed_url::Operation,
    },
    service::{Context, Error, artifacts, authentication::JobIdentity},
    store::{
        Read, Tx,
        caches::{self, CacheSlot},
        ids::IdKind,
        runs,
    },
};

/// After this time without progress, another job may replace a reservation.
const STALLED_MS: Millis = 5 * 60 * 1_000;

/// A cache entry that a job is about to upload.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// The key.
    pub key: String,
    /// The version.
    pub version: String,
    /// The size in bytes, if the client knows it.
    pub size: Option<u64>,
    /// The scope to which the runner restricts the job.
    pub isolation: Option<String>,
}

/// The result of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// The job may upload the entry with this id.
    Reserved(u64),
    /// The key is in use in the ref of the job: an entry has it, or another job is uploading one.
    InUse {
        /// Full name of the ref.
        git_ref: String,
    },
}

/// Reserves the key of `input` in the ref of `job`.
///
/// Replaces a reservation of the same job, of a job that has ended, and one without progress for five minutes. The
/// bytes of the replaced upload are discarded; they were never finalized, so no client relies on them.
pub async fn reserve(context: &Context, job: &JobIdentity, input: &NewEntry) -> Result<Reservation, Error> {
    check_key(&input.key).map_err(|error| Error::invalid("key", error.to_string()))?;
    check_version(&input.version).map_err(|error| Error::invalid("version", error.to_string()))?;
    if let Some(size) = input.size {
        check_size(context, size)?;
    }
    let snapshot = context.store.read().await?;
    let refs = &refs_of(&snapshot, job).await?.isolated(input.isolation.as_deref());
    let slot = CacheSlot { git_ref: refs.own(), version: &input.version, key: &input.key };
    let in_use = || Reservation::InUse { git_ref: refs.own().to_owned() };
    // Most reservations of clients that save many entries end here, without a write.
    if caches::ready(&snapshot, job.repository_id, slot).await?.is_some() {
        return Ok(in_use());
    }
    drop(snapshot);

    let id = context.store.next_id(IdKind::Artifact).await?;
    let now = context.now_ms();
    let check_ms = now.saturating_add(check_interval_ms(context));
    let (reserved, has_replaced) = context
        .store
        .write(async |tx: Tx| {
            // The repository may have been deleted since.
            refs_of(&tx, job).await?;
            if caches::ready(&tx, job.repository_id, slot).await?.is_some() {
                return Ok((in_use(), false));
            }
            let before = caches::reserved(&tx, job.repository_id, slot).await?;
            if let Some(before) = &before {
                if before.job_id != job.job_id && is_live(context, &tx, before, now).await? {
                    return Ok((in_use(), false));
                }
                caches::delete(&tx, before, now);
            }
            caches::put(&tx, None, &CacheEntry { check_ms, ..new_row(id, job, slot, now) });
            Ok::<_, Error>((Reservation::Reserved(id), before.is_some()))
        })
        .await?;
    context.sweep.due_at(if has_replaced { now } else { check_ms });
    Ok(reserved)
}

/// Returns path and query of a URL that uploads the entry `id`.
pub fn upload_address(context: &Context, id: u64) -> String {
    artifacts::sign(context, Operation::Write, UploadKey { artifact: id, generation: GENERATION }, "cache", None)
}

/// Returns an error for content that would never fit.
pub(super) fn check_size(context: &Context, size: u64) -> Result<(), Error> {
    let limit = context.config.caches.largest_entry();
    if size <= limit {
        return Ok(());
    }
    Err(Error::Quota { reason: format!("a cache entry may have at most {limit} bytes, this one has {size}") })
}

/// Returns whether the upload of a reserved entry is expected to be finalized: its job is running, and it received
/// bytes not long ago.
async fn is_live(context: &Context, read: &impl Read, row: &CacheEntry, now: Millis) -> Result<bool, Error> {
    Ok(!is_stalled(context, row, now) && is_job_running(read, row).await?)
}

/// Returns whether the upload of a reserved entry has received nothing for five minutes.
pub(super) fn is_stalled(context: &Context, row: &CacheEntry, now: Millis) -> bool {
    row.progress_ms.saturating_add(STALLED_MS) <= now && !context.receiving.contains(upload_key(row))
}

/// Returns after how long an upload without progress is abandoned, even if its job is running.
pub(super) fn abandoned_ms(context: &Context) -> Millis {
    i64::try_from(context.config.artifacts.abandoned.as_millis()).unwrap_or(i64::MAX)
}

/// Returns how often the sweep checks a reservation.
pub(super) fn check_interval_ms(context: &Context) -> Millis {
    STALLED_MS.min(abandoned_ms(context))
}

/// Returns whether the job that reserved `row` is running.
pub(super) async fn is_job_running(read: &impl Read, row: &CacheEntry) -> Result<bool, Error> {
    let job = runs::job(read, row.run_id, row.job_id).await?;
    Ok(job.is_some_and(|job| job.status() == RunStatus::InProgress))
}

fn new_row(id: u64, job: &JobIdentity, slot: CacheSlot<'_>, now: Millis) -> CacheEntry {
    let upload =
        Upload { generation: GENERATION, started_ms: now, mime_type: MIME_TYPE.to_owned(), ..Upload::default() };
    CacheEntry {
        id,
        repository_id: job.repository_id,
        git_ref: slot.git_ref.to_owned(),
        key: slot.key.to_owned(),
        version: slot.version.to_owned(),
        run_id: job.run_id,
        job_id: job.job_id,
        upload: Some(upload),
        created_ms: now,
        progress_ms: now,
        ..CacheEntry::default()
    }
}
