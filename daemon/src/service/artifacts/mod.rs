//! Artifacts of workflow runs: create, upload, finalize, read, keep, delete, and their end.
//!
//! A deletion hides the artifact and keeps its bytes until `storage.set_aside_days` are over or it
//! expires, so that an administrator can restore it.
//!
//! One visible artifact for each (run, job, name). An upload is a *generation*: its blocks never
//! mix with another's, and its signed address dies with it. Rows decide what exists; bytes without
//! a row are waste that the sweep reclaims.

pub mod across;
mod create;
mod finalize;
mod keep;
mod list;
mod read;
mod receiving;
mod remove;
mod sweep;
mod upload;

use std::sync::Arc;

use farrier_proto::store::{Artifact, ArtifactState, Block, Content};

use super::Error;
use crate::{
    blob::{BlockRef, UploadKey},
    clock::Millis,
    store::{Read, artifacts as rows, repositories},
};

pub use self::{
    create::{Create, create},
    finalize::{Finalize, finalize},
    keep::{Until, keep},
    list::{Filter, list, list_run},
    read::{Download, Visible, find, find_in_run, open, read_address, upload_address},
    receiving::Receiving,
    remove::{delete, delete_in_run, delete_many, delete_of_run},
    sweep::{next_due_ms, sweep},
    upload::{BlockInput, Checks, commit, put_blob, put_block},
};

/// What callers hear of an artifact that is not there, not finalized, deleted or expired.
const MISSING: Error = Error::NotFound { what: "the artifact" };

/// The confirmed content of an artifact whose time is not over.
fn visible(row: &Artifact, now: Millis) -> Option<&Content> {
    let live = row.state() == ArtifactState::Final && row.expires_ms > now && row.deleted_ms == 0;
    row.content.as_ref().filter(|_| live)
}

/// Refuses artifacts of deleted repositories: a signed address outlives the deletion.
async fn require_repository(read: &impl Read, row: &Artifact) -> Result<(), Error> {
    let repository = repositories::get(read, row.repository_id).await?;
    repository.filter(|repository| !repository.deleted).map(drop).ok_or(MISSING)
}

/// The committed list of a place as the blob store reads it.
async fn block_refs(read: &impl Read, key: UploadKey) -> Result<Arc<[BlockRef]>, Error> {
    let list = rows::list(read, key.artifact, key.generation).await?;
    Ok(list.iter().map(block_ref).collect())
}

fn block_ref(block: &Block) -> BlockRef {
    BlockRef { file: block.file, size: block.size }
}

/// `sha256:` and hexadecimal digits, as the protocol writes a digest.
pub fn digest_text(sha256: &[u8]) -> String {
    format!("sha256:{}", hex::encode(sha256))
}
