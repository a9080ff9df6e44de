//! Adds up how much storage the repositories of each owner use.
//!
//! A background task reads all rows in small batches, each in a snapshot of its own, and keeps the result in memory.
//! Requests only read this result. The sums are not those of one moment, because rows change between the batches.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use farrier_common::api::{OwnerStorage, StorageByOwner, StorageSizes};
use farrier_proto::store::OwnerKind;

use super::{
    Context, Error,
    quota_watch::{self, QuotaKind, SummedUse},
};
use crate::{
    clock::Millis,
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    show,
    store::{Snapshot, Store, StoreError, artifacts, caches, engine::Key, owners, releases::assets, repositories},
};

/// Number of owners that are listed.
const OWNERS_MAX: usize = 10;
/// Number of rows per batch, and the pause after each batch, so that the walk leaves room for requests.
const BATCH: usize = 256;
const PAUSE: Duration = Duration::from_millis(2);

/// The last result; `None` until the first one.
#[derive(Debug, Default)]
pub struct StorageUse(Mutex<Option<Arc<StorageByOwner>>>);

impl StorageUse {
    fn last(&self) -> Option<Arc<StorageByOwner>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, result: StorageByOwner) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(result));
    }
}

/// Returns whether the caller may read data about all owners: an administrator whose access is not limited to
/// repositories or public objects, and whose token may read the administration.
pub(super) fn may_read(identity: &Identity) -> bool {
    let token_allows = identity.token().is_none_or(|token| {
        let is_limited = !token.repositories.is_empty() || token.scopes.public_only();
        !is_limited && token.scopes.allows(Category::Admin, Level::Read)
    });
    identity.is_admin() && token_allows
}

/// Returns the last result, for callers who may read it.
pub(super) fn shown(context: &Context, identity: &Identity) -> Option<StorageByOwner> {
    let last = context.storage_use.last().filter(|_| may_read(identity))?;
    Some(StorageByOwner::clone(&last))
}

/// Reads all rows, replaces the last result, and checks the quotas that are nearly full.
pub async fn refresh(context: &Context) -> Result<(), Error> {
    let (result, summed) = add_up(&context.store, || context.now_ms()).await?;
    context.storage_use.keep(result);
    quota_watch::review(context, &summed).await
}

/// Adds up the rows of a store, by owner and for each quota. `now` returns the time.
async fn add_up(store: &Store, now: impl Fn() -> Millis) -> Result<(StorageByOwner, SummedUse), StoreError> {
    let (mut sums, mut summed) = (Sums::default(), SummedUse::default());
    let mut after = 0;
    loop {
        let rows = repositories::after_id(&store.read().await?, after, BATCH).await?;
        let Some(last) = rows.last() else { break };
        after = last.id;
        for row in &rows {
            let sizes = StorageSizes {
                git_bytes: signed(row.size_bytes),
                lfs_bytes: signed(row.lfs_size),
                ..StorageSizes::default()
            };
            sums.add_repository(row.id, (row.owner_kind(), row.owner_id), &sizes);
            summed.add(QuotaKind::LfsObjects, row.owner_id, row.id, row.lfs_size);
        }
        tokio::time::sleep(PAUSE).await;
    }
    for kind in [SizedRows::Artifacts, SizedRows::CacheEntries, SizedRows::ReleaseFiles] {
        let mut after: Option<Key> = None;
        loop {
            let (rows, next) = kind.batch(&store.read().await?, after.as_deref()).await?;
            for (repository, bytes) in rows {
                sums.add(repository, &kind.sizes(bytes));
                if let Some(quota) = kind.quota() {
                    summed.add(quota, repository, repository, bytes);
                }
            }
            let Some(next) = next else { break };
            after = Some(next);
            tokio::time::sleep(PAUSE).await;
        }
    }
    let mut result = sums.largest();
    let snapshot = store.read().await?;
    for (kind, owner) in &mut result.owners {
        // An account that was deleted meanwhile has no name.
        let id = u64::try_from(owner.id).unwrap_or_default();
        let found = owners::owner(&snapshot, *kind, id).await?;
        owner.name = found.map(|found| found.name().to_owned()).unwrap_or_default();
    }
    let by_owner = StorageByOwner {
        computed_at: show::time(now()),
        owners: result.owners.into_iter().map(|(_, owner)| owner).collect(),
        other_owners: result.other_owners,
        others: result.others,
    };
    Ok((by_owner, summed))
}

/// Rows that have a size and belong to a repository.
#[derive(Clone, Copy, Debug)]
enum SizedRows {
    Artifacts,
    CacheEntries,
    ReleaseFiles,
}

impl SizedRows {
    /// Returns the repository and the size of the next rows, and the key after which the next batch starts. Uploads
    /// that are not complete and deleted artifacts are left out; expired artifacts have size 0.
    async fn batch(
        self,
        snapshot: &Snapshot,
        after: Option<&[u8]>,
    ) -> Result<(Vec<(u64, u64)>, Option<Key>), StoreError> {
        Ok(match self {
            Self::Artifacts => {
                let (rows, next) = artifacts::batch(snapshot, after, BATCH).await?;
                let kept = rows.iter().filter(|row| row.deleted_ms == 0);
                (kept.map(|row| (row.repository_id, artifacts::stored_bytes(row))).collect(), next)
            }
            Self::CacheEntries => {
                let (rows, next) = caches::batch(snapshot, after, BATCH).await?;
                let sized = rows.into_iter().filter_map(|row| Some((row.repository_id, row.content?.size)));
                (sized.collect(), next)
            }
            Self::ReleaseFiles => {
                let (rows, next) = assets::batch(snapshot, after, BATCH).await?;
                (rows.into_iter().map(|row| (row.repository_id, row.size)).collect(), next)
            }
        })
    }

    /// Returns the quota that limits the rows of a repository, if there is one.
    fn quota(self) -> Option<QuotaKind> {
        match self {
            Self::Artifacts => Some(QuotaKind::Artifacts),
            Self::ReleaseFiles => Some(QuotaKind::ReleaseFiles),
            Self::CacheEntries => None,
        }
    }

    fn sizes(self, bytes: u64) -> StorageSizes {
        let bytes = signed(bytes);
        match self {
            Self::Artifacts => StorageSizes { artifact_bytes: bytes, ..StorageSizes::default() },
            Self::CacheEntries => StorageSizes { cache_bytes: bytes, ..StorageSizes::default() },
            Self::ReleaseFiles => StorageSizes { release_bytes: bytes, ..StorageSizes::default() },
        }
    }
}

/// The sums so far.
#[derive(Debug, Default)]
struct Sums {
    /// The owner of each repository.
    owner_of: HashMap<u64, u64>,
    owners: HashMap<u64, (OwnerKind, OwnerStorage)>,
}

/// The largest owners, without names, and the sums of the others.
#[derive(Debug, Default)]
struct Largest {
    owners: Vec<(OwnerKind, OwnerStorage)>,
    other_owners: i64,
    others: StorageSizes,
}

impl Sums {
    fn add_repository(&mut self, repository: u64, (kind, owner): (OwnerKind, u64), sizes: &StorageSizes) {
        self.owner_of.insert(repository, owner);
        let empty = || (kind, OwnerStorage { id: signed(owner), ..OwnerStorage::default() });
        self.owners.entry(owner).or_insert_with(empty).1.repositories += 1;
        self.add(repository, sizes);
    }

    /// Adds sizes to the owner of a repository. Those of a deleted repository are left out.
    fn add(&mut self, repository: u64, sizes: &StorageSizes) {
        let owner = self.owner_of.get(&repository).and_then(|owner| self.owners.get_mut(owner));
        if let Some((_, owner)) = owner {
            owner.sizes.increase_by(sizes);
        }
    }

    fn largest(self) -> Largest {
        let mut owners: Vec<(OwnerKind, OwnerStorage)> = self.owners.into_values().collect();
        owners.sort_unstable_by_key(|(_, owner)| (Reverse(owner.sizes.total()), owner.id));
        let mut result = Largest::default();
        for (_, owner) in owners.iter().skip(OWNERS_MAX) {
            result.other_owners += 1;
            result.others.increase_by(&owner.sizes);
        }
        owners.truncate(OWNERS_MAX);
        result.owners = owners;
        result
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use farrier_proto::store::{Artifact, ArtifactState, Content, Repository, User};

    use super::*;
    use crate::store::{Tx, engine::MemoryEngine};

    #[tokio::test]
    async fn sizes_are_added_up_by_owner_without_deleted_and_expired_data() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let repository = |id: u64, owner_id: u64, size_bytes: u64| Repository {
            id,
            owner_kind: OwnerKind::User.into(),
            owner_id,
            name: format!("r{id}"),
            size_bytes,
            lfs_size: 5,
            ..Repository::default()
        };
        let artifact = |id: u64, repository_id: u64, size: u64, deleted_ms: i64| Artifact {
            id,
            repository_id,
            name: id.to_string(),
            state: ArtifactState::Final.into(),
            content: Some(Content { size, ..Content::default() }),
            deleted_ms,
            ..Artifact::default()
        };
        let fill = async |tx: Tx| {
            for (id, name) in [(1, "mia"), (2, "tools")] {
                let email = format!("{name}@example.org");
                let user = User { id, name: name.into(), email, ..User::default() };
                assert_eq!(owners::insert_user(&tx, &user).await?, None);
            }
            for row in [repository(1, 1, 100), repository(2, 2, 30), repository(3, 2, 40)] {
                assert!(repositories::insert(&tx, &row).await?);
            }
            for row in [artifact(1, 2, 700, 0), artifact(2, 2, 9_000, 5), artifact(3, 99, 9_000, 0)] {
                artifacts::put(&tx, None, &row);
            }
            let expired = Artifact { state: ArtifactState::Expired.into(), ..artifact(4, 2, 9_000, 0) };
            artifacts::put(&tx, None, &expired);
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        let (found, _) = add_up(&store, || 1_000).await.expect("sums");
        assert_eq!((found.computed_at.as_str(), found.other_owners), ("1970-01-01T00:00:01Z", 0));
        let owners: Vec<(&str, i64, i64)> =
            found.owners.iter().map(|one| (one.name.as_str(), one.repositories, one.sizes.total())).collect();
        assert_eq!(owners, [("tools", 2, 780), ("mia", 1, 105)]);
        let sizes = StorageSizes { git_bytes: 70, lfs_bytes: 10, artifact_bytes: 700, ..StorageSizes::default() };
        assert_eq!(found.owners[0].sizes, sizes);
    }

    #[test]
    fn only_the_largest_owners_are_listed_and_the_others_are_summed() {
        let mut sums = Sums::default();
        for id in 1..=13_u64 {
            let sizes = StorageSizes { git_bytes: signed(id), ..StorageSizes::default() };
            sums.add_repository(id, (OwnerKind::Org, id), &sizes);
        }
        sums.add(13, &SizedRows::CacheEntries.sizes(100));
        sums.add(99, &SizedRows::ReleaseFiles.sizes(100));
        let found = sums.largest();
        assert_eq!(found.owners.len(), OWNERS_MAX);
        assert_eq!((found.owners[0].1.id, found.owners[0].1.sizes.total()), (13, 113));
        assert_eq!((found.other_owners, found.others.total()), (3, 1 + 2 + 3));
    }
}
