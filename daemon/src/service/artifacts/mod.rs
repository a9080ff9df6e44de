//! Artifacts of workflow runs: create, upload, finalize, read, keep, delete and expire.
//!
//! A deletion hides the artifact and keeps its bytes until `storage.set_aside_days` are over or it expires, so that an
//! administrator can restore it.
//!
//! There is one visible artifact for each (run, job, name). Each upload is a *generation*: its blocks never mix with
//! those of another, and its signed URL is valid only as long as the upload. Rows decide what exists. Bytes without
//! a row are waste, which the sweep removes.
//!
//! Uploads and downloads by signed URL also serve the entries of `caches`.

pub mod across;
mod commit;
mod create;
pub mod files;
mod finalize;
mod keep;
mod list;
mod quota;
mod read;
mod receiving;
mod remove;
mod sweep;
mod upload;
mod validators;
mod verified;

use std::sync::Arc;

use farrier_proto::store::{Artifact, ArtifactState, Block, Content};

use super::Error;
use crate::{
    blob::{BlockRef, UploadKey},
    clock::Millis,
    store::{Read, artifacts as rows, repositories, uploads::UploadTarget},
};

pub use self::{
    commit::commit,
    create::{Create, create},
    finalize::{Finalize, finalize},
    keep::{NewExpiry, keep},
    list::{RunArtifactFilter, list, list_run},
    read::{Download, VisibleArtifact, find, find_in_run, open, read_address, upload_address},
    receiving::Receiving,
    remove::{delete, delete_in_run, delete_many, delete_of_run},
    sweep::{next_due_ms, sweep},
    upload::{BlockInput, ExpectedChecksums, is_cache_upload, put_blob, put_block, upload_repository},
    verified::VerifiedContents,
};
pub(in crate::service) use self::{read::sign, sweep::collect};

/// The error for an artifact that does not exist, is not finalized, is deleted or has expired.
const MISSING: Error = Error::NotFound { what: "the artifact" };
/// The error for a signed address whose artifact or cache entry does not exist.
const NO_TARGET: Error = Error::NotFound { what: "the artifact or cache entry" };

/// Returns the error for an upload or a content that `target` does not have.
fn missing(target: &UploadTarget) -> Error {
    match target {
        UploadTarget::Artifact(_) => MISSING,
        UploadTarget::CacheEntry(_) => Error::NotFound { what: "the cache entry" },
    }
}

/// Returns the finalized content of an artifact that is not expired or deleted.
fn visible(row: &Artifact, now: Millis) -> Option<&Content> {
    let live = row.state() == ArtifactState::Final && row.expires_ms > now && row.deleted_ms == 0;
    row.content.as_ref().filter(|_| live)
}

/// Returns the error of [`missing`] for artifacts and cache entries of deleted repositories, because a signed URL
/// outlives the deletion.
async fn require_repository(read: &impl Read, target: &UploadTarget) -> Result<(), Error> {
    if is_repository_live(read, target.repository_id()).await? { Ok(()) } else { Err(missing(target)) }
}

async fn is_repository_live(read: &impl Read, repository: u64) -> Result<bool, Error> {
    Ok(repositories::get(read, repository).await?.is_some_and(|repository| !repository.deleted))
}

/// Returns the committed block list of an upload in the form of the blob store.
pub(super) async fn block_refs(read: &impl Read, key: UploadKey) -> Result<Arc<[BlockRef]>, Error> {
    let list = rows::list(read, key.artifact, key.generation).await?;
    Ok(list.iter().map(block_ref).collect())
}

fn block_ref(block: &Block) -> BlockRef {
    BlockRef { file: block.file, size: block.size }
}
