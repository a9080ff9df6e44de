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

/// Minimum time between two updates of an entry, except before entries are chosen for deletion.
const EVERY_MS: Millis = 60_000;
/// Entries to update per transaction.
const BATCH: usize = 500;

/// The uses of entries that are not written yet.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    pending: Mutex<Pending>,
    /// Held from taking uses to the end of their transaction, so that a caller of [`flush`] waits for both.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Pending {
    uses: HashMap<u64, Uses>,
    /// The uses that the running transaction writes.
    taken: HashMap<u64, Uses>,
    /// Whether a task will write the uses that are due.
    has_task: bool,
}

/// The uses of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Uses {
    last_ms: Millis,
    /// Number of lookups that found the entry.
    hits: u64,
    /// The last use in the row of the entry.
    written_ms: Millis,
}

impl Uses {
    fn due_ms(&self) -> Millis {
        self.written_ms.saturating_add(EVERY_MS)
    }
}

/// What the caller does after it has added a use.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Start the task that writes the uses.
    Start,
    /// Nothing: a task will write the use.
    Nothing,
    /// Wake the sweep at this time.
    Sweep(Millis),
}

impl Pending {
    fn add(&mut self, entry: u64, added: Uses) -> Millis {
        let uses = self.uses.entry(entry).or_default();
        uses.last_ms = uses.last_ms.max(added.last_ms);
        uses.hits += added.hits;
        uses.written_ms = uses.written_ms.max(added.written_ms);
        uses.due_ms()
    }

    fn take(&mut self, entries: &[u64]) -> Vec<(u64, Uses)> {
        let taken: Vec<(u64, Uses)> = entries.iter().filter_map(|entry| self.uses.remove_entry(entry)).collect();
        self.taken = taken.iter().copied().collect();
        taken
    }

    /// Adds the taken uses again: their transaction failed or was cancelled. If it was applied all the same, their hits
    /// count twice.
    fn put_back(&mut self) {
        for (entry, uses) in std::mem::take(&mut self.taken) {
            self.add(entry, uses);
        }
    }
}

impl Accesses {
    fn add(&self, entry: u64, uses: Uses) -> Next {
        let mut pending = self.lock();
        let due_ms = pending.add(entry, uses);
        if due_ms > uses.last_ms {
            Next::Sweep(due_ms)
        } else if std::mem::replace(&mut pending.has_task, true) {
            Next::Nothing
        } else {
            Next::Start
        }
    }

    /// Takes some of the uses that are due at `until_ms`. If there are none, the task that writes them ends.
    fn take(&self, until_ms: Millis) -> Vec<(u64, Uses)> {
        let mut pending = self.lock();
        pending.put_back();
        let due = pending.uses.iter().filter(|(_, uses)| uses.due_ms() <= until_ms);
        let entries: Vec<u64> = due.map(|(entry, _)| *entry).take(BATCH).collect();
        pending.has_task &= !entries.is_empty();
        pending.take(&entries)
    }

    /// Returns the entries that have uses now.
    fn used_entries(&self) -> Vec<u64> {
        let mut pending = self.lock();
        pending.put_back();
        pending.uses.keys().copied().collect()
    }

    /// Takes the uses of these entries.
    fn take_of(&self, entries: &[u64]) -> Vec<(u64, Uses)> {
        let mut pending = self.lock();
        pending.put_back();
        pending.take(entries)
    }

    /// Ends the transaction of the taken uses.
    fn complete(&self, is_written: bool) {
        let mut pending = self.lock();
        if !is_written {
            pending.put_back();
            pending.has_task = false;
            return;
        }
        for (entry, written) in std::mem::take(&mut pending.taken) {
            if let Some(uses) = pending.uses.get_mut(&entry) {
                uses.written_ms = uses.written_ms.max(written.last_ms);
            }
        }
    }

    /// Returns whether the row of `entry` lacks a use.
    pub(super) fn has_unwritten(&self, entry: u64) -> bool {
        let pending = self.lock();
        pending.uses.contains_key(&entry) || pending.taken.contains_key(&entry)
    }

    /// Returns when the sweep writes uses. `None`: there are none.
    pub(super) fn due_ms(&self) -> Option<Millis> {
        self.lock().uses.values().map(Uses::due_ms).min()
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
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
    let uses = Uses { last_ms: context.now_ms(), hits, written_ms: row.accessed_ms };
    match context.caches.accesses.add(row.id, uses) {
        Next::Sweep(due_ms) => return context.sweep.due_at(due_ms),
        Next::Nothing => return,
        Next::Start => {}
    }
    let running = context.clone();
    context.tasks.short(async move {
        if let Err(error) = write_due(&running).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "recording the use of cache entries failed");
        }
    });
}

/// Writes the uses of entries whose last use was written a minute ago. After an error, they are written with the next
/// use.
pub async fn write_due(context: &Context) -> Result<(), Error> {
    let accesses = &context.caches.accesses;
    let _writing = accesses.writing.lock().await;
    let until_ms = context.now_ms();
    loop {
        let used = accesses.take(until_ms);
        if used.is_empty() {
            break;
        }
        write(context, &used).await?;
    }
    wake_sweep(context);
    Ok(())
}

/// Returns when the sweep writes uses that this node has recorded. `None`: there are none.
pub fn next_uses_ms(context: &Context) -> Option<Millis> {
    context.caches.accesses.due_ms()
}

/// Writes the recorded uses before entries are chosen for deletion. Also waits for uses that another task writes.
///
/// Later uses are not written, because jobs may look entries up faster than they can be written. Callers check
/// [`Accesses::has_unwritten`].
pub(super) async fn flush(context: &Context) -> Result<(), Error> {
    let accesses = &context.caches.accesses;
    let _writing = accesses.writing.lock().await;
    for entries in accesses.used_entries().chunks(BATCH) {
        write(context, &accesses.take_of(entries)).await?;
    }
    wake_sweep(context);
    Ok(())
}

/// Writes taken uses. The caller holds the lock for writing.
async fn write(context: &Context, used: &[(u64, Uses)]) -> Result<(), Error> {
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
    context.caches.accesses.complete(written.is_ok());
    written
}

/// Wakes the sweep when the next use is due.
fn wake_sweep(context: &Context) {
    if let Some(due_ms) = context.caches.accesses.due_ms() {
        context.sweep.due_at(due_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(last_ms: Millis, written_ms: Millis) -> Uses {
        Uses { last_ms, hits: 1, written_ms }
    }

    #[test]
    fn uses_are_taken_at_most_once_a_minute_for_each_entry() {
        let accesses = Accesses::default();
        assert_eq!(accesses.add(1, used(100_000, 0)), Next::Start);
        assert_eq!(accesses.add(2, used(100_000, 90_000)), Next::Sweep(150_000), "written ten seconds ago");
        assert_eq!(accesses.add(3, used(100_000, 0)), Next::Nothing);
        let mut entries: Vec<u64> = accesses.take(100_000).into_iter().map(|(entry, _)| entry).collect();
        entries.sort_unstable();
        assert_eq!(entries, [1, 3]);
        // A lookup that has read the row before the transaction.
        assert_eq!(accesses.add(1, used(100_001, 0)), Next::Nothing);
        accesses.complete(true);
        assert_eq!(accesses.take(100_001), []);
        assert_eq!(accesses.due_ms(), Some(150_000));
        assert_eq!(accesses.take(150_000), [(2, used(100_000, 90_000))]);
        accesses.complete(true);
        let entries = accesses.used_entries();
        accesses.add(4, used(100_002, 0));
        assert_eq!(accesses.take_of(&entries), [(1, used(100_001, 100_000))], "before a deletion");
        accesses.complete(true);
        assert_eq!(accesses.take_of(&entries), [], "an entry of an earlier batch is not written again");
        assert!(accesses.has_unwritten(4), "a use that arrived meanwhile is not written");
    }

    #[test]
    fn uses_of_a_transaction_that_fails_or_is_cancelled_are_kept() {
        let accesses = Accesses::default();
        accesses.add(1, used(100_000, 0));
        assert_eq!(accesses.take(100_000).len(), 1);
        assert!(accesses.has_unwritten(1), "the transaction is running");
        accesses.add(1, used(100_005, 0));
        accesses.complete(false);
        let both = Uses { last_ms: 100_005, hits: 2, written_ms: 0 };
        assert_eq!(accesses.take(100_005), [(1, both)]);
        // Cancelled: `complete` is not called.
        assert_eq!(accesses.take(100_005), [(1, both)]);
        accesses.complete(true);
        assert!(!accesses.has_unwritten(1));
    }
}
