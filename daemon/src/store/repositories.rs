//! Repositories: rows and names below their owner.

use farrier_proto::store::{Collaborator, Permission, Reference, Repository};

use super::{Read, StoreError, Tx, keys, owners};

/// The repository with number `id`.
pub async fn get(read: &impl Read, id: u64) -> Result<Option<Repository>, StoreError> {
    read.get(&keys::repository(id)).await
}

/// The repository `name` of the owner with number `owner`, in any case.
pub async fn by_name(read: &impl Read, owner: u64, name: &str) -> Result<Option<Repository>, StoreError> {
    match read.get::<Reference>(&keys::repository_name(owner, name)).await? {
        Some(found) => get(read, found.id).await,
        None => Ok(None),
    }
}

/// The repository called `owner`/`name`, in any case.
pub async fn by_path(read: &impl Read, owner: &str, name: &str) -> Result<Option<Repository>, StoreError> {
    match owners::by_name(read, owner).await? {
        Some(owner) => by_name(read, owner.id, name).await,
        None => Ok(None),
    }
}

/// Inserts `row`; `false` when its owner has one of that name.
pub async fn insert(tx: &Tx, row: &Repository) -> Result<bool, StoreError> {
    let name = keys::repository_name(row.owner_id, &row.name);
    if tx.get::<Reference>(&name).await?.is_some() {
        return Ok(false);
    }
    tx.put(name, &Reference { id: row.id });
    tx.put(keys::owner_repository(row.owner_id, row.id), &Reference { id: row.id });
    tx.put(keys::repository(row.id), row);
    Ok(true)
}

/// Writes a repository that exists and keeps its name and owner.
pub fn update(tx: &Tx, row: &Repository) {
    tx.put(keys::repository(row.id), row);
}

/// What `user` may do as a collaborator.
pub async fn collaborator(read: &impl Read, repository: u64, user: u64) -> Result<Permission, StoreError> {
    let row = read.get::<Collaborator>(&keys::collaborator(repository, user)).await?;
    Ok(row.map_or(Permission::None, |row| row.permission()))
}
