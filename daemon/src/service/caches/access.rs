//! Records when cache entries were last used, without delaying the responses.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use farrier_proto::store::CacheEntry;

use crate::{
    clock::Millis,
    service::{Context, Error},
    store::{Tx, caches},
};

/// Minimum time between two updates of an entry.
const EVERY_MS: Millis = 60_000;
/// Entries to update per transaction.
const BATCH: usize = 500;

/// The uses of entries that are not written yet.
#[derive(Debug, Default)]
pub(super) struct Accesses(Mutex<Pending>);

#[derive(Debug, Default)]
struct Pending {
    /// The last use of each entry.
    used_ms: HashMap<u64, Millis>,
    /// Whether a task is writing them.
    is_writing: bool,
}

impl Accesses {
    /// Adds a use. Returns whether the caller must start the task that writes it.
    fn add(&self, entry: u64, now: Millis) -> bool {
        let mut pending = self.lock();
        pending.used_ms.insert(entry, now);
        !std::mem::replace(&mut pending.is_writing, true)
    }

    /// Takes some of the uses. If there are none, the task that writes them ends.
    fn take(&self) -> Vec<(u64, Millis)> {
        let mut pending = self.lock();
        let entries: Vec<u64> = pending.used_ms.keys().copied().take(BATCH).collect();
        if entries.is_empty() {
            pending.is_writing = false;
        }
        entries.into_iter().filter_map(|entry| pending.used_ms.remove_entry(&entry)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records that `row` was used now, at most once a minute. If the daemon is killed, the last uses may be lost.
pub fn note_access(context: &Context, row: &CacheEntry) {
    let now = context.now_ms();
    if now < row.accessed_ms.saturating_add(EVERY_MS) || !context.caches.accesses.add(row.id, now) {
        return;
    }
    let running = context.clone();
    context.tasks.short(async move {
        if let Err(error) = write_all(&running).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "recording the use of cache entries failed");
        }
    });
}

/// Writes all recorded uses. After an error, the rest is written with the next use.
async fn write_all(context: &Context) -> Result<(), Error> {
    loop {
        let used = context.caches.accesses.take();
        if used.is_empty() {
            return Ok(());
        }
        let used = &used;
        let written = context
            .store
            .write(async |tx: Tx| {
                for (entry, used_ms) in used {
                    let row = caches::get(&tx, *entry).await?;
                    if let Some(before) = row.filter(|row| row.content.is_some() && row.accessed_ms < *used_ms) {
                        caches::put(&tx, Some(&before), &CacheEntry { accessed_ms: *used_ms, ..before.clone() });
                    }
                }
                Ok::<_, Error>(())
            })
            .await;
        if written.is_err() {
            context.caches.accesses.lock().is_writing = false;
            return written;
        }
    }
}

/// Writes the recorded uses before entries are chosen for deletion.
pub(super) async fn flush(context: &Context) -> Result<(), Error> {
    context.caches.accesses.lock().is_writing = true;
    write_all(context).await
}
