//! Users and organisations: rows, the one name space they share, e-mail addresses.

use farrier_proto::store::{OwnerKind, OwnerName, Reference, User};

use super::{Read, StoreError, Tx, keys};

/// Why a user cannot be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The name belongs to a user or an organisation.
    Name,
    /// The address belongs to a user.
    Email,
}

/// The user with number `id`.
pub async fn user(read: &impl Read, id: u64) -> Result<Option<User>, StoreError> {
    read.get(&keys::user(id)).await
}

/// Who holds `name`, in any case.
pub async fn by_name(read: &impl Read, name: &str) -> Result<Option<OwnerName>, StoreError> {
    read.get(&keys::owner_name(name)).await
}

/// The user called `name`, in any case.
pub async fn user_by_name(read: &impl Read, name: &str) -> Result<Option<User>, StoreError> {
    match by_name(read, name).await? {
        Some(owner) if owner.kind() == OwnerKind::User => user(read, owner.id).await,
        _ => Ok(None),
    }
}

/// Inserts `row`, or says what of it is taken. An empty address is no address.
pub async fn insert_user(tx: &Tx, row: &User) -> Result<Option<Taken>, StoreError> {
    if by_name(tx, &row.name).await?.is_some() {
        return Ok(Some(Taken::Name));
    }
    if !row.email.is_empty() {
        let key = keys::user_email(&row.email);
        if tx.get::<Reference>(&key).await?.is_some() {
            return Ok(Some(Taken::Email));
        }
        tx.put(key, &Reference { id: row.id });
    }
    tx.put(keys::owner_name(&row.name), &OwnerName { kind: OwnerKind::User.into(), id: row.id });
    tx.put(keys::user(row.id), row);
    Ok(None)
}
