//! Limits the bytes of uploads that are not finalized. Those of a repository may together have as many bytes as its
//! entries, so that a job cannot fill the disk with uploads that it never finalizes.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::reserve::is_stalled;
use crate::{
    service::{Context, Error},
    store::{Tx, caches},
};

/// Reservations to look at per step.
const BATCH: usize = 500;

/// The bytes of the uploads of each repository.
#[derive(Debug, Default)]
pub(super) struct UploadBytes(Mutex<HashMap<u64, Counts>>);

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// The bytes of ended requests: at least as many as the uploads have. Includes uploads that were finalized or
    /// deleted since the bytes were read from the store. `None`: they were not read yet.
    received: Option<u64>,
    /// The announced bytes of running requests.
    receiving: u64,
    /// The bytes of requests that have ended since the last read from the store began.
    ended: u64,
}

impl UploadBytes {
    fn of(&self, repository: u64) -> Counts {
        self.lock().get(&repository).copied().unwrap_or_default()
    }

    fn change(&self, repository: u64, change: impl FnOnce(&mut Counts)) {
        change(self.lock().entry(repository).or_default());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Counts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn fit(&self, limit: u64) -> bool {
        self.received.is_some_and(|received| received.saturating_add(self.receiving) <= limit)
    }
}

/// The announced bytes of one request. Dropping it ends the request.
pub(in crate::service) struct CountedUpload {
    context: Context,
    repository: u64,
    bytes: u64,
}

impl Drop for CountedUpload {
    fn drop(&mut self) {
        self.context.caches.uploads.change(self.repository, |counts| {
            counts.receiving -= self.bytes;
            counts.ended = counts.ended.saturating_add(self.bytes);
            counts.received = counts.received.map(|received| received.saturating_add(self.bytes));
        });
    }
}

/// Counts `bytes` that an upload to a cache entry of `repository` announces. If the uploads of the repository have too
/// many bytes, deletes those that stalled, and fails if that is not enough.
pub(in crate::service) async fn count_upload(
    context: &Context,
    repository: u64,
    bytes: u64,
) -> Result<CountedUpload, Error> {
    let uploads = &context.caches.uploads;
    uploads.change(repository, |counts| counts.receiving += bytes);
    let counted = CountedUpload { context: context.clone(), repository, bytes };
    let limit = match context.config.caches.quota_bytes {
        0 => return Ok(counted),
        limit => limit,
    };
    if uploads.of(repository).fit(limit) {
        return Ok(counted);
    }
    let _evicting = context.caches.evicting.lock().await;
    if read_bytes(context, repository).await?.fit(limit) {
        return Ok(counted);
    }
    delete_stalled(context, Some(repository)).await?;
    if read_bytes(context, repository).await?.fit(limit) {
        return Ok(counted);
    }
    let reason =
        format!("cache uploads of a repository that are not finalized may have at most {limit} bytes together");
    Err(Error::Quota { reason })
}

/// Reads from the store how many bytes the uploads of `repository` have.
async fn read_bytes(context: &Context, repository: u64) -> Result<Counts, Error> {
    let uploads = &context.caches.uploads;
    uploads.change(repository, |counts| counts.ended = 0);
    let stored = caches::reserved_bytes(&context.store.read().await?, repository).await?;
    uploads.change(repository, |counts| counts.received = Some(stored.saturating_add(counts.ended)));
    Ok(uploads.of(repository))
}

/// Deletes the uploads of `repository`, or of all repositories, that have received nothing for five minutes. They were
/// never finalized, so no client relies on them. Each transaction reads the rows again, so an upload that has received
/// a block or was finalized meanwhile stays.
pub(super) async fn delete_stalled(context: &Context, repository: Option<u64>) -> Result<(), Error> {
    let now = context.now_ms();
    let mut after = None;
    loop {
        let (rows, next) = caches::reservations(&context.store.read().await?, repository, after, BATCH).await?;
        let stalled: Vec<u64> = rows.iter().filter(|row| is_stalled(context, row, now)).map(|row| row.id).collect();
        if !stalled.is_empty() {
            let stalled = &stalled;
            context
                .store
                .write(async |tx: Tx| {
                    for id in stalled {
                        let row = caches::get(&tx, *id).await?.filter(|row| row.content.is_none());
                        if let Some(row) = row.filter(|row| is_stalled(context, row, now)) {
                            caches::delete(&tx, &row, now);
                        }
                    }
                    Ok::<_, Error>(())
                })
                .await?;
            context.sweep.due_at(now);
        }
        if next.is_none() {
            return Ok(());
        }
        after = next;
    }
}
