//! Which accounts starred or watch which repositories.
//!
//! The list of a repository is sorted by the visibility of the accounts, so that a page of those that a caller sees is
//! found without reading the entries before it.

use farrier_proto::store::{Interest, Reference, Repository, User, Visibility};

use super::{
    Read, Snapshot, StoreError, Tx,
    engine::{Range, Scan},
    keys, listings, owners,
    range_counts::KeyFilter,
    repositories,
};

/// Most repositories that an account stars, and most that it watches. Its lists are filtered in memory.
pub const INTERESTS_MAX: u64 = 10_000;

/// The kind of an interest. The number is part of stored keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterestKind {
    /// The account starred the repository.
    Star = 1,
    /// The account watches the repository.
    Watch = 2,
}

impl InterestKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Star, Self::Watch];

    /// Returns the kind with this number.
    pub fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Returns the interest of `user` in a repository.
pub async fn get(
    read: &impl Read,
    user: u64,
    kind: InterestKind,
    repository: u64,
) -> Result<Option<Interest>, StoreError> {
    read.get(&keys::interest(user, kind, repository)).await
}

/// Adds the interest of `user` in `repository` and counts it, unless it exists. Returns `false` if the account has
/// [`INTERESTS_MAX`].
pub async fn add(
    tx: &Tx,
    user: &User,
    kind: InterestKind,
    repository: &Repository,
    now_ms: i64,
) -> Result<bool, StoreError> {
    if get(tx, user.id, kind, repository.id).await?.is_some() {
        return Ok(true);
    }
    if tx.count(&Range::prefix(keys::interests_of_kind(user.id, kind)), INTERESTS_MAX).await? >= INTERESTS_MAX {
        return Ok(false);
    }
    let row = Interest { since_ms: now_ms, class: user.visibility };
    tx.put(keys::interest(user.id, kind, repository.id), &row);
    tx.put(keys::interested(repository.id, kind, row.class(), user.id), &Reference { id: user.id });
    count(tx, repository, kind, |number| number.saturating_add(1));
    Ok(true)
}

/// Removes the interest of the account `user` in a repository, if it exists.
pub async fn remove(tx: &Tx, user: u64, kind: InterestKind, repository: u64) -> Result<(), StoreError> {
    let Some(row) = get(tx, user, kind, repository).await? else { return Ok(()) };
    tx.delete(keys::interest(user, kind, repository));
    tx.delete(keys::interested(repository, kind, row.class(), user));
    if let Some(repository) = repositories::get(tx, repository).await? {
        count(tx, &repository, kind, |number| number.saturating_sub(1));
    }
    Ok(())
}

fn count(tx: &Tx, before: &Repository, kind: InterestKind, change: impl Fn(u64) -> u64) {
    let mut row = before.clone();
    match kind {
        InterestKind::Star => row.stars = change(row.stars),
        InterestKind::Watch => row.watchers = change(row.watchers),
    }
    repositories::put(tx, Some(before), &row);
}

/// Returns the ids of the repositories in which `user` has an interest.
pub async fn of_user(read: &impl Read, user: u64, kind: InterestKind) -> Result<Vec<u64>, StoreError> {
    let range = Range::prefix(keys::interests_of_kind(user, kind));
    let pairs = read.scan_bytes(&Scan::of(range, usize::MAX)).await?;
    Ok(pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).collect())
}

/// Returns a page of the accounts with these visibilities that have an interest in a repository, by id, and their
/// number.
pub async fn of_repository(
    snapshot: &Snapshot,
    repository: u64,
    kind: InterestKind,
    classes: &[Visibility],
    (skip, limit): (u64, usize),
) -> Result<(Vec<User>, u64), StoreError> {
    let prefixes = classes.iter().map(|class| keys::interested_of_class(repository, kind, *class)).collect();
    let (ids, total) = listings::ids_at(snapshot, prefixes, KeyFilter::All, false, skip, limit).await?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.extend(owners::user(snapshot, id).await?);
    }
    Ok((found, total))
}

/// Moves the interests of an account to the lists of its new visibility.
pub async fn set_class(tx: &Tx, user: u64, class: Visibility) -> Result<(), StoreError> {
    let rows = tx.scan::<Interest>(&Scan::of(Range::prefix(keys::interests(user)), usize::MAX)).await?;
    for (key, row) in rows {
        let Some((kind, repository)) = keys::interest_parts(&key) else { continue };
        tx.delete(keys::interested(repository, kind, row.class(), user));
        tx.put(keys::interested(repository, kind, class, user), &Reference { id: user });
        tx.put(key, &Interest { class: class.into(), ..row });
    }
    Ok(())
}

/// Removes at most `limit` interests of an account that is deleted. Returns whether none are left.
pub async fn end(tx: &Tx, user: u64, limit: usize) -> Result<bool, StoreError> {
    let rows = tx.scan_bytes(&Scan::of(Range::prefix(keys::interests(user)), limit)).await?;
    for (kind, repository) in rows.iter().filter_map(|(key, _)| keys::interest_parts(key)) {
        remove(tx, user, kind, repository).await?;
    }
    Ok(rows.len() < limit)
}

/// Removes at most `limit` interests in a repository that is removed permanently. Returns whether none are left.
pub async fn delete_some(tx: &Tx, repository: u64, limit: usize) -> Result<bool, StoreError> {
    let rows = tx.scan_bytes(&Scan::of(Range::prefix(keys::all_interested(repository)), limit)).await?;
    for (key, _) in &rows {
        if let Some(interest) = keys::interest_of_interested(key) {
            tx.delete(interest);
        }
        tx.delete(key.clone());
    }
    Ok(rows.len() < limit)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::{Store, engine::MemoryEngine};

    fn user(id: u64, visibility: Visibility) -> User {
        User { id, name: format!("u{id}"), visibility: visibility.into(), ..User::default() }
    }

    #[tokio::test]
    async fn pages_contain_only_the_given_visibilities_and_interests_are_counted() {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(16);
        let row = Repository { id: 7, owner_id: 1, name: "r".into(), ..Repository::default() };
        let fill = async |tx: Tx| {
            assert!(repositories::insert(&tx, &row).await?);
            for id in 1..=300 {
                let visibility = if id % 3 == 0 { Visibility::Private } else { Visibility::Public };
                let user = user(id, visibility);
                assert!(owners::insert_user(&tx, &user).await?.is_none());
                for _ in 0..2 {
                    let repository = repositories::get(&tx, 7).await?.expect("a row");
                    assert!(add(&tx, &user, InterestKind::Star, &repository, 5).await?);
                }
            }
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        let page = async |classes: &[Visibility], window| {
            let read = store.read().await.expect("a snapshot");
            let (rows, total) = of_repository(&read, 7, InterestKind::Star, classes, window).await.expect("a page");
            (rows.iter().map(|row| row.id).collect::<Vec<_>>(), total)
        };
        let all = [Visibility::Public, Visibility::Private];
        assert_eq!(page(&all[..1], (0, 3)).await, (vec![1, 2, 4], 200));
        assert_eq!(page(&all[..1], (198, 9)).await, (vec![298, 299], 200));
        assert_eq!(page(&all, (296, 9)).await, (vec![297, 298, 299, 300], 300));
        assert_eq!(page(&[], (0, 9)).await, (vec![], 0));
        let change = async |tx: Tx| {
            remove(&tx, 1, InterestKind::Star, 7).await?;
            remove(&tx, 1, InterestKind::Watch, 7).await?;
            set_class(&tx, 2, Visibility::Private).await?;
            end(&tx, 3, 10).await.map(|done| assert!(done))
        };
        store.write(change).await.expect("changed");
        assert_eq!(page(&all[..1], (0, 2)).await, (vec![4, 5], 198));
        let read = store.read().await.expect("a snapshot");
        assert_eq!(repositories::get(&read, 7).await.expect("a row").expect("a row").stars, 298);
        assert_eq!(of_user(&read, 2, InterestKind::Star).await.expect("ids"), [7]);
        while !store.write(async |tx: Tx| delete_some(&tx, 7, 100).await).await.expect("deleted") {}
        assert_eq!(page(&all, (0, 9)).await, (vec![], 0));
    }
}
