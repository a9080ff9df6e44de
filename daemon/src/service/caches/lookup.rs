//! Finds the cache entry that a job restores.

use farrier_proto::store::CacheEntry;

use super::{access::note_hit, refs_of, upload_key};
use crate::{
    model::{
        cache_key::{self, KeyError, KeyUse, Probe, check_version},
        signed_url::Operation,
    },
    service::{Context, Error, artifacts, authentication::JobIdentity},
    store::{
        Snapshot, StoreError,
        caches::{self, CacheSlot},
    },
};

/// The keys that a job looks for.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The key.
    pub key: String,
    /// Keys and prefixes to try after it.
    pub restore_keys: Vec<String>,
    /// The version. Entries with other versions are never found.
    pub version: String,
    /// Whether `key` can also be a prefix.
    pub key_use: KeyUse,
    /// The scope to which the runner restricts the job.
    pub isolation: Option<String>,
}

/// Returns the entry that `job` restores: the first entry that the keys find in the refs of the job. Records that the
/// entry was used.
pub async fn find(context: &Context, job: &JobIdentity, lookup: &Lookup) -> Result<Option<CacheEntry>, Error> {
    let probes = cache_key::probes(&lookup.key, &lookup.restore_keys, lookup.key_use).map_err(|error| {
        Error::invalid(if error == KeyError::RestoreKeys { "restore_keys" } else { "key" }, error.to_string())
    })?;
    check_version(&lookup.version).map_err(|error| Error::invalid("version", error.to_string()))?;
    let snapshot = context.store.read().await?;
    let refs = refs_of(&snapshot, job).await?.isolated(lookup.isolation.as_deref());
    for git_ref in refs.readable() {
        for probe in &probes {
            if let Some(row) = find_one(&snapshot, job.repository_id, git_ref, &lookup.version, probe).await? {
                note_hit(context, &row);
                return Ok(Some(row));
            }
        }
    }
    Ok(None)
}

async fn find_one(
    snapshot: &Snapshot,
    repository: u64,
    git_ref: &str,
    version: &str,
    probe: &Probe,
) -> Result<Option<CacheEntry>, StoreError> {
    match probe {
        Probe::Exact(key) => caches::ready(snapshot, repository, CacheSlot { git_ref, version, key }).await,
        Probe::Prefix(key) => {
            caches::newest_with_prefix(snapshot, repository, CacheSlot { git_ref, version, key }).await
        }
    }
}

/// Returns path and query of a URL that downloads `row`.
pub fn read_address(context: &Context, row: &CacheEntry) -> String {
    artifacts::sign(context, Operation::Read, upload_key(row), "cache", None)
}
