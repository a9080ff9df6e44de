//! To whom a key belongs, for the SSH server.

use farrier_proto::store::User;

use crate::{
    clock::Millis,
    model::{
        identity::{DeployKey, Identity},
        secret,
    },
    service::{Context, Error},
    store::{Read, Store, Tx, owners, repositories, ssh_keys},
};

/// How often the last use of a key is recorded.
const LAST_USED_EVERY_MS: Millis = 60_000;

/// Whom a key identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyIdentity {
    /// An account.
    Account {
        /// The content of the key.
        key_id: u64,
        /// The account.
        account_id: u64,
    },
    /// Deploy keys, see [`deploy_access`].
    Deploy {
        /// The content of the key.
        key_id: u64,
    },
}

impl KeyIdentity {
    /// Returns the content of the key.
    pub fn key_id(self) -> u64 {
        match self {
            Self::Account { key_id, .. } | Self::Deploy { key_id } => key_id,
        }
    }
}

/// What a deploy key may do in one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployAccess {
    /// The deploy key.
    pub deploy_key_id: u64,
    /// Its title.
    pub title: String,
    /// Whether it may only fetch.
    pub read_only: bool,
    /// The account that added it, or 0 if the account was deleted.
    pub added_by: u64,
}

/// Returns whom the key with this blob identifies. `None`: the key is unknown, or its account is closed or deleted.
pub async fn identify(context: &Context, blob: &[u8]) -> Result<Option<KeyIdentity>, Error> {
    identified(&context.store.read().await?, blob).await
}

async fn identified(read: &impl Read, blob: &[u8]) -> Result<Option<KeyIdentity>, Error> {
    let Some(row) = ssh_keys::by_hash(read, &secret::sha256(blob)).await? else { return Ok(None) };
    if row.account_id == 0 {
        return Ok(Some(KeyIdentity::Deploy { key_id: row.id }));
    }
    let user = owners::user(read, row.account_id).await?;
    let open = |user: &User| !user.inactive && !user.prohibit_login;
    Ok(user.filter(open).map(|user| KeyIdentity::Account { key_id: row.id, account_id: user.id }))
}

/// Returns what the deploy key with the content `key_id` may do in a repository. `None`: it is no deploy key of this
/// repository, or the repository is deleted.
pub async fn deploy_access(context: &Context, key_id: u64, repository_id: u64) -> Result<Option<DeployAccess>, Error> {
    allowed(&context.store.read().await?, key_id, repository_id).await
}

async fn allowed(read: &impl Read, key_id: u64, repository_id: u64) -> Result<Option<DeployAccess>, Error> {
    let Some(row) = ssh_keys::deploy_key_of_content(read, key_id, repository_id).await? else { return Ok(None) };
    if repositories::get(read, repository_id).await?.is_none_or(|repository| repository.deleted) {
        return Ok(None);
    }
    let added_by = owners::user(read, row.added_by).await?.map_or(0, |user| user.id);
    Ok(Some(DeployAccess { deploy_key_id: row.id, title: row.title, read_only: row.read_only, added_by }))
}

/// Returns the titles of the deploy keys with the content `key_id`, at most `limit`, each once.
pub async fn deploy_key_titles(context: &Context, key_id: u64, limit: usize) -> Result<Vec<String>, Error> {
    let rows = ssh_keys::of_content(&context.store.read().await?, key_id, limit).await?;
    let mut titles = Vec::new();
    for row in rows {
        if !titles.contains(&row.title) {
            titles.push(row.title);
        }
    }
    Ok(titles)
}

/// Returns the deploy key with the content `key_id` in a repository, as the identity of a caller. `None`: the
/// repository does not have the key, or is deleted.
pub async fn deploy_caller(context: &Context, key_id: u64, repository_id: u64) -> Result<Option<Identity>, Error> {
    let access = deploy_access(context, key_id, repository_id).await?;
    let identity = access.map(|access| DeployKey {
        key_id,
        id: access.deploy_key_id,
        title: access.title,
        added_by: access.added_by,
        repository_id,
        read_only: access.read_only,
    });
    Ok(identity.map(|key| Identity::DeployKey(Box::new(key))))
}

/// Records that the key with the content `key_id` was used, at most once a minute. The command does not wait for it,
/// and runs also when nothing can be written.
pub fn used(context: &Context, key_id: u64) {
    let (store, now) = (context.store.clone(), context.now_ms());
    context.tasks.short(async move {
        if let Err(error) = note_use(&store, key_id, now).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "recording the last use of a key failed");
        }
    });
}

async fn note_use(store: &Store, key_id: u64, now: Millis) -> Result<(), Error> {
    let is_due = |last_used_ms: Millis| now - last_used_ms >= LAST_USED_EVERY_MS;
    let row = ssh_keys::get(&store.read().await?, key_id).await?;
    if row.is_none_or(|row| !is_due(row.last_used_ms)) {
        return Ok(());
    }
    store
        .write(async |tx: Tx| {
            // The key may have been deleted since.
            if let Some(mut row) = ssh_keys::get(&tx, key_id).await?.filter(|row| is_due(row.last_used_ms)) {
                row.last_used_ms = now;
                ssh_keys::put(&tx, &row);
            }
            Ok(())
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{DeployKey, Repository, SshKey};

    use super::*;
    use crate::store::{StoreError, engine::MemoryEngine};

    const NOW: Millis = 1_764_000_000_000;

    fn content(id: u64, account_id: u64) -> SshKey {
        SshKey { id, account_id, blob: vec![u8::try_from(id).expect("small"); 9], ..SshKey::default() }
    }

    fn deploy_key(id: u64, repository_id: u64, read_only: bool) -> DeployKey {
        DeployKey { id, repository_id, key_id: 3, title: "ci".into(), read_only, added_by: 1, ..DeployKey::default() }
    }

    /// Accounts 1 and 2 with the keys 1 and 2, and key 3 as a deploy key of the repositories 7 and 8.
    async fn store() -> Store {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let fill = async |tx: Tx| {
            for (id, account) in [(1, 1), (2, 2), (3, 0)] {
                ssh_keys::put(&tx, &content(id, account));
            }
            for id in [1, 2] {
                let user = User { id, name: format!("u{id}"), ..User::default() };
                assert!(owners::insert_user(&tx, &user).await?.is_none());
            }
            for (id, name, read_only) in [(7, "a", true), (8, "b", false)] {
                let row = Repository { id, owner_id: 1, name: name.into(), ..Repository::default() };
                assert!(repositories::insert(&tx, &row).await?);
                ssh_keys::put_deploy_key(&tx, &deploy_key(id + 10, id, read_only));
            }
            Ok::<_, StoreError>(())
        };
        store.write(fill).await.expect("rows");
        store
    }

    async fn change(store: &Store, work: impl Fn(&Tx) + Send + Sync) {
        let work = &work;
        let change = async |tx: Tx| {
            work(&tx);
            Ok::<_, StoreError>(())
        };
        store.write(change).await.expect("a change");
    }

    async fn who(store: &Store, blob: &[u8]) -> Option<KeyIdentity> {
        identified(&store.read().await.expect("a snapshot"), blob).await.expect("an answer")
    }

    #[tokio::test]
    async fn a_key_identifies_its_account_until_the_account_is_closed_or_the_key_is_deleted() {
        let store = store().await;
        let key = content(1, 1);
        let ann = Some(KeyIdentity::Account { key_id: 1, account_id: 1 });
        assert_eq!(who(&store, &key.blob).await, ann);
        assert_eq!(who(&store, &content(3, 0).blob).await, Some(KeyIdentity::Deploy { key_id: 3 }));
        assert_eq!(who(&store, b"unknown").await, None);
        assert_eq!(who(&store, b"").await, None);
        let row = User { id: 1, name: "u1".into(), ..User::default() };
        for closed in [User { inactive: true, ..row.clone() }, User { prohibit_login: true, ..row.clone() }] {
            change(&store, |tx| tx.put(crate::store::keys::user(1), &closed)).await;
            assert_eq!(who(&store, &key.blob).await, None, "{closed:?}");
        }
        change(&store, |tx| tx.put(crate::store::keys::user(1), &row)).await;
        assert_eq!(who(&store, &key.blob).await, ann);
        change(&store, |tx| ssh_keys::delete(tx, &key)).await;
        assert_eq!(who(&store, &key.blob).await, None);
    }

    #[tokio::test]
    async fn a_deploy_key_has_the_access_of_each_of_its_repositories_and_of_no_other() {
        let store = store().await;
        let access = async |key, repository| {
            allowed(&store.read().await.expect("a snapshot"), key, repository).await.expect("an answer")
        };
        let first = DeployAccess { deploy_key_id: 17, title: "ci".into(), read_only: true, added_by: 1 };
        assert_eq!(access(3, 7).await, Some(first.clone()));
        assert_eq!(access(3, 8).await.map(|access| access.read_only), Some(false));
        for (key, repository) in [(3, 9), (1, 7), (4, 7), (0, 0)] {
            assert_eq!(access(key, repository).await, None, "{key} {repository}");
        }
        let unknown = DeployKey { added_by: 99, ..deploy_key(17, 7, true) };
        change(&store, |tx| ssh_keys::put_deploy_key(tx, &unknown)).await;
        assert_eq!(access(3, 7).await, Some(DeployAccess { added_by: 0, ..first }));
        let deleted = Repository { id: 7, owner_id: 1, name: "a".into(), deleted: true, ..Repository::default() };
        change(&store, |tx| tx.put(crate::store::keys::repository(7), &deleted)).await;
        assert_eq!(access(3, 7).await, None, "the repository is deleted");
    }

    #[tokio::test]
    async fn the_content_of_deploy_keys_is_deleted_with_the_last_of_them() {
        let store = store().await;
        for (repository, is_known) in [(7, true), (8, false)] {
            let delete = async |tx: Tx| ssh_keys::delete_some(&tx, repository, 10).await;
            assert!(store.write(delete).await.expect("deleted"));
            assert_eq!(who(&store, &content(3, 0).blob).await.is_some(), is_known);
        }
    }

    #[tokio::test]
    async fn the_last_use_is_recorded_at_most_once_a_minute() {
        let store = store().await;
        let last = async || {
            let read = store.read().await.expect("a snapshot");
            ssh_keys::get(&read, 1).await.expect("a row").expect("a row").last_used_ms
        };
        for (now, recorded) in [(NOW, NOW), (NOW + 59_999, NOW), (NOW + 60_000, NOW + 60_000), (NOW, NOW + 60_000)] {
            let commits = store.commits();
            let before = last().await;
            note_use(&store, 1, now).await.expect("noted");
            assert_eq!((last().await, store.commits() - commits), (recorded, u64::from(before != recorded)));
        }
        note_use(&store, 99, NOW).await.expect("a key that was deleted meanwhile");
    }
}
