//! What an upload belongs to: an artifact or a cache entry. Both have ids of one sequence and share the tables of
//! blocks, so a signed URL and a directory of blocks name them by their id alone.

use farrier_proto::store::{Artifact, CacheEntry, Content, Upload};

use super::{Read, StoreError, Tx, artifacts, caches};

/// The minimum time between two updates of [`CacheEntry::progress_ms`].
const PROGRESS_EVERY_MS: i64 = 10_000;

/// The row to which an upload belongs.
#[derive(Clone, Debug, PartialEq)]
pub enum UploadTarget {
    /// An artifact.
    Artifact(Artifact),
    /// A cache entry.
    CacheEntry(CacheEntry),
}

/// Returns the artifact or the cache entry with id `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<UploadTarget>, StoreError> {
    if let Some(row) = artifacts::get(read, id).await? {
        return Ok(Some(UploadTarget::Artifact(row)));
    }
    Ok(caches::get(read, id).await?.map(UploadTarget::CacheEntry))
}

impl UploadTarget {
    /// Returns the repository to which the row belongs.
    pub fn repository_id(&self) -> u64 {
        match self {
            Self::Artifact(row) => row.repository_id,
            Self::CacheEntry(row) => row.repository_id,
        }
    }

    /// Returns the upload in progress.
    pub fn upload(&self) -> Option<&Upload> {
        match self {
            Self::Artifact(row) => row.upload.as_ref(),
            Self::CacheEntry(row) => row.upload.as_ref(),
        }
    }

    /// Returns the confirmed content, also of an artifact that has expired.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::Artifact(row) => row.content.as_ref(),
            Self::CacheEntry(row) => row.content.as_ref(),
        }
    }

    /// Returns the generations whose bytes the row needs.
    pub fn live_generations(&self) -> Vec<u64> {
        match self {
            Self::Artifact(row) => artifacts::live_generations(row).collect(),
            Self::CacheEntry(row) => caches::live_generations(row).collect(),
        }
    }

    /// Writes the row with `upload` as its upload.
    pub fn put_upload(&self, tx: &Tx, upload: Upload) {
        match self {
            Self::Artifact(row) => {
                artifacts::put(tx, Some(row), &Artifact { upload: Some(upload), ..row.clone() });
            }
            Self::CacheEntry(row) => caches::put(tx, Some(row), &CacheEntry { upload: Some(upload), ..row.clone() }),
        }
    }

    /// Records that the upload received a block at `now_ms`, if the row of its kind has that time and it is due.
    pub fn put_progress(&self, tx: &Tx, now_ms: i64) {
        match self {
            Self::CacheEntry(row) if now_ms >= row.progress_ms.saturating_add(PROGRESS_EVERY_MS) => {
                caches::put(tx, Some(row), &CacheEntry { progress_ms: now_ms, ..row.clone() });
            }
            _ => {}
        }
    }
}
