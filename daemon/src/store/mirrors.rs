//! The remotes of mirrors, and the times at which mirrors are due.
//!
//! The settings and the state of a pull mirror are in the row of its repository, whose index entries
//! [`super::repositories`] maintains. The row of its source has an empty name and only an address and credentials.

use farrier_proto::store::{MirrorRemote, Reference};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys, repositories,
};

/// Most push mirrors of a repository.
pub const PUSH_MIRRORS_MAX: usize = 32;

/// A mirror that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueMirror {
    /// When it is due.
    pub due_ms: i64,
    /// Its repository.
    pub repository: u64,
    /// The name of the push mirror; empty for a pull mirror.
    pub name: String,
}

/// Returns the push mirror `name` of a repository; with an empty name the source of a pull mirror.
pub async fn remote(read: &impl Read, repository: u64, name: &str) -> Result<Option<MirrorRemote>, StoreError> {
    read.get(&keys::mirror_remote(repository, name)).await
}

/// Returns the push mirrors of a repository, by name.
pub async fn push_mirrors(read: &impl Read, repository: u64) -> Result<Vec<MirrorRemote>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::mirror_remotes_of(repository)), usize::MAX);
    let rows = read.scan::<MirrorRemote>(&scan).await?;
    Ok(rows.into_iter().map(|(_, row)| row).filter(|row| !row.name.is_empty()).collect())
}

/// Returns the remotes of all mirrors after the remote `name` of the repository `after`, with their repositories, at
/// most `limit`. The source of a pull mirror has an empty name.
pub async fn remotes_after(
    read: &impl Read,
    after: Option<(u64, &str)>,
    limit: usize,
) -> Result<Vec<(u64, MirrorRemote)>, StoreError> {
    let all = Range::prefix(keys::mirror_remotes());
    let range = match after {
        Some((repository, name)) => all.after(&keys::mirror_remote(repository, name)),
        None => all,
    };
    let rows = read.scan::<MirrorRemote>(&Scan::of(range, limit)).await?;
    Ok(rows.into_iter().filter_map(|(key, row)| Some((keys::first_id(&key)?, row))).collect())
}

/// Returns the index entry of a push mirror that is due at a time.
pub(in crate::store) fn due_key(repository: u64, row: &MirrorRemote) -> Option<Key> {
    (row.next_ms != 0 && !row.name.is_empty()).then(|| keys::mirror_due(row.next_ms, repository, &row.name))
}

/// Writes `row` and its index entry. `before` is the stored row, if there is one.
pub fn put(tx: &Tx, repository: u64, before: Option<&MirrorRemote>, row: &MirrorRemote) {
    let (old, new) = (before.and_then(|before| due_key(repository, before)), due_key(repository, row));
    if old != new {
        if let Some(old) = old {
            tx.delete(old);
        }
        if let Some(new) = new {
            tx.put(new, &Reference { id: repository });
        }
    }
    tx.put(keys::mirror_remote(repository, &row.name), row);
}

/// Deletes `row` and its index entry.
pub fn delete(tx: &Tx, repository: u64, row: &MirrorRemote) {
    if let Some(due) = due_key(repository, row) {
        tx.delete(due);
    }
    tx.delete(keys::mirror_remote(repository, &row.name));
}

/// Deletes all remotes of a repository that is removed permanently.
pub async fn delete_all(tx: &Tx, repository: u64) -> Result<(), StoreError> {
    for row in push_mirrors(tx, repository).await? {
        delete(tx, repository, &row);
    }
    tx.delete(keys::mirror_remote(repository, ""));
    Ok(())
}

/// Returns the first mirrors by the time at which they are due, at most `limit`.
pub async fn first_due(read: &impl Read, limit: usize) -> Result<Vec<DueMirror>, StoreError> {
    due_after(read, None, limit).await
}

/// Returns the mirrors after the mirror `after`, by the time at which they are due, at most `limit`.
pub async fn due_after(
    read: &impl Read,
    after: Option<&DueMirror>,
    limit: usize,
) -> Result<Vec<DueMirror>, StoreError> {
    let range = match after {
        Some(DueMirror { due_ms, repository, name }) => {
            keys::mirrors_due().after(&keys::mirror_due(*due_ms, *repository, name))
        }
        None => keys::mirrors_due(),
    };
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    let due = pairs.iter().filter_map(|(key, _)| {
        let (repository, name) = keys::mirror_due_parts(key)?;
        Some(DueMirror { due_ms: keys::leading_time(key)?, repository, name: name.to_owned() })
    });
    Ok(due.collect())
}

/// Makes the push mirrors of a repository due that are updated after each push. `depth`: the number of mirrors through
/// which the push came. Returns whether there are any.
///
/// Is called in the transaction that records a push, so no push is forgotten.
pub async fn request_after_push(tx: &Tx, repository: u64, depth: u32, now_ms: i64) -> Result<bool, StoreError> {
    let mut any = false;
    for before in push_mirrors(tx, repository).await?.into_iter().filter(|row| row.sync_on_commit) {
        let row = MirrorRemote {
            next_ms: now_ms,
            requests: before.requests + 1,
            depth: before.depth.max(depth),
            ..before.clone()
        };
        put(tx, repository, Some(&before), &row);
        any = true;
    }
    Ok(any)
}

/// Updates the number of push mirrors that are updated after each push, which is part of the repository's row, so that
/// pushes to other repositories do not look for mirrors.
pub async fn count_on_commit(tx: &Tx, repository: u64) -> Result<(), StoreError> {
    let count = push_mirrors(tx, repository).await?.iter().filter(|row| row.sync_on_commit).count();
    let Some(before) = repositories::get(tx, repository).await? else { return Ok(()) };
    let mut row = before.clone();
    row.mirror.get_or_insert_default().push_on_commit = u32::try_from(count).unwrap_or(u32::MAX);
    repositories::put(tx, Some(&before), &row);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::Repository;

    use super::*;
    use crate::store::{Store, engine::MemoryEngine};

    fn row(name: &str, next_ms: i64) -> MirrorRemote {
        MirrorRemote { name: name.into(), next_ms, sync_on_commit: next_ms > 5, ..MirrorRemote::default() }
    }

    #[tokio::test]
    async fn a_mirror_is_due_once_and_a_push_makes_it_due_again() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let insert = async |tx: Tx| {
            repositories::put(&tx, None, &Repository { id: 7, ..Repository::default() });
            put(&tx, 7, None, &row("a", 9));
            put(&tx, 7, None, &row("b", 4));
            put(&tx, 7, None, &row("c", 0));
            put(&tx, 7, None, &MirrorRemote { address: "https://h/x".into(), ..MirrorRemote::default() });
            put(&tx, 7, Some(&row("b", 4)), &row("b", 5));
            count_on_commit(&tx, 7).await
        };
        store.write(insert).await.expect("rows");
        let names = async || {
            let due = first_due(&store.read().await.expect("a snapshot"), 9).await.expect("rows");
            due.into_iter().map(|due| (due.due_ms, due.name)).collect::<Vec<_>>()
        };
        assert_eq!(names().await, [(5, "b".to_owned()), (9, "a".to_owned())]);
        let push = async |tx: Tx| request_after_push(&tx, 7, 2, 3).await;
        assert!(store.write(push).await.expect("written"));
        assert_eq!(names().await, [(3, "a".to_owned()), (5, "b".to_owned())]);
        let read = store.read().await.expect("a snapshot");
        let a = remote(&read, 7, "a").await.expect("readable").expect("it");
        assert_eq!((a.requests, a.depth), (1, 2));
        let repository = repositories::get(&read, 7).await.expect("readable").expect("it");
        assert_eq!(repository.mirror.expect("set").push_on_commit, 1);
        store.write(async |tx: Tx| delete_all(&tx, 7).await).await.expect("deleted");
        assert!(names().await.is_empty());
    }
}
