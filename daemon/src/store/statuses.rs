//! Statuses of commits: all of a commit in the order of their ids, and the last one of each context.

use farrier_proto::store::{CommitStatus, Reference, StatusContext, StatusState};

use super::{
    Read, Snapshot, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys, listings,
    range_counts::KeyFilter,
};

/// Most contexts of a commit.
pub const CONTEXTS_MAX: usize = 1_000;
/// Most statuses of a context of a commit. The oldest are deleted.
pub const STATUSES_MAX: u32 = 1_000;
/// Most statuses of a commit. The oldest are deleted; the last status of each context is kept.
pub const COMMIT_STATUSES_MAX: u64 = 5_000;

/// Adds a status to the commit `commit`. Deletes the oldest of its context above [`STATUSES_MAX`], and the oldest of
/// the commit above [`COMMIT_STATUSES_MAX`]. Returns `false` if the commit has `CONTEXTS_MAX` other contexts.
pub async fn insert(tx: &Tx, repository: u64, commit: &str, row: &CommitStatus) -> Result<bool, StoreError> {
    let key = keys::status_context(repository, commit, &row.context);
    let known = tx.get::<StatusContext>(&key).await?;
    if known.is_none() {
        let contexts = Range::prefix(keys::status_contexts(repository, commit));
        if tx.count(&contexts, CONTEXTS_MAX as u64).await? >= CONTEXTS_MAX as u64 {
            return Ok(false);
        }
    }
    let all = Range::prefix(keys::statuses(repository, commit));
    let mut statuses = known.map_or(0, |context| context.statuses);
    if statuses < STATUSES_MAX && tx.count(&all, COMMIT_STATUSES_MAX).await? >= COMMIT_STATUSES_MAX {
        for (oldest_key, oldest) in tx.scan::<CommitStatus>(&Scan::of(all, 1)).await? {
            tx.delete(oldest_key);
            tx.delete(keys::status_of_context(repository, commit, &oldest.context, oldest.id));
            if oldest.context == row.context {
                statuses = statuses.saturating_sub(1);
            } else {
                let context_key = keys::status_context(repository, commit, &oldest.context);
                if let Some(context) = tx.get::<StatusContext>(&context_key).await? {
                    let statuses = context.statuses.saturating_sub(1);
                    tx.put(context_key, &StatusContext { statuses, ..context });
                }
            }
        }
    }
    if statuses >= STATUSES_MAX {
        let oldest = Range::prefix(keys::statuses_of_context(repository, commit, &row.context));
        for (key, _) in tx.scan_bytes(&Scan::of(oldest, 1)).await? {
            if let Some(id) = keys::trailing_id(&key) {
                tx.delete(keys::status(repository, commit, id));
            }
            tx.delete(key);
        }
    } else {
        statuses += 1;
    }
    tx.put(keys::status(repository, commit, row.id), row);
    tx.put(keys::status_of_context(repository, commit, &row.context, row.id), &Reference { id: row.id });
    tx.put(key, &StatusContext { last: Some(row.clone()), statuses });
    Ok(true)
}

/// Returns whether a commit has statuses of `context`.
pub async fn has_context(read: &impl Read, repository: u64, commit: &str, context: &str) -> Result<bool, StoreError> {
    Ok(read.get::<StatusContext>(&keys::status_context(repository, commit, context)).await?.is_some())
}

/// Returns a page of the statuses of a commit in the order of their ids, and their number. `state`: only these.
pub async fn page(
    snapshot: &Snapshot,
    (repository, commit): (u64, &str),
    state: Option<StatusState>,
    reverse: bool,
    (skip, limit): (u64, usize),
) -> Result<(Vec<CommitStatus>, u64), StoreError> {
    let filter = state.map_or(KeyFilter::All, KeyFilter::Statuses);
    let prefix = keys::statuses(repository, commit);
    let (ids, total) = listings::ids_at(snapshot, vec![prefix], filter, reverse, skip, limit).await?;
    let keys: Vec<Key> = ids.into_iter().map(|id| keys::status(repository, commit, id)).collect();
    Ok((snapshot.get_many(&keys).await?.into_iter().flatten().collect(), total))
}

/// Returns the last status of each context of a commit, newest first.
pub async fn last_of_contexts(
    read: &impl Read,
    repository: u64,
    commit: &str,
) -> Result<Vec<CommitStatus>, StoreError> {
    let contexts = Range::prefix(keys::status_contexts(repository, commit));
    let rows = read.scan::<StatusContext>(&Scan::of(contexts, CONTEXTS_MAX)).await?;
    let mut last: Vec<CommitStatus> = rows.into_iter().filter_map(|(_, context)| context.last).collect();
    last.sort_unstable_by_key(|row| std::cmp::Reverse(row.id));
    Ok(last)
}

/// Deletes at most `limit` rows of the statuses of a repository that is removed permanently. Returns whether none are
/// left.
pub async fn delete_some(tx: &Tx, repository: u64, limit: usize) -> Result<bool, StoreError> {
    for prefix in keys::statuses_of_repository(repository) {
        let rows = tx.scan_bytes(&Scan::of(Range::prefix(prefix), limit)).await?;
        if !rows.is_empty() {
            for (key, _) in rows {
                tx.delete(key);
            }
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Store, engine::MemoryEngine};

    const COMMIT: &str = "0123456789012345678901234567890123456789";

    fn row(id: u64, context: &str, state: StatusState) -> CommitStatus {
        CommitStatus { id, context: context.into(), state: state.into(), ..CommitStatus::default() }
    }

    async fn add(store: &Store, rows: &[CommitStatus]) -> bool {
        let insert_all = async |tx: Tx| {
            for row in rows {
                if !insert(&tx, 7, COMMIT, row).await? {
                    return Ok(false);
                }
            }
            Ok::<_, StoreError>(true)
        };
        store.write(insert_all).await.expect("rows")
    }

    #[tokio::test]
    async fn the_oldest_statuses_of_a_context_are_deleted() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(16);
        let most = u64::from(STATUSES_MAX);
        let ci: Vec<_> = (1..=most + 5).map(|id| row(id, "ci", StatusState::Pending)).collect();
        assert!(add(&store, &ci).await);
        assert!(add(&store, &[row(most + 6, "lint", StatusState::Success)]).await);
        let read = store.read().await.expect("a snapshot");
        for (skip, reverse, first) in [(0, false, 6), (500, false, 506), (0, true, most + 6), (1, true, most + 5)] {
            let (rows, total) = page(&read, (7, COMMIT), None, reverse, (skip, 3)).await.expect("a page");
            assert_eq!((rows[0].id, rows.len(), total), (first, 3, most + 1), "{skip} {reverse}");
        }
        let (rows, total) = page(&read, (7, COMMIT), Some(StatusState::Success), true, (0, 3)).await.expect("a page");
        assert_eq!((rows.len(), rows[0].context.as_str(), total), (1, "lint", 1));
        let last: Vec<u64> = last_of_contexts(&read, 7, COMMIT).await.expect("rows").iter().map(|row| row.id).collect();
        assert_eq!(last, [most + 6, most + 5]);
    }

    #[tokio::test]
    async fn the_oldest_statuses_of_a_commit_are_deleted_but_the_last_of_each_context_is_kept() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(64);
        assert!(add(&store, &[row(1, "first", StatusState::Success)]).await);
        let contexts = ["a", "b", "c", "d", "e", "f"];
        let all: Vec<_> = (2..=COMMIT_STATUSES_MAX + 3)
            .map(|id| row(id, contexts[usize::try_from(id).expect("small") % 6], StatusState::Pending))
            .collect();
        assert!(add(&store, &all).await);
        let read = store.read().await.expect("a snapshot");
        let (rows, total) = page(&read, (7, COMMIT), None, false, (0, 1)).await.expect("a page");
        assert_eq!((rows[0].id, total), (4, COMMIT_STATUSES_MAX));
        let last = last_of_contexts(&read, 7, COMMIT).await.expect("rows");
        assert_eq!((last.len(), last.last().map(|row| row.id)), (7, Some(1)));
        drop(read);
        assert!(add(&store, &[row(9_000, "first", StatusState::Failure)]).await, "a known context");
    }

    #[tokio::test]
    async fn contexts_are_limited_and_everything_of_a_repository_is_deleted() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let contexts: Vec<_> =
            (1..=CONTEXTS_MAX as u64).map(|id| row(id, &format!("c{id}"), StatusState::Error)).collect();
        assert!(add(&store, &contexts).await);
        assert!(!add(&store, &[row(5_000, "one more", StatusState::Error)]).await);
        assert!(add(&store, &[row(5_001, "c7", StatusState::Success)]).await, "a known context");
        let delete =
            async |limit: usize| store.write(async |tx: Tx| delete_some(&tx, 7, limit).await).await.expect("deleted");
        while !delete(300).await {}
        let read = store.read().await.expect("a snapshot");
        assert_eq!(page(&read, (7, COMMIT), None, false, (0, 9)).await.expect("a page"), (Vec::new(), 0));
        assert!(last_of_contexts(&read, 7, COMMIT).await.expect("rows").is_empty());
    }
}
