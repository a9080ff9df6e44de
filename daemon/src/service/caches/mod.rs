//! Cache entries of workflow jobs: reserve, upload, finalize, find and evict.
//!
//! A job reserves a key, uploads the content like an artifact, and finalizes it. From then on the entry never changes.
//! Entries belong to a ref (`model::cache_refs`). Jobs can create them again, so they are deleted without a retention
//! when they were not used for a long time or when space is needed.

mod access;
pub mod across;
mod evict;
mod finalize;
mod list;
mod lookup;
mod parts;
mod remove;
mod reserve;
mod sweep;
mod upload_bytes;
mod usage;

use farrier_proto::store::CacheEntry;
use tokio::sync::Mutex;

use self::{access::Accesses, upload_bytes::UploadBytes};
pub use self::{
    access::{next_uses_ms, note_access, write_due as write_uses},
    finalize::{FinalizeEntry, Finalized, finalize},
    list::{CacheQuery, list, usage},
    lookup::{Lookup, find, read_address},
    parts::{Part, commit_parts, put_part},
    remove::{delete, delete_by_key, delete_of_repository},
    reserve::{NewEntry, Reservation, reserve, upload_address},
    sweep::{next_due_ms, sweep},
    usage::usage_of_all,
};
pub(super) use self::{
    evict::{can_free, free_space, free_unneeded},
    upload_bytes::count_upload,
};
use super::{Error, authentication::JobIdentity};
use crate::{
    blob::UploadKey,
    model::cache_refs::CacheRefs,
    store::{Read, repositories, runs},
};

/// The generation of all uploads of cache entries. A replaced reservation gets a new entry instead.
const GENERATION: u64 = 1;
/// The type of all entries. Clients do not send one.
const MIME_TYPE: &str = "application/octet-stream";

/// The part of the state of caches that is not in the store.
#[derive(Debug, Default)]
pub struct CacheState {
    accesses: Accesses,
    uploads: UploadBytes,
    /// Held while entries are evicted and uploads are counted, so that two requests do not evict for the same bytes.
    evicting: Mutex<()>,
}

/// Returns the refs whose entries `job` can read and write. They come from the row of its run, not from its token.
async fn refs_of(read: &impl Read, job: &JobIdentity) -> Result<CacheRefs, Error> {
    let run = runs::run(read, job.run_id).await?.ok_or(Error::NotFound { what: "the run" })?;
    let repository = repositories::get(read, job.repository_id).await?.filter(|row| !row.deleted);
    let repository = repository.ok_or(Error::NotFound { what: "the repository" })?;
    Ok(CacheRefs::of_job(&run.head_branch, &repository.default_branch))
}

/// Returns the key of the blocks of `row`.
fn upload_key(row: &CacheEntry) -> UploadKey {
    UploadKey { artifact: row.id, generation: GENERATION }
}
