//! User and organization rows, their shared name space, and email addresses.

use std::collections::{BTreeMap, BTreeSet};

use farrier_proto::store::{Membership, Org, OwnerKind, OwnerName, Reference, User, Visibility};

use super::{
    Read, StoreError, Tx,
    engine::{Key, Range, Scan},
    keys,
};

/// A unique value that is already in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserConflict {
    /// The name is used by a user or an organization.
    Name,
    /// The email address is used by a user.
    Email,
}

/// Returns the user with id `id`.
pub async fn user(read: &impl Read, id: u64) -> Result<Option<User>, StoreError> {
    read.get(&keys::user(id)).await
}

/// Returns the users with these email addresses, by address in lower case. Reads each address once.
pub async fn users_by_email(read: &impl Read, addresses: &[&str]) -> Result<BTreeMap<String, User>, StoreError> {
    let addresses: BTreeSet<String> = addresses.iter().map(|address| address.to_lowercase()).collect();
    let mut users = BTreeMap::new();
    for address in addresses.into_iter().filter(|address| !address.is_empty()) {
        if let Some(user) = user_by_email(read, &address).await? {
            users.insert(address, user);
        }
    }
    Ok(users)
}

/// Returns the next users by id, and the key after which the next batch starts.
pub async fn users_batch(
    read: &impl Read,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<(Vec<User>, Option<Key>), StoreError> {
    let all = Range::prefix(keys::users());
    let range = after.map_or(all.clone(), |key| all.after(key));
    let rows = read.scan::<User>(&Scan::of(range, limit)).await?;
    let next = if rows.len() < limit { None } else { rows.last().map(|(key, _)| key.clone()) };
    Ok((rows.into_iter().map(|(_, row)| row).collect(), next))
}

/// Returns the owner with the name `name`, without regard to case.
pub async fn by_name(read: &impl Read, name: &str) -> Result<Option<OwnerName>, StoreError> {
    read.get(&keys::owner_name(name)).await
}

/// Returns the user with the name `name`, without regard to case.
pub async fn user_by_name(read: &impl Read, name: &str) -> Result<Option<User>, StoreError> {
    match by_name(read, name).await? {
        Some(owner) if owner.kind() == OwnerKind::User => user(read, owner.id).await,
        _ => Ok(None),
    }
}

/// Returns the user with the email address `email`, without regard to case.
pub async fn user_by_email(read: &impl Read, email: &str) -> Result<Option<User>, StoreError> {
    match read.get::<Reference>(&keys::user_email(email)).await? {
        Some(found) => user(read, found.id).await,
        None => Ok(None),
    }
}

/// The owner of repositories: a user or an organization.
#[derive(Clone, Debug, PartialEq)]
pub enum Owner {
    /// A user.
    User(User),
    /// An organization.
    Org(Org),
}

impl Owner {
    /// Returns the id, which is unique among users and organizations.
    pub fn id(&self) -> u64 {
        match self {
            Self::User(user) => user.id,
            Self::Org(org) => org.id,
        }
    }

    /// Returns the name with its original case.
    pub fn name(&self) -> &str {
        match self {
            Self::User(user) => &user.name,
            Self::Org(org) => &org.name,
        }
    }

    /// Returns the kind of owner.
    pub fn kind(&self) -> OwnerKind {
        match self {
            Self::User(_) => OwnerKind::User,
            Self::Org(_) => OwnerKind::Org,
        }
    }

    /// Returns the visibility.
    pub fn visibility(&self) -> Visibility {
        match self {
            Self::User(user) => user.visibility(),
            Self::Org(org) => org.visibility(),
        }
    }
}

/// Returns the organization with id `id`.
pub async fn org(read: &impl Read, id: u64) -> Result<Option<Org>, StoreError> {
    read.get(&keys::org(id)).await
}

/// Returns the owner of this kind with id `id`.
pub async fn owner(read: &impl Read, kind: OwnerKind, id: u64) -> Result<Option<Owner>, StoreError> {
    Ok(match kind {
        OwnerKind::Org => org(read, id).await?.map(Owner::Org),
        OwnerKind::User | OwnerKind::Unspecified => user(read, id).await?.map(Owner::User),
    })
}

/// Returns the user or organization with the name `name`, without regard to case.
pub async fn owner_by_name(read: &impl Read, name: &str) -> Result<Option<Owner>, StoreError> {
    match by_name(read, name).await? {
        Some(found) => owner(read, found.kind(), found.id).await,
        None => Ok(None),
    }
}

/// Returns the membership of `user` in the organization `org`.
pub async fn membership(read: &impl Read, org: u64, user: u64) -> Result<Option<Membership>, StoreError> {
    read.get(&keys::org_member(org, user)).await
}

/// Inserts a user. Returns a conflict if the name or the email address is in use. An empty email address means
/// none.
pub async fn insert_user(tx: &Tx, row: &User) -> Result<Option<UserConflict>, StoreError> {
    if !claim_name(tx, &row.name, OwnerKind::User, row.id).await? {
        return Ok(Some(UserConflict::Name));
    }
    if !claim_email(tx, &row.email, row.id).await? {
        return Ok(Some(UserConflict::Email));
    }
    tx.put(keys::user(row.id), row);
    Ok(None)
}

/// Updates a user. A changed name leaves a redirect. Returns a conflict if the new name or email address is in
/// use.
pub async fn update_user(tx: &Tx, old: &User, row: &User) -> Result<Option<UserConflict>, StoreError> {
    if !move_name(tx, &old.name, &row.name, OwnerKind::User, row.id).await? {
        return Ok(Some(UserConflict::Name));
    }
    if old.email.to_lowercase() != row.email.to_lowercase() {
        if !claim_email(tx, &row.email, row.id).await? {
            return Ok(Some(UserConflict::Email));
        }
        if !old.email.is_empty() {
            tx.delete(keys::user_email(&old.email));
        }
    }
    tx.put(keys::user(row.id), row);
    Ok(None)
}

/// Deletes the rows of a user. The caller has deleted everything that the user owned and all memberships.
pub fn delete_user(tx: &Tx, row: &User) {
    tx.delete(keys::owner_name(&row.name));
    if !row.email.is_empty() {
        tx.delete(keys::user_email(&row.email));
    }
    tx.delete(keys::user(row.id));
}

/// Assigns `name` to an owner and deletes a redirect with this name. Returns `false` if the name is in use.
pub(super) async fn claim_name(tx: &Tx, name: &str, kind: OwnerKind, id: u64) -> Result<bool, StoreError> {
    if by_name(tx, name).await?.is_some() {
        return Ok(false);
    }
    tx.delete(keys::owner_redirect(name));
    tx.put(keys::owner_name(name), &OwnerName { kind: kind.into(), id });
    Ok(true)
}

pub(super) async fn move_name(tx: &Tx, old: &str, new: &str, kind: OwnerKind, id: u64) -> Result<bool, StoreError> {
    if old.to_lowercase() == new.to_lowercase() {
        return Ok(true);
    }
    if !claim_name(tx, new, kind, id).await? {
        return Ok(false);
    }
    tx.delete(keys::owner_name(old));
    tx.put(keys::owner_redirect(old), &OwnerName { kind: kind.into(), id });
    Ok(true)
}

async fn claim_email(tx: &Tx, email: &str, id: u64) -> Result<bool, StoreError> {
    if email.is_empty() {
        return Ok(true);
    }
    let key = keys::user_email(email);
    if tx.get::<Reference>(&key).await?.is_some() {
        return Ok(false);
    }
    tx.put(key, &Reference { id });
    Ok(true)
}

/// Returns the owner to which the old name `name` redirects.
pub async fn redirect(read: &impl Read, name: &str) -> Result<Option<Owner>, StoreError> {
    match read.get::<OwnerName>(&keys::owner_redirect(name)).await? {
        Some(found) => owner(read, found.kind(), found.id).await,
        None => Ok(None),
    }
}
