//! Public SSH keys of accounts, and deploy keys of repositories. The contents are found by SHA-256.

use farrier_proto::store::{DeployKey, Reference, SshKey};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
};
use crate::model::secret;

/// Most keys of an account.
pub const PER_ACCOUNT_MAX: usize = 1_000;
/// Most deploy keys of a repository.
pub const PER_REPOSITORY_MAX: usize = 1_000;

/// Returns the content `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<SshKey>, StoreError> {
    read.get(&keys::ssh_key(id)).await
}

/// Returns the content whose blob has this SHA-256.
pub async fn by_hash(read: &impl Read, hash: &[u8; 32]) -> Result<Option<SshKey>, StoreError> {
    match read.get::<Reference>(&keys::ssh_key_of_hash(hash)).await? {
        Some(found) => get(read, found.id).await,
        None => Ok(None),
    }
}

/// Returns the keys of an account, by id.
pub async fn of_account(read: &impl Read, account: u64) -> Result<Vec<SshKey>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::ssh_keys_of_account(account)), PER_ACCOUNT_MAX);
    let pairs = read.scan_bytes(&scan).await?;
    let rows: Vec<Key> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).map(keys::ssh_key).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

/// Returns the keys of the index entries of a content.
pub fn index_keys(row: &SshKey) -> Vec<Key> {
    let mut all = vec![keys::ssh_key_of_hash(&secret::sha256(&row.blob))];
    if row.account_id != 0 {
        all.push(keys::ssh_key_of_account(row.account_id, row.id));
    }
    all
}

/// Writes a content and its index entries. The content, once written, keeps its blob and its account.
pub fn put(tx: &Tx, row: &SshKey) {
    for key in index_keys(row) {
        tx.put(key, &Reference { id: row.id });
    }
    tx.put(keys::ssh_key(row.id), row);
}

/// Deletes a content and its index entries.
pub fn delete(tx: &Tx, row: &SshKey) {
    for key in index_keys(row) {
        tx.delete(key);
    }
    tx.delete(keys::ssh_key(row.id));
}

/// Returns the deploy key `id` of a repository.
pub async fn deploy_key(read: &impl Read, repository: u64, id: u64) -> Result<Option<DeployKey>, StoreError> {
    read.get(&keys::deploy_key(repository, id)).await
}

/// Returns the deploy key of a repository that has the content `key`.
pub async fn deploy_key_of_content(
    read: &impl Read,
    key: u64,
    repository: u64,
) -> Result<Option<DeployKey>, StoreError> {
    match read.get::<Reference>(&keys::deploy_key_of_content(key, repository)).await? {
        Some(found) => deploy_key(read, repository, found.id).await,
        None => Ok(None),
    }
}

/// Returns the deploy keys of a repository, by id.
pub async fn of_repository(read: &impl Read, repository: u64) -> Result<Vec<DeployKey>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::deploy_keys(repository)), PER_REPOSITORY_MAX);
    Ok(read.scan(&scan).await?.into_iter().map(|(_, row)| row).collect())
}

/// Returns deploy keys that have the content `key`, at most `limit`, by repository.
pub async fn of_content(read: &impl Read, key: u64, limit: usize) -> Result<Vec<DeployKey>, StoreError> {
    let scan = Scan::of(Range::prefix(keys::deploy_keys_of_content(key)), limit);
    let mut rows = Vec::new();
    for (index, found) in read.scan::<Reference>(&scan).await? {
        let Some(repository) = keys::trailing_id(&index) else { continue };
        rows.extend(deploy_key(read, repository, found.id).await?);
    }
    Ok(rows)
}

/// Writes a deploy key and its index entry.
pub fn put_deploy_key(tx: &Tx, row: &DeployKey) {
    tx.put(keys::deploy_key_of_content(row.key_id, row.repository_id), &Reference { id: row.id });
    tx.put(keys::deploy_key(row.repository_id, row.id), row);
}

/// Deletes a deploy key, and its content if no other repository has it.
pub async fn delete_deploy_key(tx: &Tx, row: &DeployKey) -> Result<(), StoreError> {
    tx.delete(keys::deploy_key_of_content(row.key_id, row.repository_id));
    tx.delete(keys::deploy_key(row.repository_id, row.id));
    if tx.count(&Range::prefix(keys::deploy_keys_of_content(row.key_id)), 1).await? == 0
        && let Some(content) = get(tx, row.key_id).await?.filter(|content| content.account_id == 0)
    {
        delete(tx, &content);
    }
    Ok(())
}

/// Deletes at most `limit` deploy keys of a repository that is removed permanently. Returns whether none are left.
pub async fn delete_some(tx: &Tx, repository: u64, limit: usize) -> Result<bool, StoreError> {
    let scan = Scan::of(Range::prefix(keys::deploy_keys(repository)), limit);
    let rows = tx.scan::<DeployKey>(&scan).await?;
    for (_, row) in &rows {
        delete_deploy_key(tx, row).await?;
    }
    Ok(rows.len() < limit)
}
