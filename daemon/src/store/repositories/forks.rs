//! Forks: which repository was forked from which.
//!
//! The row of a fork names its parent, the immediate source. The index `fk` lists the forks of a repository that are
//! not deleted, also while the repository itself is deleted, so that a restored repository has its forks again.

use std::collections::VecDeque;

use farrier_proto::store::{Repository, Visibility};

use super::{class, get, many, put};
use crate::store::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys, owners,
};

/// The visibility classes of forks.
const CLASSES: [Visibility; 3] = [Visibility::Public, Visibility::Limited, Visibility::Private];

/// Returns the index entries of a row that is not deleted.
pub(super) fn keys_of(row: &Repository) -> Vec<Key> {
    if row.parent == 0 {
        return Vec::new();
    }
    vec![keys::fork(row.parent, row.listed(), row.id), keys::owner_fork(row.parent, row.owner_id, row.id)]
}

/// Returns the source of a fork, if it is not deleted.
pub async fn parent(read: &impl Read, row: &Repository) -> Result<Option<Repository>, StoreError> {
    if row.parent == 0 {
        return Ok(None);
    }
    Ok(get(read, row.parent).await?.filter(|parent| !parent.deleted))
}

/// Returns the forks of `parent` that belong to one owner. There are several only after a transfer.
pub async fn of_owner(read: &impl Read, parent: u64, owner: u64) -> Result<Vec<Repository>, StoreError> {
    let pairs = read.scan_bytes(&Scan::of(Range::prefix(keys::owner_forks(parent, owner)), usize::MAX)).await?;
    let ids: Vec<u64> = pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)).collect();
    many(read, &ids).await
}

/// Returns at most `limit` forks of a repository.
async fn some(read: &impl Read, parent: u64, limit: usize) -> Result<Vec<Repository>, StoreError> {
    let mut ids = Vec::new();
    for class in CLASSES {
        if ids.len() == limit {
            break;
        }
        let range = Range::prefix(keys::forks(parent, class));
        let pairs = read.scan_bytes(&Scan::of(range, limit.saturating_sub(ids.len()))).await?;
        ids.extend(pairs.iter().filter_map(|(key, _)| keys::trailing_newest(key)));
    }
    many(read, &ids).await
}

/// Counts a fork that was added to its parent, or restored.
pub async fn added(tx: &Tx, row: &Repository) -> Result<(), StoreError> {
    count(tx, row.parent, |number| number.saturating_add(1)).await
}

/// Counts a fork that was deleted, or that left its parent.
pub async fn removed(tx: &Tx, row: &Repository) -> Result<(), StoreError> {
    count(tx, row.parent, |number| number.saturating_sub(1)).await
}

async fn count(tx: &Tx, parent: u64, change: impl Fn(u64) -> u64) -> Result<(), StoreError> {
    if parent == 0 {
        return Ok(());
    }
    if let Some(before) = get(tx, parent).await? {
        put(tx, Some(&before), &Repository { forks: change(before.forks), ..before.clone() });
    }
    Ok(())
}

/// Returns whether forks of `source` are private: the source is private, or its owner is. Otherwise a fork in a public
/// account would show everybody what only members of a private organization see.
pub async fn are_private(read: &impl Read, source: &Repository) -> Result<bool, StoreError> {
    Ok(source.private || owner_visibility(read, source).await? == Visibility::Private)
}

async fn owner_visibility(read: &impl Read, row: &Repository) -> Result<Visibility, StoreError> {
    let owner = owners::owner(read, row.owner_kind(), row.owner_id).await?;
    Ok(owner.map_or(Visibility::Private, |owner| owner.visibility()))
}

/// Makes all forks of a repository, and their forks, as private as their sources.
pub async fn follow_visibility(tx: &Tx, source: &Repository) -> Result<(), StoreError> {
    let mut left = VecDeque::from([(source.id, are_private(tx, source).await?)]);
    while let Some((parent, private)) = left.pop_front() {
        for before in some(tx, parent, usize::MAX).await? {
            let visibility = owner_visibility(tx, &before).await?;
            left.push_back((before.id, private || visibility == Visibility::Private));
            if before.private == private {
                continue;
            }
            let listed = class(visibility, private).into();
            put(tx, Some(&before), &Repository { private, listed, ..before.clone() });
        }
    }
    Ok(())
}

/// Ends the relation of a restored repository to forks that became public or private while it was deleted.
pub async fn detach_differing(tx: &Tx, row: &Repository) -> Result<(), StoreError> {
    let private = are_private(tx, row).await?;
    for fork in some(tx, row.id, usize::MAX).await?.iter().filter(|fork| fork.private != private) {
        detach(tx, fork).await?;
    }
    Ok(())
}

/// Ends the relation of at most `limit` forks to a repository that is removed permanently. Returns whether none are
/// left. Forks that are deleted themselves keep the ID of the repository, which is never used again.
pub async fn detach_some(tx: &Tx, repository: u64, limit: usize) -> Result<bool, StoreError> {
    let forks = some(tx, repository, limit).await?;
    for fork in &forks {
        detach(tx, fork).await?;
    }
    Ok(forks.len() < limit)
}

async fn detach(tx: &Tx, fork: &Repository) -> Result<(), StoreError> {
    put(tx, Some(fork), &Repository { parent: 0, ..fork.clone() });
    removed(tx, fork).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{OwnerKind, User};

    use super::*;
    use crate::store::{Store, engine::MemoryEngine, listings, repositories};

    fn row(id: u64, parent: u64, private: bool) -> Repository {
        let listed = if private { Visibility::Private } else { Visibility::Public };
        Repository {
            id,
            owner_id: 1 + id % 2,
            owner_kind: OwnerKind::User.into(),
            name: format!("r{id}"),
            parent,
            private,
            listed: listed.into(),
            ..Repository::default()
        }
    }

    async fn store() -> Store {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(4);
        let fill = async |tx: Tx| {
            for id in [1, 2] {
                owners::insert_user(&tx, &User { id, name: format!("u{id}"), ..User::default() }).await?;
            }
            assert!(repositories::insert(&tx, &row(10, 0, false)).await?);
            for id in 11..=60 {
                let fork = row(id, if id == 60 { 59 } else { 10 }, false);
                assert!(repositories::insert(&tx, &fork).await?);
                added(&tx, &fork).await?;
            }
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        store
    }

    async fn forks_of(store: &Store, parent: u64) -> u64 {
        let read = store.read().await.expect("a snapshot");
        get(&read, parent).await.expect("a row").expect("a row").forks
    }

    #[tokio::test]
    async fn pages_of_forks_are_newest_first_and_merge_single_forks() {
        let store = store().await;
        let hide = async |tx: Tx| {
            for id in [12, 20] {
                put(&tx, Some(&row(id, 10, false)), &row(id, 10, true));
            }
            Ok::<_, StoreError>(())
        };
        store.write(hide).await.expect("hidden");
        let read = store.read().await.expect("a snapshot");
        let page = async |singles: &[u64], window| {
            listings::forks(&read, 10, &[Visibility::Public], singles, window).await.expect("a page")
        };
        assert_eq!(page(&[], (0, 2)).await, (vec![59, 58], 47));
        assert_eq!(page(&[], (45, 9)).await, (vec![13, 11], 47));
        assert_eq!(page(&[12], (45, 9)).await, (vec![13, 12, 11], 48));
        assert_eq!(page(&[20], (38, 3)).await, (vec![21, 20, 19], 48));
        assert_eq!(of_owner(&read, 59, 1).await.expect("rows")[0].id, 60);
        assert_eq!(forks_of(&store, 10).await, 49);
    }

    #[tokio::test]
    async fn the_visibility_of_a_network_changes_together() {
        let store = store().await;
        store.write(async |tx: Tx| follow_visibility(&tx, &row(10, 0, true)).await).await.expect("private");
        let read = store.read().await.expect("a snapshot");
        for id in 11..=60 {
            assert!(get(&read, id).await.expect("a row").expect("a row").private, "{id}");
        }
        let (ids, total) = listings::forks(&read, 10, &[Visibility::Private], &[], (0, 1)).await.expect("a page");
        assert_eq!((ids, total), (vec![59], 49));
    }

    #[tokio::test]
    async fn forks_of_repositories_of_private_owners_stay_private() {
        let store = store().await;
        let hide = async |tx: Tx| {
            let visibility = Visibility::Private.into();
            tx.put(keys::user(2), &User { id: 2, name: "u2".into(), visibility, ..User::default() });
            follow_visibility(&tx, &row(10, 0, false)).await
        };
        store.write(hide).await.expect("rows");
        let read = store.read().await.expect("a snapshot");
        // Repository 59 belongs to the private user 2; 60 is a fork of it.
        for (id, private) in [(58, false), (59, false), (60, true)] {
            assert_eq!(get(&read, id).await.expect("a row").expect("a row").private, private, "{id}");
        }
        assert!(are_private(&read, &row(59, 10, false)).await.expect("an owner"));
        assert!(!are_private(&read, &row(58, 10, false)).await.expect("an owner"));
    }

    #[tokio::test]
    async fn forks_outlive_a_repository_that_is_removed() {
        let store = store().await;
        while !store.write(async |tx: Tx| detach_some(&tx, 10, 20).await).await.expect("detached") {}
        let read = store.read().await.expect("a snapshot");
        assert_eq!(some(&read, 10, 99).await.expect("rows"), []);
        assert_eq!(get(&read, 11).await.expect("a row").map(|row| row.parent), Some(0));
        assert_eq!((forks_of(&store, 10).await, forks_of(&store, 59).await), (0, 1));
    }
}
