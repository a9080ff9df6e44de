//! Finds and reads files of releases, and counts their downloads.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use farrier_proto::store::{Release, ReleaseAsset};
use tokio::time::timeout;

use super::{MISSING_FILE, assets::upload_key};
use crate::{
    blob::{BlockReader, BlockRef},
    clock::Millis,
    model::{access_level::Action, identity::Identity},
    service::{Context, Error, repositories},
    store::{Read, Tx, releases::assets},
};

/// Returns the file with a UUID and its release, if the caller sees them.
pub async fn by_uuid(read: &impl Read, identity: &Identity, uuid: &str) -> Result<(Release, ReleaseAsset), Error> {
    let bytes = hex::decode(uuid.replace('-', "")).map_err(|_| MISSING_FILE)?;
    let row = assets::by_uuid(read, &bytes).await?.ok_or(MISSING_FILE)?;
    let found = repositories::allowing(read, identity, row.repository_id, Action::ReadReleases).await?;
    let found = found.ok_or(MISSING_FILE)?;
    match super::get(read, &found, row.release_id).await {
        Ok(release) => Ok((release, row)),
        Err(Error::NotFound { .. }) => Err(MISSING_FILE),
        Err(error) => Err(error),
    }
}

/// Returns the file called `name` of a release.
pub async fn by_name(read: &impl Read, release: &Release, name: &str) -> Result<ReleaseAsset, Error> {
    let all = assets::of_release(read, release.repository_id, release.id).await?;
    all.into_iter().find(|row| row.name == name).ok_or(MISSING_FILE)
}

/// Reads bytes of a file. All bytes are compared with their SHA-256 while they are read, unless that was done recently.
pub fn read(context: &Context, row: &ReleaseAsset, range: Range<u64>) -> BlockReader {
    let (key, is_whole) = (upload_key(row.id), range == (0..row.size));
    let reader = context.blobs.read(key, [BlockRef { file: row.file, size: row.size }].into(), range);
    if !is_whole || !context.verified.is_due(key, context.now_ms()) {
        return reader;
    }
    let context = context.clone();
    reader.verified(key, row.sha256.clone(), move |matches| {
        if matches {
            context.verified.record(key, context.now_ms());
        } else {
            context.metrics.damaged_artifacts.inc();
        }
    })
}

/// Counts downloads of files. If the daemon is killed, the last ones are not counted.
#[derive(Debug, Default)]
pub struct DownloadCounts(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// When a download of each file was counted last.
    last_ms: HashMap<u64, Millis>,
    /// The counted downloads of each file (repository, release and id) that are not written yet.
    pending: HashMap<(u64, u64, u64), u64>,
    /// Whether a task will write them.
    has_task: bool,
}

/// Shortest time between two downloads of the same file that are counted.
const COUNTED_MS: Millis = 1_000;
/// Most files that are remembered. When there are more, all are forgotten.
const COUNTED_MAX: usize = 65_536;
/// Shortest time between two transactions. Anonymous callers can download, so they must not cause one each.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// Files to update per transaction.
const BATCH: usize = 500;

impl DownloadCounts {
    /// Counts a download at `now`. Returns whether the caller must start the task that writes the counts.
    fn add(&self, row: &ReleaseAsset, now: Millis) -> bool {
        let mut counts = self.lock();
        if counts.last_ms.get(&row.id).is_some_and(|last| (*last..*last + COUNTED_MS).contains(&now)) {
            return false;
        }
        if counts.last_ms.len() >= COUNTED_MAX {
            counts.last_ms.clear();
        }
        counts.last_ms.insert(row.id, now);
        let key = (row.repository_id, row.release_id, row.id);
        if counts.pending.len() >= COUNTED_MAX && !counts.pending.contains_key(&key) {
            return false;
        }
        *counts.pending.entry(key).or_default() += 1;
        !std::mem::replace(&mut counts.has_task, true)
    }

    /// Takes some of the counts. If there are none, the task that writes them ends.
    fn take(&self) -> Vec<((u64, u64, u64), u64)> {
        let mut counts = self.lock();
        let keys: Vec<_> = counts.pending.keys().copied().take(BATCH).collect();
        counts.has_task = !keys.is_empty();
        keys.into_iter().filter_map(|key| counts.pending.remove_entry(&key)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a download in the background, at most once a second for each file.
pub fn count_download(context: &Context, row: &ReleaseAsset) {
    if context.asset_downloads.add(row, context.now_ms()) {
        let running = context.clone();
        context.tasks.short(async move { write_counts(&running).await });
    }
}

/// Writes the counts until there are none.
async fn write_counts(context: &Context) {
    loop {
        let counted = &context.asset_downloads.take();
        if counted.is_empty() {
            return;
        }
        let written = context.store.write(async |tx: Tx| {
            for (file, downloads) in counted {
                assets::count_downloads(&tx, *file, *downloads).await?;
            }
            Ok::<_, Error>(())
        });
        if let Err(error) = written.await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                files = counted.len(),
                "downloads were not counted"
            );
        }
        // The shutdown waits for this task.
        let _ = timeout(WRITE_EVERY, context.tasks.stop().cancelled()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(id: u64) -> ReleaseAsset {
        ReleaseAsset { id, repository_id: 7, release_id: 8, ..ReleaseAsset::default() }
    }

    #[test]
    fn a_file_is_counted_once_a_second_and_one_task_writes_all_counts() {
        let counts = DownloadCounts::default();
        let started: Vec<bool> =
            [(1, 0), (1, 999), (2, 999), (1, 1_000), (1, 500)].map(|(id, now)| counts.add(&file(id), now)).into();
        assert_eq!(started, [true, false, false, false, false]);
        let mut taken = counts.take();
        taken.sort_unstable();
        assert_eq!(taken, [((7, 8, 1), 3), ((7, 8, 2), 1)], "a clock that went back counts");
        assert!(!counts.add(&file(3), 0), "the task is running");
        assert_eq!(counts.take().len(), 1);
        assert!(counts.take().is_empty());
        assert!(counts.add(&file(4), 0), "the task has ended");
    }

    #[test]
    fn a_limited_number_of_files_is_written_at_once_and_remembered() {
        let counts = DownloadCounts::default();
        for id in 0..=COUNTED_MAX as u64 {
            counts.add(&file(id), 0);
        }
        assert!(counts.lock().last_ms.len() < COUNTED_MAX && counts.lock().pending.len() == COUNTED_MAX);
        assert_eq!(counts.take().len(), BATCH);
    }
}
