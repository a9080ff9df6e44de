//! Finds and reads files of releases, and counts their downloads.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use farrier_proto::store::{Release, ReleaseAsset};

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
    let found = repositories::allowing(read, identity, row.repository_id, Action::Read).await?;
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

/// The time at which a download of each file was counted last.
#[derive(Debug, Default)]
pub struct DownloadCounts(Mutex<HashMap<u64, Millis>>);

/// Shortest time between two downloads of the same file that are counted.
const COUNTED_MS: Millis = 1_000;
/// Most files that are remembered. When there are more, all are forgotten.
const COUNTED_MAX: usize = 65_536;

impl DownloadCounts {
    /// Returns whether a download of the file `id` at `now` counts.
    fn counts(&self, id: u64, now: Millis) -> bool {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.get(&id).is_some_and(|last| (*last..*last + COUNTED_MS).contains(&now)) {
            return false;
        }
        if counted.len() >= COUNTED_MAX {
            counted.clear();
        }
        counted.insert(id, now);
        true
    }
}

/// Counts a download in the background, at most once a second for each file.
pub fn count_download(context: &Context, row: &ReleaseAsset) {
    if !context.asset_downloads.counts(row.id, context.now_ms()) {
        return;
    }
    let (task_context, repository, release, id) = (context.clone(), row.repository_id, row.release_id, row.id);
    context.tasks.short(async move {
        let counted = task_context.store.write(async |tx: Tx| {
            if let Some(before) = assets::get(&tx, repository, release, id).await? {
                assets::put(&tx, &ReleaseAsset { downloads: before.downloads + 1, ..before });
            }
            Ok::<_, Error>(())
        });
        if let Err(error) = counted.await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a download was not counted");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_counted_once_a_second() {
        let counts = DownloadCounts::default();
        let found: Vec<bool> =
            [(1, 0), (1, 999), (2, 999), (1, 1_000), (1, 500)].map(|(id, now)| counts.counts(id, now)).into();
        assert_eq!(found, [true, false, true, true, true], "a clock that went back counts");
    }
}
