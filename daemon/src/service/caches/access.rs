//! Records when cache entries were last used, and how often jobs found them, without delaying the responses.

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
    uses: HashMap<u64, Uses>,
    /// When the first of them was added.
    since_ms: Millis,
    /// Whether a task is writing them.
    is_writing: bool,
}

/// The uses of an entry.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    last_ms: Millis,
    /// Number of lookups that found the entry.
    hits: u64,
}

impl Accesses {
    /// Adds a use. Returns whether the caller must start the task that writes it.
    fn add(&self, entry: u64, hits: u64, now: Millis, is_due: bool) -> bool {
        let mut pending = self.lock();
        if pending.uses.is_empty() {
            pending.since_ms = now;
        }
        let uses = pending.uses.entry(entry).or_default();
        uses.last_ms = now;
        uses.hits += hits;
        is_due && !std::mem::replace(&mut pending.is_writing, true)
    }

    /// Takes some of the uses. If there are none, the task that writes them ends.
    fn take(&self) -> Vec<(u64, Uses)> {
        let mut pending = self.lock();
        let entries: Vec<u64> = pending.uses.keys().copied().take(BATCH).collect();
        if entries.is_empty() {
            pending.is_writing = false;
        }
        entries.into_iter().filter_map(|entry| pending.uses.remove_entry(&entry)).collect()
    }

    /// Returns when the sweep writes the uses. `None`: there are none.
    pub(super) fn due_ms(&self) -> Option<Millis> {
        let pending = self.lock();
        (!pending.uses.is_empty()).then(|| pending.since_ms.saturating_add(EVERY_MS))
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records that a lookup of a job has found `row`.
pub(super) fn note_hit(context: &Context, row: &CacheEntry) {
    note(context, row, 1);
}

/// Records that `row` was downloaded.
pub fn note_access(context: &Context, row: &CacheEntry) {
    note(context, row, 0);
}

/// Records a use. It is written now, or by the sweep if the last use was written less than a minute ago. If the daemon
/// is killed, the last uses may be lost.
fn note(context: &Context, row: &CacheEntry, hits: u64) {
    let now = context.now_ms();
    let is_due = row.accessed_ms.saturating_add(EVERY_MS) <= now;
    if !context.caches.accesses.add(row.id, hits, now, is_due) {
        context.sweep.due_at(now.saturating_add(EVERY_MS));
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
                for (entry, uses) in used {
                    let Some(before) = caches::get(&tx, *entry).await?.filter(|row| row.content.is_some()) else {
                        continue;
                    };
                    let (accessed_ms, hits) = (before.accessed_ms.max(uses.last_ms), before.hits + uses.hits);
                    caches::put(&tx, Some(&before), &CacheEntry { accessed_ms, hits, ..before.clone() });
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

/// Writes uses that were recorded a minute ago.
pub(super) async fn write_due(context: &Context) -> Result<(), Error> {
    let is_due = context.caches.accesses.due_ms().is_some_and(|due_ms| due_ms <= context.now_ms());
    if is_due { flush(context).await } else { Ok(()) }
}

/// Writes the recorded uses before entries are chosen for deletion.
pub(super) async fn flush(context: &Context) -> Result<(), Error> {
    context.caches.accesses.lock().is_writing = true;
    write_all(context).await
}
